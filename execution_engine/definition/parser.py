"""Reads a definition's outer shape (inputs, steps, outputs) and reports what does not fit. Knows no
block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.definition.model import (
    BATCH_INPUT_TYPE,
    IMAGE_INPUT_TYPES,
    INPUT_TYPES,
    OUTPUT_TYPE,
    PARAMETER_INPUT_TYPES,
    VIDEO_METADATA_INPUT_TYPE,
    Definition,
    InputDeclaration,
    OutputDeclaration,
    StepDeclaration,
)
from execution_engine.definition.nesting import DEEPEST_NESTING, find_too_deep
from execution_engine.definition.problems import ProblemList
from execution_engine.definition.references import did_you_mean
from execution_engine.errors import ExecutionGraphStructureError, WorkflowSyntaxError
from execution_engine.value_text import short_text

# Work grows with the square of the depth; real batches have two or three levels.
DEEPEST_BATCH = 32


def parse_definition(raw: Any, problems: ProblemList, base: str = "") -> Definition:
    """The typed parts of a definition; what is wrong goes to `problems` and is left out of the
    result.

    Args:
        raw: the JSON object.
        problems: where faults go.
        base: JSON pointer of a definition inside of another one.
    """
    if not isinstance(raw, Mapping):
        problems.add(
            WorkflowSyntaxError,
            "wrong_type",
            f"A workflow definition is a JSON object, got {describe(raw)}.",
            base,
        )
        raw = {}
    elif (where := find_too_deep(raw)) is not None:
        problems.add(
            WorkflowSyntaxError,
            "nested_too_deep",
            f"The definition is nested more than {DEEPEST_NESTING} levels deep here, or an object "
            "holds itself.",
            where,
        )
        raw = {}
    elif not isinstance(raw.get("version"), str):
        found = "is missing" if "version" not in raw else f"is {describe(raw['version'])}"
        problems.add(
            WorkflowSyntaxError,
            "missing_field" if "version" not in raw else "wrong_type",
            f"'version' {found}; it must be text such as \"1.0\".",
            f"{base}/version",
        )
    version = raw.get("version")
    input_items = _items(raw, "inputs", problems, base)
    inputs = tuple(
        declaration
        for where, item in input_items
        if (declaration := _parse_input(item, where, problems)) is not None
    )
    names = {name for _, item in input_items if isinstance(name := item.get("name"), str)}
    return Definition(
        version=version if isinstance(version, str) else "1.0",
        inputs=inputs,
        steps=tuple(
            step
            for where, item in _items(raw, "steps", problems, base)
            if (step := _parse_step(item, where, problems)) is not None
        ),
        outputs=tuple(
            output
            for where, item in _items(raw, "outputs", problems, base)
            if not (base and _is_of_another_type(item))
            and (output := _parse_output(item, where, problems)) is not None
        ),
        raw=raw,
        unusable_inputs=frozenset(names - {declaration.name for declaration in inputs}),
    )


def describe(value: Any) -> str:
    """Short text for a JSON value in a message: its type and, for small values, the value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    name = names.get(
        type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__
    )
    if isinstance(value, (dict, list)) or value is None:
        return name
    return f"{name} {short_text(value)}"


def _type_text(item: Mapping[str, Any]) -> str:
    if "type" not in item:
        return "no 'type'"
    value = item["type"]
    return (
        f"the unknown type {value!r}" if isinstance(value, str) else f"the type {describe(value)}"
    )


def _items(
    raw: Mapping[str, Any], key: str, problems: ProblemList, base: str
) -> list[tuple[str, Mapping[str, Any]]]:
    value = raw.get(key)
    if not isinstance(value, list):
        if raw:
            found = "is missing" if key not in raw else f"is {describe(value)}"
            problems.add(
                WorkflowSyntaxError,
                "missing_field" if key not in raw else "wrong_type",
                f"'{key}' {found}; it must be a list (which may be empty).",
                f"{base}/{key}",
            )
        return []
    result = []
    for position, item in enumerate(value):
        where = f"{base}/{key}/{position}"
        if isinstance(item, Mapping):
            result.append((where, item))
        else:
            problems.add(
                WorkflowSyntaxError,
                "wrong_type",
                f"Every entry of '{key}' is an object, got {describe(item)}.",
                where,
            )
    return result


def _name(item: Mapping[str, Any], where: str, what: str, problems: ProblemList) -> str | None:
    name = item.get("name")
    if isinstance(name, str) and name:
        return name
    found = "has no 'name'" if "name" not in item else f"has the name {name!r}"
    problems.add(
        WorkflowSyntaxError,
        "missing_field" if "name" not in item else "wrong_type",
        f"{what} {found}; every entry needs a name that is text.",
        f"{where}/name",
    )
    return None


