"""Says in one line what a pydantic validation found."""

from __future__ import annotations

from pydantic import ValidationError


def describe_validation_error(error: ValidationError) -> str:
    """Every problem as `field.path: what is wrong (got value)`, joined by `; `."""
    problems = []
    for detail in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in detail["loc"]) or "content"
        got = repr(detail["input"])
        got = got if len(got) <= 80 else f"{got[:77]}..."
        problems.append(f"{where}: {detail['msg'].removeprefix('Value error, ')} (got {got})")
    return "; ".join(problems)
