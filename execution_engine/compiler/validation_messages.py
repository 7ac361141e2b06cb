"""Turns what pydantic says about a step into problems that a newcomer can act on. Validates nothing
itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from execution_engine.block_api.selector import (
    ANY_DATA_PATTERN,
    INPUT_PATTERN,
    STEP_OUTPUT_PATTERN,
    STEP_PATTERN,
)
from execution_engine.block_api.spec import BlockSpec, FieldSpec
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import StepDeclaration
from execution_engine.definition.parser import describe
from execution_engine.definition.problems import ProblemList
from execution_engine.definition.references import (
    NAME,
    STEP_OUTPUT,
    did_you_mean,
    nearest,
    parse_reference,
)
from execution_engine.errors import WorkflowSyntaxError

_ALMOST_REFERENCE = re.compile(r"\$?(?P<head>[A-Za-z]+)[.:/](?P<rest>.*)", re.DOTALL)
_REFERENCE_FORMS = {
    ANY_DATA_PATTERN: "a reference ($inputs.name or $steps.step.output)",
    INPUT_PATTERN: "a reference to an input ($inputs.name)",
    STEP_OUTPUT_PATTERN: "a reference to a step's output ($steps.step.output)",
    STEP_PATTERN: "a reference to a step ($steps.step)",
}
_PLAIN_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "an object",
    "none": "null",
    "tuple": "a list",
    "bytes": "text",
}


def add_validation_problems(
    step: StepDeclaration, spec: BlockSpec, error: ValidationError, problems: ProblemList
) -> None:
    """Adds one problem for each field of the step that pydantic refuses."""
    by_alias = {alias: field for field in spec.fields.values() for alias in field.aliases}
    grouped: dict[str, list[Any]] = {}
    for detail in error.errors(include_url=False):
        location = detail["loc"]
        grouped.setdefault(str(location[0]) if location else "", []).append(detail)
    for key, details in grouped.items():
        field = by_alias.get(key)
        if not key:
            _add_block_problem(step, details[0]["msg"], problems)
        elif details[0]["type"] == "missing" and len(details[0]["loc"]) == 1:
            _add_missing(step, spec, field, key, problems)
        else:
            _add_wrong(step, field, key, details, problems)


def _add_block_problem(step: StepDeclaration, text: str, problems: ProblemList) -> None:
    problems.add(
        WorkflowSyntaxError,
        "invalid_step",
        f"Step '{step.name}': {text.removeprefix('Value error, ')}",
        step.where,
        block_id=step.name,
        block_type=step.type,
    )


def _add_missing(
    step: StepDeclaration, spec: BlockSpec, field: FieldSpec | None, key: str, problems: ProblemList
) -> None:
    known = {alias for other in spec.fields.values() for alias in other.aliases} | {"type", "name"}
    stray = [name for name in step.body if name not in known]
    hint = None
    near = did_you_mean(key, stray)
    if near:
        misspelt = near.split("'")[1]
        hint = f"the step has a field '{misspelt}', did you mean '{key}'?"
    elif field is not None and field.references:
        kinds = sorted({kind for reference in field.references for kind in reference.kinds})
        value = "a value or " if field.accepts_literal else ""
        to = f" to {' or '.join(kinds)}" if kinds and kinds != ["*"] else ""
        hint = f"give {value}a reference{to}"
    problems.add(
        WorkflowSyntaxError,
        "missing_field",
        f"Step '{step.name}' lacks the field '{key}', which {spec.type_id} needs.",
        f"{step.where}/{key}",
        hint=hint,
        block_id=step.name,
        block_type=step.type,
        property_name=field.name if field else key,
    )


def _add_wrong(
    step: StepDeclaration,
    field: FieldSpec | None,
    key: str,
    details: Sequence[Any],
    problems: ProblemList,
) -> None:
    located = [(_locate(step.body, detail), detail) for detail in details]
    deepest = max(len(path) for path, _ in located)
    at_depth = [(path, detail) for path, detail in located if len(path) == deepest]
    path = at_depth[0][0]
    chosen = [detail for other, detail in at_depth if other == path]
    got = chosen[0]["input"]
    missing = [detail for detail in chosen if detail["type"] == "missing"]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]
    unknown = next((detail for detail in chosen if detail["type"].startswith("unknown_")), None)
    hint = None
    if missing:
        message = f"Step '{step.name}': '{place}' is missing."
    elif unknown is not None:  # a name that the query language does not have
        context = unknown["ctx"]
        message = (
            f"Step '{step.name}': '{place}' is the unknown {context['what']} {context['name']}."
        )
        hint = context["hint"].removeprefix("; ") or None
    else:
        expectations = list(dict.fromkeys(expectation(detail, field) for detail in chosen))
        message = (
            f"Step '{step.name}': '{place}' must be {' or '.join(expectations)}, "
            f"got {describe(got)}."
        )
        choices = [
            choice.strip().strip("'")
            for detail in chosen
            if detail["type"] in ("literal_error", "enum")
            for choice in detail["ctx"]["expected"].replace(" or ", ",").split(",")
        ]
        if isinstance(got, str):
            hint = did_you_mean(got, choices)
            if hint is None and field is not None and field.references:
                hint = _reference_hint(field, got, len(path) > 1)
    problems.add(
        WorkflowSyntaxError,
        "missing_field" if missing else "wrong_value",
        message,
        step.where + "".join(f"/{pointer_part(part)}" for part in path),
        hint=hint,
        block_id=step.name,
        block_type=step.type,
        property_name=field.name if field else key,
    )


def _locate(body: Mapping[str, Any], detail: Mapping[str, Any]) -> list[str | int]:
    """Path of an error inside the step as written; parts of the location that name union members
    drop out.
    """
    path: list[str | int] = []
    current: Any = body
    location = detail["loc"]
    for position, part in enumerate(location):
        named = isinstance(current, Mapping) and part in current
        if named or (isinstance(current, list) and isinstance(part, int) and part < len(current)):
            path.append(part)
            current = current[part]
        elif position == len(location) - 1 and detail["type"] == "missing":
            path.append(part)
    return path or [location[0]]


def _reference_hint(field: FieldSpec, got: str, inside: bool) -> str | None:
    if any(form.element == "step" for form in field.references):
        reference = parse_reference(got)
        if reference is not None and reference.kind == STEP_OUTPUT:
            return f"name the step alone: '$steps.{reference.name}'"
        return None
    hint = reference_hint(got)
    if hint is None and not field.accepts_literal and not inside and not got.startswith("$"):
        kinds = dict.fromkeys(kind for form in field.references for kind in form.kinds)
        what = "values" if not kinds or "*" in kinds else f"values of kind {' or '.join(kinds)}"
        hint = (
            f"{what} are not written into the definition: declare an input and refer to it as "
            "'$inputs.<name>', or refer to an output of a step"
        )
    return hint


def literal_expectations(error: ValidationError) -> str:
    """What a field would take as a value, in words; references, which have been followed, left
    out.
    """
    details = error.errors(include_url=False)
    literal = [
        detail for detail in details if detail.get("ctx", {}).get("pattern") not in _REFERENCE_FORMS
    ]
    literal = [detail for detail in literal if detail["loc"][-1:] != ("constrained-str",)]
    words = dict.fromkeys(expectation(detail, None) for detail in literal or details)
    return " or ".join(words)


def expectation(detail: Mapping[str, Any], field: FieldSpec | None) -> str:
    """What pydantic expected at one place, in words."""
    kind = str(detail["type"])
    context = detail.get("ctx", {})
    if kind == "string_type" and field is not None and field.references:
        # The text that a reference would be; a literal text has a label of its own in a union.
        label = detail["loc"][-1]
        if label == "constrained-str" or not field.accepts_literal:
            steps = all(form.element == "step" for form in field.references)
            return _REFERENCE_FORMS[STEP_PATTERN if steps else ANY_DATA_PATTERN]
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        return _REFERENCE_FORMS.get(pattern, f"text that matches {pattern}")
    if kind in ("literal_error", "enum"):
        return f"one of {context['expected']}"
    limits = {
        "greater_than": ("a number above", "gt"),
        "greater_than_equal": ("a number not below", "ge"),
        "less_than": ("a number below", "lt"),
        "less_than_equal": ("a number not above", "le"),
    }
    if kind in limits:
        text, name = limits[kind]
        return f"{text} {context[name]}"
    if kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        return f"a list of at {'least' if kind == 'too_short' else 'most'} {bound} entries"
    base = kind.split("_")[0]
    if base in _PLAIN_TYPES and kind.endswith(("_type", "_parsing", "_from_float")):
        return _PLAIN_TYPES[base]
    text = str(detail["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"valid ({text[0].lower() + text[1:] if text else kind})"


def reference_hint(text: str) -> str | None:
    """How a text that was meant as a reference should be written; None when nothing is near."""
    shape = _ALMOST_REFERENCE.fullmatch(text)
    if shape is None:
        return None
    heads = nearest(shape["head"], ("inputs", "steps"))
    rest = shape["rest"]
    if not heads or not rest:
        return None
    head, parts = heads[0], rest.split(".")
    if head == "steps" and len(parts) == 1:
        return f"add the name of one of the step's outputs: '$steps.{rest}.<output>'"
    if len(parts) > (1 if head == "inputs" else 2):
        return (
            "a reference reaches no further than an input or an output of a step; take inner "
            "values out with a property definition step"
        )
    if not all(NAME.fullmatch(part) or part == "*" for part in parts):
        return "names in references are made of letters, digits, '_' and '-'"
    meant = f"${head}.{rest}"
    return None if meant == text else f"did you mean '{meant}'?"
