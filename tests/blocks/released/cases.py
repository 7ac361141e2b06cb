"""One representative case of any block version, in the form of the recorded conformance cases: a
definition of one step and the inputs of two successive frames. Runs nothing, compares nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.block_api.spec import BlockSpec, FieldSpec, ReferenceSpec
from tests.blocks.released import case_fields
from tests.blocks.released.case_values import FRAMES, OF_IMAGES, value_of

STEP = "step"
AFTER = "after"
_PARAMETER = "WorkflowParameter"

# A model of each task, from `tests/blocks/models/colour_models.py`.
MODELS = {
    "object-detection": "colours-detect/1",
    "instance-segmentation": "colours-segment/yolov8",
    "keypoint-detection": "colours-points/1",
    "semantic-segmentation": "colours-map/1",
    "classification": "colours-classify/1",
    "multi-label-classification": "colours-label/1",
}


class NoCaseError(Exception):
    """The generic case does not know what a field or an input should be."""


def short_name(type_id: str) -> str:
    """`roboflow_core/image_blur@v1` -> `image_blur@v1`."""
    return type_id.rpartition("/")[2]


def entry_for(table: Mapping[str, Any], spec: BlockSpec) -> Any:
    """What a table of `case_fields` says of a version, or of its family."""
    name = short_name(spec.type_id)
    return table.get(name, table.get(name.partition("@")[0], {}))


class CaseBuilder:
    """Builds the case of one block version.

    Args:
        spec: digest of the block.
        tasks: tasks of the models it runs.
    """

    def __init__(self, spec: BlockSpec, tasks: list[str] | None) -> None:
        self._spec = spec
        self._tasks = tasks or []
        self._inputs: dict[str, dict[str, Any]] = {}
        self._values: list[dict[str, Any]] = [{} for _ in FRAMES]
        self._given = entry_for(case_fields.INPUTS, spec)

    def build(self) -> dict[str, Any]:
        """The case.

        Raises:
            NoCaseError: a required field is neither generic nor in `case_fields`.
        """
        spec = self._spec
        step: dict[str, Any] = {"type": spec.type_id, "name": STEP}
        fields = dict(entry_for(case_fields.FIELDS, spec))
        for name, field in spec.fields.items():
            published = next((alias for alias in (name, *field.aliases) if alias in fields), None)
            if published is not None:
                step[published] = fields.pop(published)
            elif field.required:
                step[name] = self._value(field)
        # The rest are fields of other versions of the family.
        for name in self._given:
            self._batch_input(name, self._given[name][0])
        for name, value in entry_for(case_fields.PARAMETERS, spec).items():
            self._declare(name, {"type": _PARAMETER, "name": name}, [value] * len(FRAMES))
        before = list(entry_for(case_fields.STEPS_BEFORE, spec) or [])
        self._add_missing_inputs([step, *before])
        case: dict[str, Any] = {
            "definition": {
                "version": "1.0",
                "inputs": list(self._inputs.values()),
                "steps": [*before, step, *self._steps_after()],
                "outputs": self._outputs(),
            },
            "sequence": self._values,
        }
        compare = entry_for(case_fields.COMPARE, spec)
        if compare:
            case["compare"] = compare
        init_parameters = entry_for(case_fields.INIT_PARAMETERS, spec)
        if init_parameters:
            case["init_parameters"] = init_parameters
        return case

    def _value(self, field: FieldSpec) -> Any:
        for reference in field.references:
            if reference.element == "step":
                return [f"$steps.{AFTER}"] if reference.container else f"$steps.{AFTER}"
        if not field.references:
            raise NoCaseError(f"field `{field.name}` needs a value in case_fields.FIELDS")
        reference = field.references[0]
        if "roboflow_model_id" in reference.kinds:
            model = next((MODELS[task] for task in self._tasks if task in MODELS), None)
            if model is None:
                raise NoCaseError(f"no test model does one of {self._tasks}")
            return model
        selector = self._selector(field.name, reference)
        return {None: selector, "list": [selector], "dict": {"value": selector}}[
            reference.container
        ]

    def _selector(self, name: str, reference: ReferenceSpec) -> Any:
        kinds = reference.kinds or ("*",)
        kind = next((kind for kind in kinds if kind in OF_IMAGES), None)
        if kind == "contours" or "contours" in kinds:
            raise NoCaseError(f"field `{name}` takes contours, which no input can be")
        name = {"images": "image", "data": "value"}.get(name, name)
        if kind is not None:
            self._batch_input(name, kind, 1 + self._spec.input_offsets.get(name, 0))
            return f"$inputs.{name}"
        try:
            values = [value_of(kinds[0], frame) for frame in FRAMES]
        except KeyError as error:
            raise NoCaseError(f"field `{name}`: no value of kind {kinds[0]}") from error
        declared = {"type": _PARAMETER, "name": name, "kind": [kinds[0]]}
        self._declare(name, declared, values)
        return f"$inputs.{name}"

    def _batch_input(self, name: str, kind: str, depth: int = 1) -> None:
        if name in self._inputs:
            return
        if kind == "image" and depth == 1:
            declared: dict[str, Any] = {"type": "WorkflowImage", "name": name}
        else:
            declared = {
                "type": "WorkflowBatchInput", "name": name, "kind": [kind], "dimensionality": depth,
            }  # fmt: skip
        if name in self._given:
            values = self._given[name][1]
        else:
            values = [value_of(kind, frame) for frame in FRAMES]
            for _ in range(depth - 1):
                values = [[[value]] for value in values]
        self._declare(name, declared, values)

    def _declare(self, name: str, declared: dict[str, Any], values: list[Any]) -> None:
        self._inputs[name] = declared
        for inputs, value in zip(self._values, values, strict=True):
            inputs[name] = value

    def _add_missing_inputs(self, steps: list[dict[str, Any]]) -> None:
        """Declares what fields of the table refer to and nothing declared yet."""
        needs_after = self._spec.is_control_flow
        for name in _references(steps):
            self._batch_input(name, self._kind_of(name))
        if needs_after:
            self._batch_input("value", "*")

    def _kind_of(self, name: str) -> str:
        if name in ("value", "image"):
            return "*" if name == "value" else "image"
        for field in self._spec.fields.values():
            for reference in field.references:
                if field.name == name and reference.kinds:
                    return reference.kinds[0]
        return "object_detection_prediction" if "predictions" in name else "*"

    def _steps_after(self) -> list[dict[str, Any]]:
        if not self._spec.is_control_flow:
            return []
        return [
            {
                "type": "roboflow_core/property_definition@v1", "name": AFTER,
                "data": "$inputs.value", "operations": [{"type": "StringToUpperCase"}],
            }
        ]  # fmt: skip

    def _outputs(self) -> list[dict[str, Any]]:
        selectors = dict(entry_for(case_fields.OUTPUTS, self._spec))
        if self._spec.is_control_flow:
            selectors["after"] = f"$steps.{AFTER}.output"
        if not selectors.keys() - {"after"} and (self._spec.outputs or self._spec.dynamic_outputs):
            selectors["found"] = f"$steps.{STEP}.*"
        return [
            {"type": "JsonField", "name": name, "selector": selector}
            for name, selector in selectors.items()
        ]


def _references(value: Any) -> list[str]:
    """Names of the inputs that a value refers to."""
    if isinstance(value, str):
        return [value.removeprefix("$inputs.")] if value.startswith("$inputs.") else []
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for item in items for name in _references(item)]
