"""What the command line says about one block. Chooses no block and prints nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from execution_engine.block_api.spec import BlockSpec, FieldSpec
from execution_engine.registry.registry import BlockRegistry

_LONGEST_DEFAULT = 40
_BELOW = ("anyOf", "oneOf", "allOf", "items", "additionalProperties")
_PLACEHOLDERS: Mapping[str, Any] = {
    "string": "", "integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {},
}  # fmt: skip


def nearest_hint(registry: BlockRegistry, type_id: str) -> str:
    """The end of a message about an unknown block: the ids that look most like it."""
    near = registry.nearest_types(type_id)
    return f"; nearest: {', '.join(near)}" if near else ""


def block_text(
    spec: BlockSpec, schema: Mapping[str, Any], other_versions: Sequence[str] = ()
) -> str:
    """Name, description, fields, outputs and a step to paste.

    Args:
        spec: the block.
        schema: JSON schema of its step.
        other_versions: type ids of the other versions of the block.
    """
    lines = [f"{spec.title}  {spec.type_id}"]
    if spec.aliases:
        lines.append(f"also called {', '.join(spec.aliases)}")
    if other_versions:
        lines.append(f"other versions: {', '.join(other_versions)}")
    text = str(schema.get("long_description") or spec.short_description).strip()
    if text:
        lines += ["", text]
    lines += ["", "Fields"]
    for field in spec.fields.values():
        described = _described(field, schema)
        lines.append(f"  {field.aliases[0]}: {_taken(field, described)}")
        if len(field.aliases) > 1:
            lines.append(f"      also called {', '.join(field.aliases[1:])}")
        if described.get("description"):
            lines.append(f"      {described['description']}")
        lines += [f"      {rule}" for rule in _rules(described, schema)]
        if "inert" in described:
            lines.append(f"      has no effect: {described['inert']}")
    if not spec.fields:
        lines.append("  none")
    step = json.dumps(example_step(spec, schema), indent=2, ensure_ascii=False)
    lines += ["", "Step", *(f"  {line}" for line in step.splitlines()), "", "Outputs"]
    lines += [f"  {output.name}: {' or '.join(output.kinds)}" for output in spec.outputs]
    if spec.dynamic_outputs:
        lines.append("  more, as the fields of the step say")
    elif not spec.outputs:
        lines.append("  none; it decides which steps run" if spec.is_control_flow else "  none")
    return "\n".join(lines)


def example_step(spec: BlockSpec, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The example of a step that the manifest gives, else one with the required fields, filled with
    what it gives for each of them.
    """
    if schema.get("examples"):
        return dict(schema["examples"][0])
    step: dict[str, Any] = {"type": spec.type_id, "name": spec.family}
    for field in spec.fields.values():
        if field.required:
            step[field.aliases[0]] = _example(_described(field, schema))
    return step


def _described(field: FieldSpec, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties", {})
    return next((properties[name] for name in field.aliases if name in properties), {})


def _example(described: Mapping[str, Any]) -> Any:
    if described.get("examples"):
        return described["examples"][0]
    if "default" in described:
        return described["default"]
    if described.get("reference"):
        is_step = described.get("selected_element") == "step"
        return "$steps.other" if is_step else "$inputs.value"
    for part in (described, *described.get("anyOf", ())):
        if part.get("enum"):
            return part["enum"][0]
    return _PLACEHOLDERS.get(str(described.get("type")))


def _taken(field: FieldSpec, described: Mapping[str, Any]) -> str:
    kinds = dict.fromkeys(kind for form in field.references for kind in form.kinds)
    parts = []
    if any(form.element == "step" for form in field.references):
        parts.append("steps to run")
    if kinds:
        parts.append(f"reference to {' or '.join(kinds)}")
    if field.accepts_literal:
        parts.append("value" if field.references else "value only")
    text = " or ".join(parts)
    if field.required:
        return f"{text}, required"
    default = repr(described.get("default"))
    if len(default) > _LONGEST_DEFAULT:
        default = f"{default[: _LONGEST_DEFAULT - 3]}..."
    return f"{text}, default {default}"


def _rules(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """What a value must keep to: its choices, its limits, the operations it may hold."""
    definitions = schema.get("$defs", {})
    parts = list(_parts(described, definitions))
    choices = [value for part in parts for value in _choices(part)]
    if choices:
        yield f"one of {', '.join(map(str, dict.fromkeys(choices)))}"
    yield from dict.fromkeys(text for part in parts for text in _limits(part))
    for part in parts:
        if part is described and _constant(part) == "StatementGroup":
            yield from _statements(definitions)
        types = part.get("discriminator", {}).get("mapping", {})
        if types:
            yield f"operations: {', '.join(types)}"


def _parts(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Any]:
    """The schema of a field and of every form and element of its value, but not of what the
    operations of the query language take.
    """
    yield described
    if "discriminator" in described:
        return
    if "$ref" in described:
        yield from _parts(definitions.get(described["$ref"].rsplit("/", 1)[-1], {}), definitions)
    for key in _BELOW:
        below = described.get(key)
        for item in below if isinstance(below, list) else [below]:
            if isinstance(item, Mapping):
                yield from _parts(item, definitions)


def _choices(part: Mapping[str, Any]) -> list[Any]:
    if "properties" in part:
        return []
    return [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]


def _constant(part: Mapping[str, Any]) -> Any:
    return part.get("properties", {}).get("type", {}).get("const")


def _statements(definitions: Mapping[str, Any]) -> Iterator[str]:
    """The comparators and operators of a statement of the query language."""
    for statement, key in (("BinaryStatement", "comparator"), ("UnaryStatement", "operator")):
        field = definitions.get(statement, {}).get("properties", {}).get(key, {})
        names = field.get("discriminator", {}).get("mapping", {})
        if names:
            yield f"{key}s: {', '.join(names)}"


def _limits(part: Mapping[str, Any]) -> Iterator[str]:
    low, high = part.get("minimum"), part.get("maximum")
    if low is not None and high is not None:
        yield f"from {low} to {high}"
    elif low is not None:
        yield f"at least {low}"
    elif high is not None:
        yield f"at most {high}"
    if "exclusiveMinimum" in part:
        yield f"more than {part['exclusiveMinimum']}"
    if "exclusiveMaximum" in part:
        yield f"less than {part['exclusiveMaximum']}"
    for least, most, unit in (
        ("minItems", "maxItems", "items"), ("minLength", "maxLength", "characters"),
    ):  # fmt: skip
        low, high = part.get(least), part.get(most)
        if low is not None and low == high:
            yield f"{low} {unit}"
        elif low is not None or high is not None:
            yield " and ".join(
                [f"at least {low} {unit}"] * (low is not None)
                + [f"at most {high} {unit}"] * (high is not None)
            )
