"""What a field takes, in words, from its JSON schema: its types, limits, choices and references.
Compares nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_WORDS = {
    "number": "number", "integer": "whole number", "string": "text", "boolean": "true or false",
    "array": "list", "object": "object", "null": "null",
}  # fmt: skip
# Where a reference may lead, when not to inputs and steps alike.
_PLACES = {
    "workflow_image": " of the inputs", "workflow_parameter": " of the inputs",
    "workflow_video_metadata": " of the inputs", "step_output": " of a step",
}  # fmt: skip
_PROSE = frozenset({"title", "description", "examples", "inert", "default"})


def takes_text(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The forms of value a field takes, joined by "or".

    Args:
        schema: schema of the field.
        definitions: `$defs` of the schema it stands in.
    """
    return " or ".join(dict.fromkeys(_forms(schema, definitions))) or "anything"


def default_text(schema: Mapping[str, Any], required: bool) -> str:
    """The default of a field as JSON, or that it is required."""
    if required:
        return "required"
    return json.dumps(schema.get("default"), ensure_ascii=False)


def bare_form(schema: Any) -> Any:
    """A schema without texts for people and without its default."""
    if isinstance(schema, list):
        return [bare_form(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: bare_form(item) for key, item in schema.items() if key not in _PROSE}


def _forms(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    for key in ("anyOf", "oneOf"):
        if key in schema:
            for part in schema[key]:
                yield from _forms(part, definitions)
            return
    if "$ref" in schema:
        inner = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        yield from (["object"] if "properties" in inner else _forms(inner, definitions))
        return
    if schema.get("reference"):
        kinds = ", ".join(kind["name"] for kind in schema.get("kind", ()))
        place = _PLACES.get(str(schema.get("selected_element")), "")
        yield f"reference to {kinds}{place}" if kinds else "reference to a step"
        return
    choices = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    if choices:
        yield f"one of {', '.join(json.dumps(one, ensure_ascii=False) for one in choices)}"
        return
    kind = schema.get("type")
    if not isinstance(kind, str):
        return
    word = _WORDS.get(kind, kind)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        inner_forms = " or ".join(dict.fromkeys(_forms(schema["items"], definitions)))
        word = f"list of ({inner_forms})" if " or " in inner_forms else f"list of {inner_forms}"
    yield word + _limits(schema)


def _limits(schema: Mapping[str, Any]) -> str:
    parts = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "at least"), ("exclusiveMinimum", "more than"), ("maximum", "at most"),
            ("exclusiveMaximum", "less than"), ("multipleOf", "in steps of"),
            ("minItems", "items at least"), ("maxItems", "items at most"),
            ("minLength", "characters at least"), ("maxLength", "characters at most"),
            ("pattern", "matching"),
        )
        if key in schema
    ]  # fmt: skip
    return f" ({', '.join(parts)})" if parts else ""
