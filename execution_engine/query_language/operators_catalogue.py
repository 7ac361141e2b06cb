"""Every comparator and unary operator of the language as data. What they do is in `comparison`."""

from __future__ import annotations

from typing import Final

from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    LIST_OF_VALUES_KIND,
    POINT_KIND,
    STRING_KIND,
    ZONE_KIND,
)
from execution_engine.query_language.operations_catalogue import (
    ANY,
    DETECTIONS,
    LIST,
    NUMBERS,
    STRING,
)
from execution_engine.query_language.specification import OperatorSpec

SEQUENCE: Final = (LIST_OF_VALUES_KIND, STRING_KIND, *DETECTIONS)

COMPARATOR_SPECS: Final[tuple[OperatorSpec, ...]] = (
    OperatorSpec("Equals", ("(Number) ==", "=="), "Equal", (ANY, ANY)),
    OperatorSpec("NotEquals", ("(Number) !=", "!="), "Not equal", (ANY, ANY)),
    OperatorSpec("NumberGreater", ("(Number) >",), "Left is greater", (NUMBERS, NUMBERS)),
    OperatorSpec(
        "NumberGreaterEqual", ("(Number) >=",), "Left is greater or equal", (NUMBERS, NUMBERS)
    ),
    OperatorSpec("NumberLower", ("(Number) <",), "Left is smaller", (NUMBERS, NUMBERS)),
    OperatorSpec(
        "NumberLowerEqual", ("(Number) <=",), "Left is smaller or equal", (NUMBERS, NUMBERS)
    ),
    OperatorSpec(
        "NumberInRange",
        ("(Number) in range",),
        "Left lies in [minimum, maximum], both ends included",
        (NUMBERS, LIST),
    ),
    OperatorSpec(
        "StringStartsWith", ("(String) startsWith",), "Left begins with right", (STRING, STRING)
    ),
    OperatorSpec(
        "StringEndsWith", ("(String) endsWith",), "Left ends with right", (STRING, STRING)
    ),
    OperatorSpec(
        "StringContains", ("(String) contains",), "Right is a part of left", (STRING, STRING)
    ),
    OperatorSpec("In", ("in (Sequence)",), "Left is an element of right", (ANY, SEQUENCE)),
    OperatorSpec(
        "AnyIn", ("any in (Sequence)",), "At least one element of left is in right", (LIST, LIST)
    ),
    OperatorSpec(
        "AllIn", ("all in (Sequence)",), "Every element of left is in right", (LIST, LIST)
    ),
    OperatorSpec(
        "DetectionInZone",
        ("(Detection) in zone",),
        "The point on the left lies strictly inside the polygon on the right",
        ((POINT_KIND, LIST_OF_VALUES_KIND), (ZONE_KIND, LIST_OF_VALUES_KIND)),
    ),
)
UNARY_OPERATOR_SPECS: Final[tuple[OperatorSpec, ...]] = (
    OperatorSpec("Exists", ("Exists",), "There is a value", (ANY,)),
    OperatorSpec("DoesNotExist", ("DoesNotExist",), "There is no value", (ANY,)),
    OperatorSpec("IsTrue", ("(Boolean) is True",), "Is the value true itself", ((BOOLEAN_KIND,),)),
    OperatorSpec(
        "IsFalse", ("(Boolean) is False",), "Is the value false itself", ((BOOLEAN_KIND,),)
    ),
    OperatorSpec("IsEmpty", ("(Sequence) is empty",), "Has no elements", (SEQUENCE,)),
    OperatorSpec("IsNotEmpty", ("(Sequence) is not empty",), "Has elements", (SEQUENCE,)),
)
COMPARATOR_TYPES: Final = frozenset(name for spec in COMPARATOR_SPECS for name in spec.types)
UNARY_OPERATOR_TYPES: Final = frozenset(
    name for spec in UNARY_OPERATOR_SPECS for name in spec.types
)
