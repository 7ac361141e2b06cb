"""What differs between two versions of a block: fields, defaults, kinds, outputs, effects. Changes
no workflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from execution_engine.block_api.spec import BlockSpec, FieldSpec
from workflows.upgrading.field_forms import bare_form, default_text, takes_text

ABSENT = "-"
_HOOKS = {
    "accepts_batches": "fields taken as batches",
    "accepts_batches_and_scalars": "fields taken as batches or single values",
    "auto_batch_cast": "fields made to batches",
    "input_offsets": "depth of fields",
    "reference_property": "field that sets the depth",
    "output_offset": "depth of outputs",
    "accepts_empty": "takes empty elements",
    "engine_compatibility": "engine versions",
    "extra": "extra to install",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        what: `field`, `output`, `outputs` or `block`.
        name: name of the field or output; empty for the block itself.
        aspect: what of it differs, such as `default` or `kinds`; empty when it is new or gone.
        before: how it was in the old version, `-` when it was not there.
        after: how it is in the new one, `-` when it is gone.
    """

    what: str
    name: str
    aspect: str
    before: str
    after: str

    @property
    def subject(self) -> str:
        """What differs, in words."""
        words = " ".join(part for part in (self.what, self.name) if part)
        return f"{words}: {self.aspect}" if self.aspect else words

    def to_dict(self) -> dict[str, str]:
        """The difference as JSON data."""
        return asdict(self)


def find_changes(
    old: BlockSpec, new: BlockSpec, old_schema: Mapping[str, Any], new_schema: Mapping[str, Any]
) -> list[Change]:
    """Every difference between two versions, fields first, then outputs, then the rest.

    Args:
        old: the one version.
        new: the other.
        old_schema: published JSON schema of the old one.
        new_schema: published JSON schema of the new one.
    """
    return [
        *_field_changes(old, new, old_schema, new_schema),
        *_output_changes(old, new),
        *_hook_changes(old, new),
    ]


def described(field: FieldSpec, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a field."""
    properties = schema.get("properties", {})
    return next((properties[name] for name in field.aliases if name in properties), {})


def _field_changes(
    old: BlockSpec, new: BlockSpec, old_schema: Mapping[str, Any], new_schema: Mapping[str, Any]
) -> Iterator[Change]:
    for name in dict.fromkeys((*old.fields, *new.fields)):
        before = _aspects(old, name, old_schema)
        after = _aspects(new, name, new_schema)
        if before is None or after is None:
            yield Change("field", name, "", _summary(before), _summary(after))
            continue
        told = False
        for aspect in before:
            if before[aspect] != after[aspect]:
                told = told or aspect == "takes"
                yield Change("field", name, aspect, before[aspect], after[aspect])
        forms = [
            bare_form(described(spec.fields[name], schema))
            for spec, schema in ((old, old_schema), (new, new_schema))
        ]
        if forms[0] != forms[1] and not told:
            yield Change("field", name, "inner form", "as it was", "another")


def _aspects(spec: BlockSpec, name: str, schema: Mapping[str, Any]) -> dict[str, str] | None:
    field = spec.fields.get(name)
    if field is None:
        return None
    form = described(field, schema)
    return {
        "default": default_text(form, field.required),
        "takes": takes_text(form, schema.get("$defs", {})),
        "names": ", ".join(field.aliases),
        "effect": "none" if name in spec.inert_fields else "yes",
        "written in place": "yes" if name in spec.written_in_place else "no",
    }


def _summary(aspects: Mapping[str, str] | None) -> str:
    if aspects is None:
        return ABSENT
    default = aspects["default"]
    parts = [default if default == "required" else f"default {default}", aspects["takes"]]
    if aspects["effect"] == "none":
        parts.append("no effect")
    return "; ".join(parts)


def _output_changes(old: BlockSpec, new: BlockSpec) -> Iterator[Change]:
    before = {output.name: ", ".join(output.kinds) for output in old.outputs}
    after = {output.name: ", ".join(output.kinds) for output in new.outputs}
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            yield Change("output", name, "", before.get(name, ABSENT), after.get(name, ABSENT))
        elif before[name] != after[name]:
            same = sorted(before[name].split(", ")) == sorted(after[name].split(", "))
            aspect = "order of kinds" if same else "kinds"
            yield Change("output", name, aspect, before[name], after[name])
    orders = [[name for name in one if name in before and name in after] for one in (before, after)]
    if orders[0] != orders[1]:
        yield Change("outputs", "", "order", ", ".join(orders[0]), ", ".join(orders[1]))
    if old.dynamic_outputs != new.dynamic_outputs:
        words = {True: "depend on the step", False: "fixed"}
        yield Change("outputs", "", "names", words[old.dynamic_outputs], words[new.dynamic_outputs])


def _hook_changes(old: BlockSpec, new: BlockSpec) -> Iterator[Change]:
    for hook, words in _HOOKS.items():
        before, after = getattr(old, hook), getattr(new, hook)
        if before != after:
            yield Change("block", "", words, _hook_text(before), _hook_text(after))


def _hook_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in sorted(value.items())) or "none"
    if isinstance(value, (frozenset, Sequence)) and not isinstance(value, str):
        return ", ".join(sorted(value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