def _parse_input(
    item: Mapping[str, Any], where: str, problems: ProblemList
) -> InputDeclaration | None:
    name = _name(item, where, "An input", problems)
    type_name = item.get("type")
    if type_name not in INPUT_TYPES:
        problems.add(
            WorkflowSyntaxError,
            "unknown_input_type",
            f"Input '{name}' has {_type_text(item)}; known types are {', '.join(INPUT_TYPES)}.",
            f"{where}/type",
            hint=did_you_mean(str(type_name), INPUT_TYPES),
        )
        return None
    if name is None:
        return None
    default_kind = "*"
    dimensionality = 0
    if type_name in IMAGE_INPUT_TYPES:
        default_kind, dimensionality = "image", 1
    elif type_name == VIDEO_METADATA_INPUT_TYPE:
        default_kind, dimensionality = "video_metadata", 1
    elif type_name == BATCH_INPUT_TYPE:
        dimensionality = item.get("dimensionality", 1)
        if isinstance(dimensionality, bool) or not isinstance(dimensionality, int):
            problems.add(
                WorkflowSyntaxError,
                "wrong_type",
                f"Input '{name}': 'dimensionality' must be a whole number, got "
                f"{describe(dimensionality)}.",
                f"{where}/dimensionality",
            )
            dimensionality = 1
        elif dimensionality < 1:
            problems.add(
                ExecutionGraphStructureError,
                "wrong_dimensionality",
                f"Input '{name}': a batch input has a dimensionality of 1 or more, got "
                f"{dimensionality}.",
                f"{where}/dimensionality",
            )
            dimensionality = 1
        elif dimensionality > DEEPEST_BATCH:
            problems.add(
                ExecutionGraphStructureError,
                "wrong_dimensionality",
                f"Input '{name}': a batch input has a dimensionality of at most {DEEPEST_BATCH}, "
                f"got {describe(dimensionality)}.",
                f"{where}/dimensionality",
            )
            dimensionality = 1
    kinds = _kinds(item, default_kind, name, where, problems)
    return InputDeclaration(
        type_name,
        name,
        kinds,
        dimensionality,
        item.get("default_value") if type_name in PARAMETER_INPUT_TYPES else None,
        where,
    )


def _kinds(
    item: Mapping[str, Any], default: str, name: str, where: str, problems: ProblemList
) -> tuple[str, ...]:
    kinds = item.get("kind")
    if kinds is None:
        return (default,)
    names: list[str] = []
    entries = kinds if isinstance(kinds, list) else [None]
    for entry in entries:
        kind = entry.get("name") if isinstance(entry, Mapping) else entry
        if not isinstance(kind, str):
            problems.add(
                WorkflowSyntaxError,
                "wrong_type",
                f"Input '{name}': 'kind' must be a list of kind names, got {describe(kinds)}.",
                f"{where}/kind",
            )
            return (default,)
        names.append(kind)
    return tuple(names) or (default,)


def _parse_step(
    item: Mapping[str, Any], where: str, problems: ProblemList
) -> StepDeclaration | None:
    type_name = item.get("type")
    name = _name(item, where, "A step", problems)
    if not isinstance(type_name, str) or not type_name:
        found = "no 'type'" if "type" not in item else f"the type {describe(type_name)}"
        problems.add(
            WorkflowSyntaxError,
            "missing_field" if "type" not in item else "wrong_type",
            f"Step '{name}' has {found}; it must be the id of a block, such as "
            '"roboflow_core/image_blur@v1".',
            f"{where}/type",
            block_id=name,
            property_name="type",
        )
        type_name = ""
    if name is None:
        return None
    return StepDeclaration(type_name, name, item, where)


def _is_of_another_type(output: Mapping[str, Any]) -> bool:
    """Outputs that are no data for the steps around an inner workflow."""
    return isinstance(output.get("type"), str) and output["type"] != OUTPUT_TYPE


def _parse_output(
    item: Mapping[str, Any], where: str, problems: ProblemList
) -> OutputDeclaration | None:
    name = _name(item, where, "An output", problems)
    type_name = item.get("type")
    if type_name != OUTPUT_TYPE:
        problems.add(
            WorkflowSyntaxError,
            "unknown_output_type",
            f"Output '{name}' has {_type_text(item)}; the only type is {OUTPUT_TYPE}.",
            f"{where}/type",
        )
        return None
    selector = item.get("selector")
    if not isinstance(selector, str):
        found = "is missing" if "selector" not in item else f"is {describe(selector)}"
        problems.add(
            WorkflowSyntaxError,
            "missing_field" if "selector" not in item else "wrong_type",
            f"Output '{name}': 'selector' {found}; it must be a reference such as "
            '"$steps.name.output".',
            f"{where}/selector",
        )
        return None
    system = item.get("coordinates_system", "parent")
    if system not in ("parent", "own"):
        problems.add(
            WorkflowSyntaxError,
            "wrong_value",
            f"Output '{name}': 'coordinates_system' is \"parent\" or \"own\", got "
            f"{describe(system)}.",
            f"{where}/coordinates_system",
        )
        system = "parent"
    if name is None:
        return None
    return OutputDeclaration(name, selector, system, where)
