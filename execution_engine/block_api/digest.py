"""Turns a block class and its manifest into a `BlockSpec`, checking the two against each other."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AliasChoices

from execution_engine.block_api.block import WorkflowBlock, WorkflowBlockManifest
from execution_engine.block_api.selector import SelectorMarker
from execution_engine.block_api.spec import (
    BlockSpec,
    Container,
    FieldSpec,
    OutputSpec,
    ReferenceSpec,
)
from execution_engine.errors import BlockInterfaceError

VERSION_SUFFIX = re.compile(r"@v(\d+)$")
_NO_FIELDS = {"type", "name"}


def digest_block(block: type[WorkflowBlock], source: str) -> BlockSpec:
    """The spec of a block class.

    Args:
        block: the class.
        source: name of the plug-in it comes from.

    Raises:
        BlockInterfaceError: manifest, hooks and `run` contradict each other; the text names the
            block and the field.
    """
    origin = f"{block.__module__}.{block.__qualname__}"
    manifest = block.get_manifest()
    if not (isinstance(manifest, type) and issubclass(manifest, WorkflowBlockManifest)):
        raise BlockInterfaceError(
            f"Block {origin}: get_manifest() must return a subclass of WorkflowBlockManifest, got "
            f"{manifest!r}."
        )
    hints = get_type_hints(manifest, include_extras=True)
    type_ids = _type_ids(hints.get("type"), origin)
    fields = {
        name: _digest_field(name, hints[name], info)
        for name, info in manifest.model_fields.items()
        if name not in _NO_FIELDS
    }
    _check_run_signature(block, set(fields), origin)
    extra = manifest.model_config.get("json_schema_extra")
    described: dict[str, Any] = extra if isinstance(extra, dict) else {}
    outputs = manifest.describe_outputs()
    version = VERSION_SUFFIX.search(type_ids[0])
    spec = BlockSpec(
        type_id=type_ids[0],
        aliases=tuple(type_ids[1:]),
        source=source,
        module=block.__module__,
        class_name=block.__qualname__,
        title=str(described.get("name", type_ids[0])),
        family=VERSION_SUFFIX.sub("", type_ids[0]).rsplit("/", 1)[-1],
        version=f"v{version.group(1)}" if version else "",
        block_type=str(described.get("block_type", "")),
        short_description=str(described.get("short_description", "")),
        fields=fields,
        outputs=tuple(
            OutputSpec(output.name, output.kind_names) for output in outputs if output.name != "*"
        ),
        dynamic_outputs=any(output.name == "*" for output in outputs),
        accepts_batches=frozenset(manifest.get_parameters_accepting_batches()),
        accepts_batches_and_scalars=frozenset(
            manifest.get_parameters_accepting_batches_and_scalars()
        ),
        auto_batch_cast=frozenset(manifest.get_parameters_enforcing_auto_batch_casting()),
        accepts_batch_input=manifest.accepts_batch_input(),
        input_offsets=manifest.get_input_dimensionality_offsets(),
        reference_property=manifest.get_dimensionality_reference_property(),
        output_offset=manifest.get_output_dimensionality_offset(),
        accepts_empty=manifest.accepts_empty_values(),
        written_in_place=frozenset(manifest.get_parameters_written_in_place()),
        inert_fields=manifest.get_inert_fields(),
        init_parameters=tuple(block.get_init_parameters()),
        engine_compatibility=manifest.get_execution_engine_compatibility(),
        siblings=digest_siblings(block, block.get_siblings()),
    )
    _check_hooks(spec, origin)
    return spec


def digest_siblings(
    block: type[WorkflowBlock], siblings: list[type[WorkflowBlock]]
) -> dict[str, str]:
    """Where the siblings of a block are, by representation, as `module:class`.

    Raises:
        BlockInterfaceError: a sibling has another manifest or constructor than the block, or two
            have the same representation.
    """
    found: dict[str, str] = {}
    for sibling in siblings:
        check_sibling(block, sibling)
        if sibling.representation in found:
            raise BlockInterfaceError(
                f"Block {block.__module__}.{block.__qualname__} has two siblings for the "
                f"representation '{sibling.representation}'."
            )
        found[sibling.representation] = f"{sibling.__module__}:{sibling.__qualname__}"
    return found


def check_sibling(block: type[WorkflowBlock], sibling: type[WorkflowBlock]) -> None:
    """Raises `BlockInterfaceError` unless a sibling can stand in for its block."""
    named = f"{sibling.__module__}.{sibling.__qualname__}"
    if sibling.get_manifest() is not block.get_manifest():
        fault = "has a manifest class of its own"
    elif sibling.get_init_parameters() != block.get_init_parameters():
        fault = "has other constructor arguments"
    elif sibling.representation == block.representation:
        fault = f"works on the same representation, '{block.representation}',"
    else:
        _check_run_signature(sibling, set(block.get_manifest().model_fields) - _NO_FIELDS, named)
        return
    raise BlockInterfaceError(
        f"Block {named} {fault} and cannot be a sibling of {block.__module__}.{block.__qualname__}."
    )


def _type_ids(annotation: Any, origin: str) -> tuple[str, ...]:
    if get_origin(annotation) is not Literal or not get_args(annotation):
        raise BlockInterfaceError(
            f"Block {origin}: field `type` must be a Literal with the block's type id first, got "
            f"{annotation!r}."
        )
    return tuple(str(value) for value in get_args(annotation))


def _digest_field(name: str, annotation: Any, info: Any) -> FieldSpec:
    references: list[ReferenceSpec] = []
    accepts_literal = False
    for member, container in _members(annotation, None):
        if isinstance(member, SelectorMarker):
            references.append(
                ReferenceSpec(member.element, member.kinds, member.points_to_batch, container)
            )
        else:
            accepts_literal = True
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        aliases = tuple(str(choice) for choice in alias.choices)
    else:
        aliases = (alias,) if isinstance(alias, str) else ()
    return FieldSpec(
        name=name,
        aliases=tuple(dict.fromkeys((*aliases, name))) if aliases else (name,),
        required=info.is_required(),
        references=tuple(dict.fromkeys(references)),
        accepts_literal=accepts_literal,
    )


def _members(annotation: Any, container: Container) -> Iterator[tuple[Any, Container]]:
    """Leaves of a field's annotation: markers of references, or True for anything literal."""
    origin = get_origin(annotation)
    if origin is Annotated:
        base, *metadata = get_args(annotation)
        markers = [item for item in metadata if isinstance(item, SelectorMarker)]
        if markers:
            for marker in markers:
                yield marker, container
        else:
            yield from _members(base, container)
    elif origin is Union or origin is types.UnionType:
        for member in get_args(annotation):
            yield from _members(member, container)
    elif origin in (list, tuple, set) and container is None and get_args(annotation):
        yield True, None
        for member in get_args(annotation):
            yield from (leaf for leaf in _members(member, "list") if leaf[0] is not True)
    elif origin is dict and container is None and get_args(annotation):
        yield True, None
        yield from (
            leaf for leaf in _members(get_args(annotation)[1], "dict") if leaf[0] is not True
        )
    elif annotation is not type(None):
        yield True, container


