"""`BlockSpec`: what compiler and planner read of a block. Plain data: no pydantic, no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Container = Literal["list", "dict"] | None


@dataclass(frozen=True, slots=True)
class ReferenceSpec:
    """One form of reference that a field takes.

    Attributes:
        element: what may be referred to (`any_data`, `step`, ...).
        kinds: accepted kinds by name.
        points_to_batch: True, False or "dynamic".
        container: None for the field's value itself, "list" for elements of a list, "dict" for
            values of an object.
    """

    element: str
    kinds: tuple[str, ...] = ()
    points_to_batch: bool | Literal["dynamic"] = "dynamic"
    container: Container = None


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a manifest.

    Attributes:
        name: name in the manifest and as argument of `run`.
        aliases: every name accepted in JSON, the published one first.
        required: whether a step must give it.
        references: the forms of reference it takes; empty for literal-only fields.
        accepts_literal: whether a plain value (beside a reference) is allowed at the top of the
            field.
    """

    name: str
    aliases: tuple[str, ...] = ()
    required: bool = True
    references: tuple[ReferenceSpec, ...] = ()
    accepts_literal: bool = True


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """One output of a block: its name and kinds by name, in declared order."""

    name: str
    kinds: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """Digest of a manifest and its block class, made once at registration or read from a generated
    index.

    `siblings` says, by representation, where the class is that works on values in it, as
    `module:class`.
    """

    type_id: str
    aliases: tuple[str, ...] = ()
    source: str = ""
    module: str = ""
    class_name: str = ""
    title: str = ""
    family: str = ""
    version: str = ""
    block_type: str = ""
    short_description: str = ""
    fields: Mapping[str, FieldSpec] = field(default_factory=dict)
    outputs: tuple[OutputSpec, ...] = ()
    dynamic_outputs: bool = False
    accepts_batches: frozenset[str] = frozenset()
    accepts_batches_and_scalars: frozenset[str] = frozenset()
    auto_batch_cast: frozenset[str] = frozenset()
    accepts_batch_input: bool = False
    input_offsets: Mapping[str, int] = field(default_factory=dict)
    reference_property: str | None = None
    output_offset: int = 0
    accepts_empty: bool = False
    written_in_place: frozenset[str] = frozenset()
    inert_fields: Mapping[str, str] = field(default_factory=dict)
    init_parameters: tuple[str, ...] = ()
    engine_compatibility: str | None = None
    extra: str | None = None
    siblings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_control_flow(self) -> bool:
        """Whether a field takes step selectors, that is, the block decides what runs."""
        return any(
            reference.element == "step"
            for field_spec in self.fields.values()
            for reference in field_spec.references
        )

    def fields_of_kind(self, kind: str) -> list[str]:
        """Names of the fields that take references to data of a kind."""
        return [
            name
            for name, described in self.fields.items()
            if any(kind in reference.kinds for reference in described.references)
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible form, the inverse of `from_dict`; empty members are left out."""
        data = asdict(self)
        data["fields"] = {name: _drop_empty(value) for name, value in data["fields"].items()}
        for name in (
            "accepts_batches",
            "accepts_batches_and_scalars",
            "auto_batch_cast",
            "written_in_place",
        ):
            data[name] = sorted(data[name])
        kept = _drop_empty(data)
        kept["fields"] = data["fields"]
        return kept

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BlockSpec:
        """Spec from what `to_dict` made."""
        values = dict(data)
        values["aliases"] = tuple(values.get("aliases", ()))
        values["init_parameters"] = tuple(values.get("init_parameters", ()))
        values["outputs"] = tuple(
            OutputSpec(output["name"], tuple(output["kinds"]))
            for output in values.get("outputs", ())
        )
        values["fields"] = {
            name: FieldSpec(
                name=name,
                aliases=tuple(spec.get("aliases", ())),
                required=spec.get("required", False),
                accepts_literal=spec.get("accepts_literal", False),
                references=tuple(
                    ReferenceSpec(
                        reference["element"],
                        tuple(reference.get("kinds", ())),
                        reference.get("points_to_batch", False),
                        reference.get("container"),
                    )
                    for reference in spec.get("references", ())
                ),
            )
            for name, spec in values.get("fields", {}).items()
        }
        for name in (
            "accepts_batches",
            "accepts_batches_and_scalars",
            "auto_batch_cast",
            "written_in_place",
        ):
            values[name] = frozenset(values.get(name, ()))
        return cls(**values)


def _drop_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in data.items():
        if key == "references":
            value = [_drop_empty(item) for item in value]
        if value is None or value is False or value == "" or value == 0:
            continue
        if isinstance(value, (tuple, list, dict)) and not value:
            continue
        result[key] = value
    return result
