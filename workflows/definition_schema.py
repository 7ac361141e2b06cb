"""The JSON Schema of a workflow definition, for editors and validators. Kinds and references across
steps are beyond JSON Schema: only the compiler checks those.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from execution_engine.block_api.spec import BlockSpec
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import (
    BATCH_INPUT_TYPE,
    IMAGE_INPUT_TYPES,
    OUTPUT_TYPE,
    PARAMETER_INPUT_TYPES,
    VIDEO_METADATA_INPUT_TYPE,
)
from execution_engine.registry.registry import BlockRegistry
from workflows.published_schemas import published_schema

if TYPE_CHECKING:
    from workflows.session import Session

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"
_OUTPUT_SELECTOR = r"^(\$inputs\.[A-Za-z_0-9\-]+|\$steps\.[A-Za-z_0-9\-]+\.([A-Za-z_0-9\-]+|\*))$"


def definition_schema(session: Session | None = None) -> dict[str, Any]:
    """The schema (draft 2020-12) of definitions that use the blocks of a session.

    `$defs` holds one schema a block under its type id; a step is held against the one its `type`
    names. A field may stand under any of its names.

    Args:
        session: whose blocks; the default session when None.
    """
    if session is None:
        from workflows.running import default_session

        session = default_session()
    return schema_of_registry(session.registry)


def schema_of_registry(registry: BlockRegistry) -> dict[str, Any]:
    """The schema of definitions that use the blocks of a registry."""
    definitions: dict[str, Any] = {}
    shared = _SharedDefinitions()
    choices = []
    type_ids: list[str] = []
    for type_id, spec in sorted(registry.specs.items()):
        schema = shared.hoist(type_id, published_schema(registry, spec))
        definitions[type_id] = _with_aliases(schema, spec)
        names = [type_id, *spec.aliases]
        type_ids += names
        choices.append(
            {
                "if": {"properties": {"type": {"enum": names}}},
                "then": {"$ref": _REFERENCE + _pointer(type_id)},
            }
        )
    return {
        "$schema": DIALECT,
        "title": "Workflow definition",
        "type": "object",
        "required": ["version", "inputs", "steps", "outputs"],
        "properties": {
            "version": {
                "description": "Engine version the workflow asks for, at least.",
                "type": "string",
                "examples": ["1.0"],
            },
            "inputs": {"type": "array", "items": _input_schema()},
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
            "outputs": {"type": "array", "items": _output_schema()},
            "dynamic_blocks_definitions": {
                "description": "Blocks whose Python code the definition carries.",
                "type": "array",
                "items": {"type": "object"},
            },
        },
        # The definition may bring block types of its own, which cannot be listed here.
        "if": {"properties": {"dynamic_blocks_definitions": {"maxItems": 0}}},
        "then": {
            "properties": {"steps": {"items": {"properties": {"type": {"enum": type_ids}}}}},
        },
        "$defs": {
            "step": {
                "type": "object",
                "required": ["type", "name"],
                "properties": {
                    "type": {"description": "Id of the block.", "type": "string"},
                    "name": _name_schema("steps"),
                },
                "allOf": choices,
            },
            **shared.definitions,
            **definitions,
        },
    }


class _SharedDefinitions:
    """The inner definitions of all blocks in one table; equal ones are kept once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        self._raw: dict[str, Any] = {}

    def hoist(self, type_id: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The schema without inner definitions, which go to the table."""
        inner: Mapping[str, Any] = schema.get("$defs", {})
        own = {
            name
            for name, definition in inner.items()
            if name in self._raw and self._raw[name] != definition
        }
        grown = True
        while grown:  # what refers to a definition of its own is of its own too
            more = {name for name in inner if name not in own and _refers_to(inner[name], own)}
            grown = bool(more)
            own |= more
        names = {name: f"{type_id} {name}" if name in own else name for name in inner}
        for name, definition in inner.items():
            if name not in own:
                self._raw[name] = definition
            self.definitions[names[name]] = _renamed(definition, names)
        rest = {key: value for key, value in schema.items() if key != "$defs"}
        hoisted: dict[str, Any] = _renamed(rest, names)
        return hoisted


def _refers_to(schema: Any, names: set[str]) -> bool:
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str) and _unpointer(reference) in names:
            return True
        return any(_refers_to(value, names) for value in schema.values())
    return isinstance(schema, list) and any(_refers_to(item, names) for item in schema)


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """The schema with its references to inner definitions under their new names."""
    if isinstance(schema, Mapping):
        result = {key: _renamed(value, names) for key, value in schema.items()}
        reference = schema.get("$ref")
        if isinstance(reference, str) and _unpointer(reference) in names:
            result["$ref"] = _REFERENCE + _pointer(names[_unpointer(reference)])
        # Tools use the mapping of a discriminator, JSON Schema does not.
        mapping = result.get("discriminator")
        if isinstance(mapping, dict) and isinstance(mapping.get("mapping"), dict):
            mapping["mapping"] = {
                value: _REFERENCE + _pointer(names.get(_unpointer(target), _unpointer(target)))
                for value, target in mapping["mapping"].items()
            }
        return result
    if isinstance(schema, list):
        return [_renamed(item, names) for item in schema]
    return schema


def _with_aliases(schema: dict[str, Any], spec: BlockSpec) -> dict[str, Any]:
    """The schema of a block with every accepted name of each field."""
    schema = copy.deepcopy(schema)
    properties = schema["properties"]
    required = list(schema.get("required", ()))
    one_of_names = []
    for field in spec.fields.values():
        published = next((name for name in field.aliases if name in properties), None)
        others = [name for name in field.aliases if name != published]
        if published is None or not others:
            continue
        for name in others:
            properties[name] = {**properties[published], "title": f"{name}: same as {published}"}
        if published in required:
            required.remove(published)
            one_of_names.append({"anyOf": [{"required": [name]} for name in field.aliases]})
    if required:
        schema["required"] = required
    if one_of_names:
        schema["allOf"] = [*schema.get("allOf", ()), *one_of_names]
    return schema


def _name_schema(collection: str) -> dict[str, Any]:
    return {
        "description": f"Name, unique among the {collection}. Letters, digits, _ and - can be "
        "referred to.",
        "type": "string",
        "minLength": 1,
    }


def _input_schema() -> dict[str, Any]:
    kinds = {
        "description": "Kinds of data it may hold.",
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                },
            ]
        },
    }
    types = [*IMAGE_INPUT_TYPES, VIDEO_METADATA_INPUT_TYPE, BATCH_INPUT_TYPE]
    types += PARAMETER_INPUT_TYPES
    return {
        "type": "object",
        "required": ["type", "name"],
        "properties": {
            "type": {"enum": types},
            "name": _name_schema("inputs"),
            "kind": kinds,
        },
        "allOf": [
            {
                "if": {"properties": {"type": {"const": BATCH_INPUT_TYPE}}},
                "then": {
                    "properties": {
                        "dimensionality": {
                            "description": "Depth of nesting of the batch.",
                            "type": "integer",
                            "minimum": 1,
                            "default": 1,
                        }
                    }
                },
            },
            {
                "if": {"properties": {"type": {"enum": list(PARAMETER_INPUT_TYPES)}}},
                "then": {
                    "properties": {
                        "default_value": {"description": "Value when the run gives none."}
                    }
                },
            },
        ],
    }


def _output_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", "name", "selector"],
        "properties": {
            "type": {"const": OUTPUT_TYPE},
            "name": _name_schema("outputs"),
            "selector": {
                "description": "What to give: an input, an output of a step, or all its outputs.",
                "type": "string",
                "pattern": _OUTPUT_SELECTOR,
                "examples": ["$steps.blur.image", "$steps.blur.*"],
            },
            "coordinates_system": {
                "description": "Space of predictions: the workflow's input (parent) or the image "
                "they were made on (own).",
                "enum": ["parent", "own"],
                "default": "parent",
            },
        },
    }


def _pointer(name: str) -> str:
    """A name as one part of the fragment of a reference."""
    return pointer_part(name).replace("%", "%25").replace(" ", "%20")


def _unpointer(reference: str) -> str:
    """The name that a reference into `$defs` holds, as pydantic writes it."""
    return reference.removeprefix(_REFERENCE).replace("~1", "/").replace("~0", "~")
