"""`weftlens check`: everything that is wrong with a workflow."""

from __future__ import annotations

from pathlib import Path

from execution_engine.errors import Problem, WorkflowCompilerError
from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import problems_text, write, write_json
from workflows.session import Session
from workflows.workflow import Workflow


def check_command(path: Path, strict: bool, as_json: bool) -> int:
    """Prints the problems and warnings of a workflow file; gives the exit code, which warnings do
    not change.
    """
    warnings: list[Problem] = []
    with Session() as session:
        try:
            workflow = Workflow.load(path, session=session)
            problems = workflow.check(strict=strict)
            warnings = [] if strict else workflow.warnings()
        except WorkflowCompilerError as error:  # no JSON, or no file
            problems = list(error.errors) or [Problem("unreadable_file", error.public_message, "")]
        if as_json:
            write_json(
                {
                    "workflow": str(path),
                    "ok": not problems,
                    "problems": [problem.to_dict() for problem in problems],
                    "warnings": [warning.to_dict() for warning in warnings],
                }
            )
            return PROBLEM if problems else OK
        if problems:
            write(problems_text(path.name, problems))
        else:
            parts = []
            for key in ("inputs", "steps", "outputs"):
                count = len(workflow.definition[key])
                parts.append(f"{count} {key.removesuffix('s') if count == 1 else key}")
            write(f"{path.name}: ok ({', '.join(parts)})")
        if warnings:
            write(f"\n{problems_text(path.name, warnings, 'warning')}")
    return PROBLEM if problems else OK
