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
LockedOption = Annotated[
    bool, typer.Option("--locked", help="Refuse to run with anything but what its lock says.")
]
LockFileOption = Annotated[
    Path | None, typer.Option("--lock", metavar="FILE", help="The lock, when not NAME.lock.json.")
]


def chosen_lock(workflow: Path, locked: bool, lock_file: Path | None) -> Path | None:
    """The lock file that `--locked` and `--lock` ask for; None when neither was given."""
    if not locked or lock_file is not None:
        return lock_file
    from workflows.locking.lock_file import lock_path

    return lock_path(workflow)
