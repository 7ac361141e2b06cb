"""Arguments and options that several commands have. Adds no command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WorkflowArgument = Annotated[
    Path, typer.Argument(metavar="WORKFLOW", help="JSON file of a workflow.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="Value of another input: JSON, else text; may be given several times.",
    ),
]
