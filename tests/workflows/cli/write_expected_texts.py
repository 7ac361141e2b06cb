"""Writes what `weftlens check` says about each workflow in `broken/`. Run it when a message changes
on purpose, and read the difference before committing it.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from workflows.cli.main import main

FOLDER = Path(__file__).parent / "broken"


def check_text(path: Path) -> str:
    """What the command prints about a workflow, without the folder this checkout lies in."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(["check", str(path)])
    return printed.getvalue().replace(f"{path.parent}/", "")


if __name__ == "__main__":
    for workflow in sorted(FOLDER.glob("*.json")):
        workflow.with_suffix(".txt").write_text(check_text(workflow), encoding="utf-8")