def _check_run_signature(block: type[WorkflowBlock], fields: set[str], origin: str) -> None:
    parameters = list(inspect.signature(block.run).parameters.values())[1:]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return
    accepted = {parameter.name for parameter in parameters}
    missing = sorted(fields - accepted)
    if missing:
        raise BlockInterfaceError(
            f"Block {origin}: run() does not take the manifest's fields {', '.join(missing)}."
        )
    needed = {
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty
        and parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    }
    unknown = sorted(needed - fields)
    if unknown:
        raise BlockInterfaceError(
            f"Block {origin}: run() needs {', '.join(unknown)}, which the manifest does not "
            "declare."
        )


def _check_hooks(spec: BlockSpec, origin: str) -> None:
    named = {
        "get_parameters_accepting_batches": spec.accepts_batches,
        "get_parameters_accepting_batches_and_scalars": spec.accepts_batches_and_scalars,
        "get_parameters_enforcing_auto_batch_casting": spec.auto_batch_cast,
        "get_parameters_written_in_place": spec.written_in_place,
        "get_input_dimensionality_offsets": spec.input_offsets.keys(),
        "get_inert_fields": spec.inert_fields.keys(),
    }
    for hook, names in named.items():
        unknown = sorted(set(names) - set(spec.fields))
        if unknown:
            raise BlockInterfaceError(
                f"Block {origin}: {hook}() names {', '.join(unknown)}, which the manifest does not "
                "declare."
            )
    if spec.output_offset not in (-1, 0, 1):
        raise BlockInterfaceError(
            f"Block {origin}: the output dimensionality offset must be -1, 0 or 1, got "
            f"{spec.output_offset}."
        )
    given = dict(spec.input_offsets)
    offsets = {*given.values(), *(given.get(name, 0) for name in _data_fields(spec))}
    if min(offsets, default=0) < 0 or max(offsets, default=0) > 1:
        raise BlockInterfaceError(
            f"Block {origin}: input dimensionality offsets must be 0 or 1, got {given}."
        )
    if offsets == {1}:
        raise BlockInterfaceError(
            f"Block {origin}: at least one input needs the dimensionality offset 0, got {given}."
        )
    if len(offsets) > 1:
        if spec.reference_property is None:
            raise BlockInterfaceError(
                f"Block {origin}: inputs at different depths need "
                "get_dimensionality_reference_property()."
            )
        if spec.output_offset != 0:
            raise BlockInterfaceError(
                f"Block {origin}: inputs at different depths allow no output dimensionality "
                f"offset, got {spec.output_offset}."
            )
    if spec.reference_property is not None and spec.reference_property not in spec.fields:
        raise BlockInterfaceError(
            f"Block {origin}: the dimensionality reference {spec.reference_property!r} is not a "
            "field."
        )


def _data_fields(spec: BlockSpec) -> list[str]:
    """Fields that may hold a reference to data."""
    return [
        name
        for name, field in spec.fields.items()
        if any(reference.element != "step" for reference in field.references)
    ]
