"""What a workflow takes and gives: names, kinds, nesting. Values are not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from execution_engine.definition.references import ALL_OUTPUTS, INPUT, STEP, parse_reference
from execution_engine.kinds.codec import CodecRegistry
from workflows.inspection import Inspection

ANYTHING = ("*",)
# How a kind's JSON form begins, as the kinds describe it, and the JSON type of that.
_JSON_TYPES = (
    (("array", "nested array", "list"), "array"),
    (("object",), "object"),
    (("string", "base64 string", "ISO-8601 string"), "string"),
    (("integer",), "integer"),
    (("number",), "number"),
    (("boolean",), "boolean"),
)


@dataclass(frozen=True, slots=True)
class InterfaceInput:
    """One input: `dimensionality` 0 is one value a run, 1 a batch, more a nested batch; `default`
    only counts for parameters.
    """

    name: str
    type: str
    kinds: tuple[str, ...]
    dimensionality: int
    default: Any = None

    @property
    def is_image(self) -> bool:
        """Whether images may be given for it."""
        return self.dimensionality > 0 and "image" in self.kinds


@dataclass(frozen=True, slots=True)
class InterfaceOutput:
    """One output: its kinds, or kinds by name when it holds all outputs of a step."""

    name: str
    selector: str
    kinds: tuple[str, ...] | Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Interface:
    """Inputs and outputs in declared order.

    Attributes:
        inputs: what a run takes.
        outputs: what a run gives.
        codecs: the kinds behind the names.
    """

    inputs: tuple[InterfaceInput, ...]
    outputs: tuple[InterfaceOutput, ...]
    codecs: CodecRegistry

    @property
    def image_inputs(self) -> list[InterfaceInput]:
        """The inputs that take images."""
        return [item for item in self.inputs if item.is_image]

    def to_dict(self) -> dict[str, Any]:
        """The interface as JSON data: kinds of every input and output, and for each kind that
        occurs a word on its JSON form (`typing_hints`) and its schema (`kinds_schemas`).
        """
        outputs: dict[str, Any] = {}
        used = {kind for item in self.inputs for kind in item.kinds}
        for item in self.outputs:
            if isinstance(item.kinds, Mapping):
                outputs[item.name] = {name: list(kinds) for name, kinds in item.kinds.items()}
                used.update(kind for kinds in item.kinds.values() for kind in kinds)
            else:
                outputs[item.name] = list(item.kinds)
                used.update(item.kinds)
        hints = {
            name: self.codecs.kinds[name].serialised_data_type or "any"
            for name in sorted(used)
            if name in self.codecs.kinds
        }
        return {
            "inputs": {item.name: list(item.kinds) for item in self.inputs},
            "outputs": outputs,
            "typing_hints": hints,
            "kinds_schemas": {name: _schema(hint) for name, hint in hints.items()},
        }


def describe_interface(inspection: Inspection, codecs: CodecRegistry) -> Interface:
    """The interface of a definition; kinds that cannot be known are `*`."""
    kinds_of_steps = {step.name: step.outputs for step in reversed(inspection.steps)}
    kinds_of_inputs = {item.name: item.kinds for item in inspection.definition.inputs}
    outputs = []
    for output in inspection.definition.outputs:
        reference = parse_reference(output.selector)
        kinds: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ANYTHING
        if reference is None or reference.kind == STEP:
            pass
        elif reference.kind == INPUT:
            kinds = kinds_of_inputs.get(reference.name, ANYTHING)
        else:
            offered = kinds_of_steps.get(reference.name)
            if reference.property_name == ALL_OUTPUTS:
                kinds = ANYTHING if offered is None else offered
            elif offered is not None:
                kinds = offered.get(str(reference.property_name), ANYTHING)
        outputs.append(InterfaceOutput(output.name, output.selector, kinds))
    inputs = tuple(
        InterfaceInput(item.name, item.type, item.kinds, item.dimensionality, item.default)
        for item in inspection.definition.inputs
    )
    return Interface(inputs, tuple(outputs), codecs)


def _schema(hint: str) -> dict[str, str]:
    for beginnings, json_type in _JSON_TYPES:
        if hint.startswith(beginnings):
            return {"type": json_type}
    return {}
