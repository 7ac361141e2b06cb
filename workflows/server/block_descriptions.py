"""Describes all blocks of a registry as JSON data for editors: their schemas, outputs, and what may
be connected with what. Reads the generated index and schemas; imports no block that has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from execution_engine.block_api.spec import BlockSpec
from execution_engine.kinds.kind import Kind
from execution_engine.query_language.introspection import describe_query_language
from execution_engine.registry.registry import BlockRegistry
from execution_engine.versions import version_in_range
from workflows.published_schemas import published_schema

_PYTHON_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
}
_SELECTOR_TYPES = (
    "input_image",
    "step_output_image",
    "input_parameter",
    "step_output",
    "generic",
)
_VALUE_TYPES = ("any", "integer", "float", "boolean", "dict", "list", "string")


def describe_blocks(
    registry: BlockRegistry, *, air_gapped: bool = False, engine_version: str | None = None
) -> dict[str, Any]:
    """Every block, the kinds, which fields take which kinds, which take plain values, the query
    language, and the schema of custom Python blocks.

    Args:
        registry: the blocks.
        air_gapped: leave out blocks that need the internet.
        engine_version: leave out blocks that do not work with this version.
    """
    chosen = [
        spec
        for _, spec in sorted(registry.specs.items())
        if _fits(spec, engine_version) and not (air_gapped and _needs_internet(registry, spec))
    ]
    schemas = {spec.type_id: published_schema(registry, spec) for spec in chosen}
    kinds: dict[str, list[dict[str, Any]]] = {name: [] for name in registry.codecs.kinds}
    primitives: list[dict[str, Any]] = []
    for spec in chosen:
        for kind, connection in _connections(spec, schemas[spec.type_id]):
            kinds.setdefault(kind, []).append(connection)
        primitives += _primitives(spec, schemas[spec.type_id])
    return {
        "blocks": [_block(registry, spec, schemas[spec.type_id]) for spec in chosen],
        "declared_kinds": [kind.to_dict() for _, kind in sorted(registry.codecs.kinds.items())],
        "kinds_connections": kinds,
        "primitives_connections": primitives,
        "universal_query_language_description": describe_query_language(),
        "dynamic_block_definition_schema": dynamic_block_schema(),
    }


def outputs_of_step(registry: BlockRegistry, step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Names and kinds of the outputs one step has.

    Raises:
        UnknownManifestType: the step has no known type.
        pydantic.ValidationError: its fields are wrong.
    """
    manifest = registry.load(str(step.get("type"))).manifest
    outputs = manifest.model_validate(step).get_actual_outputs()
    return [
        {"name": output.name, "kind": [kind.to_dict() for kind in output.kind]}
        for output in outputs
    ]


def dynamic_block_schema() -> dict[str, Any]:
    """JSON schema of an entry of `dynamic_blocks_definitions`."""
    text: dict[str, Any] = {"type": "string"}
    names: dict[str, Any] = {"type": "array", "items": text}
    flag: dict[str, Any] = {"type": "boolean", "default": False}
    offset: dict[str, Any] = {"enum": [-1, 0, 1], "default": 0}
    dynamic_input = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"const": "DynamicInputDefinition"},
            "has_default_value": flag,
            "default_value": {},
            "is_optional": flag,
            "is_dimensionality_reference": flag,
            "dimensionality_offset": offset,
            "selector_types": {"type": "array", "items": {"enum": list(_SELECTOR_TYPES)}},
            "selector_data_kind": {"type": "object", "additionalProperties": names},
            "value_types": {"type": "array", "items": {"enum": list(_VALUE_TYPES)}},
        },
    }
    dynamic_output = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"const": "DynamicOutputDefinition"}, "kind": names},
    }
    return {
        "type": "object",
        "required": ["type", "manifest", "code"],
        "properties": {
            "type": {"const": "DynamicBlockDefinition"},
            "manifest": {
                "type": "object",
                "required": ["type", "block_type"],
                "properties": {
                    "type": {"const": "ManifestDescription"},
                    "block_type": text,
                    "description": text,
                    "inputs": {"type": "object", "additionalProperties": dynamic_input},
                    "outputs": {"type": "object", "additionalProperties": dynamic_output},
                    "output_dimensionality_offset": offset,
                    "accepts_batch_input": flag,
                    "accepts_empty_values": flag,
                },
            },
            "code": {
                "type": "object",
                "required": ["type", "run_function_code"],
                "properties": {
                    "type": {"const": "PythonCode"},
                    "run_function_code": text,
                    "run_function_name": {"type": "string", "default": "run"},
                    "init_function_code": text,
                    "init_function_name": {"type": "string", "default": "init"},
                    "imports": names,
                },
            },
        },
    }


