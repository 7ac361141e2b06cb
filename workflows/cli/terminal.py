"""How the commands speak: results on stdout, progress and faults on stderr, texts as they are."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from rich.console import Console

from execution_engine.errors import (
    Problem,
    StepExecutionError,
    WorkflowCompilerError,
    WorkflowError,
)

_MODEL_FOLDERS = (
    "Name the folders of models in the environment: WEFTLENS_MODEL_DIRECTORIES='[\"models\"]'; "
    "the model person/1 lies in models/person/1."
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
    write(output_json(value, indent=2))


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON text of JSON data; numbers that JSON does not have (NaN, infinities) become null."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        finite = _finite(value)
        return json.dumps(finite, indent=indent, ensure_ascii=ascii_only, allow_nan=False)


def output_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text that stdout can write whatever its encoding."""
    return json_text(value, indent=indent, ascii_only=not _writes_unicode())


def _writes_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def problems_text(name: str, problems: list[Problem], noun: str = "problem") -> str:
    """A numbered list of problems: place and code, what is wrong, and the way out when known."""
    lines = [f"{name}: {len(problems)} {noun}{'' if len(problems) == 1 else 's'}"]
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
    text = f"{name}: {error.public_message}"
    if isinstance(error, StepExecutionError) and error.block_id is not None:
        kind = "" if error.inner_error_type is None else f"{error.inner_error_type}: "
        text = f"{name}: step '{error.block_id}' ({error.block_type}) failed: {kind}{error}"
    # A note says where the step took its values from.
    lines = [text, *getattr(error, "__notes__", [])]
    if error.inner_error_type == "ModelNotFoundError" and "looked in" in error.public_message:
        lines.append(_MODEL_FOLDERS)
    return "\n  ".join(lines)
