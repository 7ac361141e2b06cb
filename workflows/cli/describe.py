"""`weftlens describe`: a workflow as text and as a picture."""

from __future__ import annotations

from pathlib import Path

from workflows.cli.exit_codes import OK, PROBLEM, USAGE
from workflows.cli.terminal import write, write_error
from workflows.session import Session
from workflows.workflow import DrawingFormat, Workflow

FORMATS: dict[str, DrawingFormat] = {".svg": "svg", ".dot": "dot", ".mmd": "mermaid"}


def describe_command(path: Path, picture: Path | None) -> int:
    """Prints the description, writes the picture; gives the exit code, which tells whether the
    workflow has problems.
    """
    chosen = FORMATS.get(picture.suffix.lower()) if picture is not None else None
    if picture is not None and chosen is None:
        write_error(f"--draw takes a file ending in {', '.join(FORMATS)}, got '{picture}'")
        return USAGE
    with Session() as session:
        workflow = Workflow.load(path, session=session)
        write(workflow.describe())
        if picture is not None and chosen is not None:
            try:
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_text(workflow.draw(chosen), encoding="utf-8")
            except OSError as error:
                write_error(f"'{picture}' cannot be written: {error.strerror or error}")
                return PROBLEM
            write(f"\nPicture: {picture}")
        return PROBLEM if workflow.check() else OK
