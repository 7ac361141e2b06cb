"""Reads steps with the manifests of their blocks and finds the references in them. Follows no
reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from execution_engine.block_api.block import WorkflowBlock, WorkflowBlockManifest
from execution_engine.block_api.spec import BlockSpec, FieldSpec, OutputSpec, ReferenceSpec
from execution_engine.compiler.validation_messages import (
    add_validation_problems,
    reference_hint,
)
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import Definition, StepDeclaration
from execution_engine.definition.problems import Hint, ProblemList
from execution_engine.definition.references import (
    Reference,
    is_reference,
    nearest,
    parse_reference,
)
from execution_engine.errors import (
    BlockInterfaceError,
    BlockNotInBuildError,
    InvalidReferenceTargetError,
    PluginLoadingError,
    WorkflowSyntaxError,
)
from execution_engine.registry.registry import BlockRegistry


class StepReference(NamedTuple):
    """One reference in a step.

    Attributes:
        field: field of the manifest.
        key: position in the field's list or object; None when the field itself is the reference.
        reference: its parts.
        forms: the forms of reference that the field takes at this place.
        where: JSON pointer.
    """

    field: str
    key: int | str | None
    reference: Reference
    forms: tuple[ReferenceSpec, ...]
    where: str


@dataclass(slots=True)
class ParsedStep:
    """A step with what its block makes of it; `spec`, `block`, `manifest` are None when the step is
    faulty.
    """

    declaration: StepDeclaration
    spec: BlockSpec | None = None
    block: type[WorkflowBlock] | None = None
    manifest: WorkflowBlockManifest | None = None
    references: tuple[StepReference, ...] = ()
    outputs: Mapping[str, OutputSpec] | None = None

    @property
    def name(self) -> str:
        """Name of the step."""
        return self.declaration.name


def parse_steps(
    definition: Definition, registry: BlockRegistry, problems: ProblemList
) -> list[ParsedStep]:
    """Every step of the definition with its manifest and references; faults go to `problems`."""
    return [_parse_step(step, registry, problems) for step in definition.steps]


def _parse_step(
    step: StepDeclaration, registry: BlockRegistry, problems: ProblemList
) -> ParsedStep:
    parsed = ParsedStep(step)
    spec = registry.spec(step.type)
    if spec is None:
        if step.type:
            _add_unknown_type(step, registry, problems)
        return parsed
    parsed.spec = spec
    try:
        loaded = registry.load(step.type)
    except PluginLoadingError as error:
        problems.add(
            PluginLoadingError,
            "block_not_loadable",
            f"Step '{step.name}': {error.public_message}",
            f"{step.where}/type",
            block_id=step.name,
            block_type=step.type,
        )
        if not spec.dynamic_outputs:
            parsed.outputs = {output.name: output for output in spec.outputs}
        parsed.references = tuple(_references(step, spec, problems))
        return parsed
    parsed.block = loaded.block
    body = step.body if isinstance(step.body, dict) else dict(step.body)
    try:
        parsed.manifest = loaded.manifest.model_validate(body)
    except ValidationError as error:
        add_validation_problems(step, spec, error, problems)
    # After the validation, whose words on a malformed reference are the better ones.
    parsed.references = tuple(_references(step, spec, problems))
    parsed.outputs = _outputs(parsed, spec, loaded.manifest, problems)
    return parsed


def _outputs(
    parsed: ParsedStep,
    spec: BlockSpec,
    manifest: type[WorkflowBlockManifest],
    problems: ProblemList,
) -> Mapping[str, OutputSpec] | None:
    if manifest.get_actual_outputs is WorkflowBlockManifest.get_actual_outputs:
        return {output.name: output for output in spec.outputs}
    if parsed.manifest is None:
        return None
    try:
        outputs = parsed.manifest.get_actual_outputs()
    except Exception as error:  # code of a plug-in
        problems.add(
            BlockInterfaceError,
            "outputs_unknown",
            f"Step '{parsed.name}' ({spec.type_id}) cannot tell its outputs: "
            f"{str(error) or type(error).__name__}",
            parsed.declaration.where,
            block_id=parsed.name,
            block_type=parsed.declaration.type,
        )
        return None
    return {output.name: OutputSpec(output.name, output.kind_names) for output in outputs}


def _references(
    step: StepDeclaration, spec: BlockSpec, problems: ProblemList
) -> Iterator[StepReference]:
    for field in spec.fields.values():
        if not field.references:
            continue
        for key in field.aliases:
            if key in step.body:
                yield from _field_references(step, field, key, step.body[key], problems)
                break


def _field_references(
    step: StepDeclaration, field: FieldSpec, key: str, value: Any, problems: ProblemList
) -> Iterator[StepReference]:
    where = f"{step.where}/{pointer_part(key)}"
    if isinstance(value, str):
        entries: list[tuple[int | str | None, Any, str]] = [(None, value, where)]
        container = None
    elif isinstance(value, list):
        entries = [(i, item, f"{where}/{i}") for i, item in enumerate(value)]
        container = "list"
    elif isinstance(value, dict):
        entries = [(name, item, f"{where}/{pointer_part(name)}") for name, item in value.items()]
        container = "dict"
    else:
        return
    forms = tuple(form for form in field.references if form.container == container)
    if not forms:
        return
    for position, item, pointer in entries:
        if not is_reference(item):
            continue
        reference = parse_reference(item)
        if reference is None and problems.mentions(pointer):
            continue
        if reference is None:
            problems.add(
                InvalidReferenceTargetError,
                "malformed_reference",
                f"Step '{step.name}': '{item}' in '{field.name}' is no reference; expected "
                "$inputs.name or "
                "$steps.step.output.",
                pointer,
                hint=reference_hint(item)
                or "write '$$' at the start for text that begins with a dollar sign",
                block_id=step.name,
                block_type=step.type,
                property_name=field.name,
            )
            continue
        yield StepReference(field.name, position, reference, forms, pointer)


def _add_unknown_type(
    step: StepDeclaration, registry: BlockRegistry, problems: ProblemList
) -> None:
    known = registry.known(step.type)
    if known is not None:
        problems.add(
            BlockNotInBuildError,
            "block_not_in_build",
            f"Step '{step.name}' uses the block '{step.type}'"
            f"{f' ({known.title})' if known.title else ''}, which is known but not in this build.",
            f"{step.where}/type",
            hint=known.reason or _built_versions(step.type, registry),
            block_id=step.name,
            block_type=step.type,
        )
        return
    prefix = step.type.split("/", 1)[0] if "/" in step.type else ""
    sources = {name.split("/", 1)[0] for name in registry.specs if "/" in name}
    if prefix and prefix not in sources and not nearest(prefix, sources):
        # Blocks of other plug-ins would be no help here.
        hint: Hint = (
            f"no installed plug-in offers blocks named '{prefix}/...'; install the one that does"
        )
    else:
        hint = partial(_nearest_types, step.type, registry)
    problems.add(
        WorkflowSyntaxError,
        "unknown_block_type",
        f"Step '{step.name}' has the unknown type '{step.type}'.",
        f"{step.where}/type",
        hint=hint,
        block_id=step.name,
        block_type=step.type,
    )


def _nearest_types(type_id: str, registry: BlockRegistry) -> str | None:
    """A hint with the known types most like one that is not known."""
    near = registry.nearest_types(type_id)
    return f"nearest known types: {', '.join(near)}" if near else None


def _built_versions(type_id: str, registry: BlockRegistry) -> str | None:
    """A hint with the versions of the same block that this build has."""
    family = type_id.rsplit("@", 1)[0]
    built = [name for name in registry.specs if name.rsplit("@", 1)[0] == family]
    return f"this build has {', '.join(built)}" if built else None
