"""How the commands speak: results on stdout, progress and faults on stderr, texts as they are."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from execution_engine.errors import (
    Problem,
    StepExecutionError,
    WorkflowCompilerError,
    WorkflowError,
)


def output_console() -> Console:
    """The console of results."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def error_console() -> Console:
    """The console of progress and faults."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def write(text: str) -> None:
    """Writes a line of results as it is, whatever it holds."""
    sys.stdout.write(f"{text}\n")


def write_error(text: str) -> None:
    """Writes a line of faults."""
    sys.stderr.write(f"{text}\n")


def write_json(value: Any) -> None:
    """Writes JSON data as a result."""
    write(json.dumps(value, indent=2, ensure_ascii=False))


def problems_text(name: str, problems: list[Problem]) -> str:
    """A numbered list of problems: place and code, what is wrong, and the way out when known."""
    lines = [f"{name}: {len(problems)} problem{'' if len(problems) == 1 else 's'}"]
    for number, problem in enumerate(problems, 1):
        label = f"{number:>3}. "
        indent = " " * len(label)
        lines += [
            "",
            f"{label}{problem.where or '(whole file)'}  [{problem.code}]",
            f"{indent}{problem.message}",
        ]
        if problem.hint:
            lines.append(f"{indent}Hint: {problem.hint}")
    return "\n".join(lines)


def error_text(name: str, error: WorkflowError) -> str:
    """An error of the engine as text without a traceback."""
    if isinstance(error, WorkflowCompilerError) and error.errors:
        return problems_text(name, list(error.errors))
    if isinstance(error, StepExecutionError) and error.block_id is not None:
        kind = "" if error.inner_error_type is None else f"{error.inner_error_type}: "
        return f"{name}: step '{error.block_id}' ({error.block_type}) failed: {kind}{error}"
    return f"{name}: {error.public_message}"