def _fits(spec: BlockSpec, version: str | None) -> bool:
    wanted = spec.engine_compatibility
    return version is None or wanted is None or version_in_range(version, wanted)


def _needs_internet(registry: BlockRegistry, spec: BlockSpec) -> bool:
    return not registry.load(spec.type_id).manifest.get_air_gapped_availability()["available"]


def _block(registry: BlockRegistry, spec: BlockSpec, schema: dict[str, Any]) -> dict[str, Any]:
    outputs = [
        {"name": output.name, "kind": [_kind(registry, name) for name in output.kinds]}
        for output in spec.outputs
    ]
    if spec.dynamic_outputs:
        outputs.append({"name": "*", "kind": [_kind(registry, "*")]})
    return {
        "block_schema": schema,
        "outputs_manifest": outputs,
        "block_source": spec.source,
        "fully_qualified_block_class_name": f"{spec.module}.{spec.class_name}",
        "human_friendly_block_name": spec.title,
        "manifest_type_identifier": spec.type_id,
        "manifest_type_identifier_aliases": list(spec.aliases),
        "execution_engine_compatibility": spec.engine_compatibility,
        "restrictions": _restrictions(registry, spec),
        "input_dimensionality_offsets": dict(spec.input_offsets),
        "dimensionality_reference_property": spec.reference_property,
        "output_dimensionality_offset": spec.output_offset,
    }


def _restrictions(registry: BlockRegistry, spec: BlockSpec) -> list[dict[str, Any]]:
    # Blocks of this package have none; those of plug-ins are imported already.
    if spec.module.startswith("blocks."):
        return []
    return registry.load(spec.type_id).manifest.get_restrictions()


def _kind(registry: BlockRegistry, name: str) -> dict[str, str]:
    return registry.codecs.kinds.get(name, Kind(name)).to_dict()


def _connections(spec: BlockSpec, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(kind, field that takes it) for every form of reference of a block's fields."""
    for field in spec.fields.values():
        for reference in field.references:
            for kind in reference.kinds:
                yield (
                    kind,
                    {
                        "manifest_type_identifier": spec.type_id,
                        "property_name": field.name,
                        "property_description": _description(field.aliases, schema),
                        "compatible_element": reference.element,
                        "is_list_element": reference.container == "list",
                        "is_dict_element": reference.container == "dict",
                    },
                )


def _primitives(spec: BlockSpec, schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Fields that take a plain value, with the type of it."""
    properties = schema.get("properties", {})
    for field in spec.fields.values():
        published = next((properties[name] for name in field.aliases if name in properties), None)
        if not field.accepts_literal or published is None:
            continue
        yield {
            "manifest_type_identifier": spec.type_id,
            "property_name": field.name,
            "property_description": _description(field.aliases, schema),
            "type_annotation": _annotation(published),
        }


def _description(names: tuple[str, ...], schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties", {})
    for name in names:
        if name in properties:
            return str(properties[name].get("description", "not available"))
    return "not available"


def _annotation(schema: Mapping[str, Any]) -> str:
    """The Python type of the plain values a schema allows; references are left out."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            kept = [one for one in schema[key] if not one.get("reference")]
            texts = list(dict.fromkeys(_annotation(one) for one in kept))
            return texts[0] if len(texts) == 1 else f"Union[{', '.join(texts)}]"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(map(repr, values))}]"
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"List[{_annotation(items)}]" if isinstance(items, Mapping) and items else "list"
    return _PYTHON_TYPES.get(str(schema.get("type")), "Any")
