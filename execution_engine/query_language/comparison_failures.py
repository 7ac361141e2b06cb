"""Says why two values could not be compared, in terms of the language. Compares nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Number
from typing import Any, Final

from execution_engine.errors import EvaluationEngineError
from execution_engine.kinds.kind import Kind
from execution_engine.query_language.definitions import (
    ROW_OPERAND,
    BinaryStatement,
    DynamicOperand,
    Operand,
)
from execution_engine.query_language.operations_catalogue import LIST, NUMBERS, STRING
from execution_engine.query_language.operators_catalogue import COMPARATOR_SPECS, SEQUENCE
from execution_engine.query_language.site import not_accepted, not_evaluated

# Which block, in whatever version, gives detections a property that they need not have.
PROPERTY_SOURCES: Final[Mapping[str, str]] = {
    "tracker_id": "roboflow_core/byte_tracker",
    "time_in_zone": "roboflow_core/time_in_zone",
    "area_px": "roboflow_core/mask_area_measurement",
    "area_converted": "roboflow_core/mask_area_measurement",
    "rect": "roboflow_core/bounding_rect",
    "width": "roboflow_core/bounding_rect",
    "height": "roboflow_core/bounding_rect",
    "angle": "roboflow_core/bounding_rect",
}

_EXPECTED: Final[Mapping[tuple[Kind, ...], tuple[str, Callable[[Any], bool]]]] = {
    NUMBERS: ("a number", lambda value: isinstance(value, Number)),
    STRING: ("text", lambda value: isinstance(value, str)),
    LIST: ("a list", lambda value: hasattr(value, "__iter__")),
    SEQUENCE: ("a list or text", lambda value: hasattr(value, "__contains__")),
}
_OPERAND_KINDS: Final = {
    name: spec.operand_kinds for spec in COMPARATOR_SPECS for name in spec.types
}


def not_compared(
    statement: BinaryStatement, path: str, left: Any, right: Any, cause: BaseException
) -> EvaluationEngineError:
    """The error for two values that a comparator failed on.

    Args:
        statement: the statement at hand.
        path: its place.
        left: value of the left operand.
        right: value of the right operand.
        cause: what the comparator raised.
    """
    sides = (("left", statement.left_operand, left), ("right", statement.right_operand, right))
    for _, operand, value in sides:
        name = _detection_property(operand) if value is None else None
        if name is not None:
            reason = f"property '{name}' has no value on these detections"
            source = PROPERTY_SOURCES.get(name)
            if source is not None:
                reason += f"; a step of {source} before this one adds it"
            return not_evaluated(statement.comparator, path, cause, reason)
    kinds_of_sides = _OPERAND_KINDS[statement.comparator]
    for (side, _, value), kinds in zip(sides, kinds_of_sides, strict=True):
        text, fits = _EXPECTED.get(kinds, ("", _anything))
        if not fits(value):
            return not_accepted(statement.comparator, path, f"{text} on the {side}", value, cause)
    return not_evaluated(statement.comparator, path, cause)


def _detection_property(operand: Operand) -> str | None:
    """Name of the property of a detection that the operand is, None when it is something else."""
    if not isinstance(operand, DynamicOperand) or operand.operand_name != ROW_OPERAND:
        return None
    types = [operation.type for operation in operand.operations]
    if types != ["ExtractDetectionProperty"]:
        return None
    return str(operand.operations[0].parameters["property_name"])


def _anything(value: Any) -> bool:
    return True
