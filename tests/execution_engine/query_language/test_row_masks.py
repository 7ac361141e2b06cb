"""A filter over columns keeps exactly what the row interpreter keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from execution_engine.errors import (
    EvaluationEngineError,
    OperationError,
    RoboflowQueryLanguageError,
    UndeclaredSymbolError,
)
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import StatementGroup
from execution_engine.query_language.compiler import Nested
from execution_engine.query_language.operations_catalogue import DETECTIONS_PROPERTIES
from execution_engine.query_language.row_masks import RowMask
from execution_engine.query_language.rows import DetectionRows
from execution_engine.query_language.site import ROOT

same_codecs = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None
)


def one(name: str, *operations: dict[str, Any]) -> dict[str, Any]:
    """The property of the detection at hand as an operand."""
    extract = {"type": "ExtractDetectionProperty", "property_name": name}
    return {"type": "DynamicOperand", "operations": [extract, *operations]}


def static(value: Any) -> dict[str, Any]:
    return {"type": "StaticOperand", "value": value}


def named(name: str) -> dict[str, Any]:
    return {"type": "DynamicOperand", "operand_name": name}


def binary(left: Any, comparator: str, right: Any, negate: bool = False) -> dict[str, Any]:
    return {
        "type": "BinaryStatement",
        "left_operand": left,
        "comparator": {"type": comparator},
        "right_operand": right,
        "negate": negate,
    }


def unary(operand: Any, operator: str, negate: bool = False) -> dict[str, Any]:
    return {
        "type": "UnaryStatement",
        "operand": operand,
        "operator": {"type": operator},
        "negate": negate,
    }


def group(*statements: Any, operator: str = "and") -> dict[str, Any]:
    return {"type": "StatementGroup", "statements": list(statements), "operator": operator}


def mask_of(codecs: CodecRegistry, statement: dict[str, Any]) -> RowMask:
    return Nested(codecs).row_mask(StatementGroup.parse(statement), ROOT)


def outcome(evaluate: Callable[[], np.ndarray]) -> Any:
    """The mask as a list, or class, message and context of the error."""
    try:
        return evaluate().tolist()
    except RoboflowQueryLanguageError as error:
        return type(error).__name__, error.public_message, error.context


texts = st.sampled_from(["cat", "dog", "CAT", "", "a\0", "bird"])
small = st.integers(-3, 6)
numbers = st.one_of(
    small,
    st.floats(-3, 6, width=32),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
    st.sampled_from([2**53 + 1, 2**70, -(2**63), 0.1, 0.7, 1e308]),
)
points = st.lists(st.integers(0, 10), min_size=2, max_size=2)
statics = st.one_of(
    numbers,
    texts,
    st.none(),
    st.lists(numbers, max_size=3),
    st.lists(texts, max_size=3),
    st.lists(points, min_size=3, max_size=5),
)
operations = st.lists(
    st.sampled_from(
        [
            {"type": "ToString"},
            {"type": "StringToUpperCase"},
            {"type": "NumberRound", "decimal_digits": 1},
            {"type": "Multiply", "other": 2},
            {"type": "ToBoolean"},
            {"type": "SequenceLength"},
            {"type": "SequenceApply", "operations": [{"type": "ToString"}]},
        ]
    ),
    max_size=2,
)
any_operand = st.one_of(
    st.builds(
        lambda name, chain: one(name, *chain), st.sampled_from(DETECTIONS_PROPERTIES), operations
    ),
    st.builds(static, statics),
    st.sampled_from([named("limit"), named("words"), named("missing"), named("_")]),
)
ORDERINGS = ("==", "(Number) ==", "!=", "(Number) !=", "(Number) >", "(Number) >=", "(Number) <",
             "(Number) <=")  # fmt: skip
any_comparator = st.sampled_from(
    [*ORDERINGS, "(Number) in range", "(String) startsWith", "(String) contains",
     "in (Sequence)", "any in (Sequence)", "all in (Sequence)", "(Detection) in zone"]
)  # fmt: skip
any_operator = st.sampled_from(
    ["Exists", "DoesNotExist", "(Boolean) is True", "(Boolean) is False", "(Sequence) is empty"]
)
any_statement = st.one_of(
    st.builds(binary, any_operand, any_comparator, any_operand, st.booleans()),
    st.builds(unary, any_operand, any_operator, st.booleans()),
)

# Statements whose operands fit their comparators, with limits close to what the columns hold.
number_property = st.builds(
    one,
    st.sampled_from(
        [
            "confidence",
            "class_id",
            "x_min",
            "y_max",
            "size",
            "tracker_id",
            "speed",
            "area_px",
            "in_out",
        ]
    ),
)
text_property = st.builds(one, st.sampled_from(["class_name", "prediction_type"]))
close_number = st.one_of(
    small, st.integers(-6, 18).map(lambda n: n / 2), st.sampled_from([0.1, 0.7, True, 2**62])
)
close_zone = st.lists(
    st.tuples(st.integers(-2, 9), st.integers(-2, 9)).map(list), min_size=3, max_size=5
)
fitting_statement = st.one_of(
    st.builds(
        binary,
        number_property,
        st.sampled_from(ORDERINGS),
        st.one_of(st.builds(static, close_number), number_property),
        st.booleans(),
    ),
    st.builds(binary, st.builds(static, close_number), st.sampled_from(ORDERINGS), number_property),
    st.builds(
        binary,
        number_property,
        st.just("(Number) in range"),
        st.builds(static, st.lists(close_number, min_size=2, max_size=2).map(sorted)),
    ),
    st.builds(
        binary,
        text_property,
        st.sampled_from(["==", "!=", "(String) startsWith", "(String) contains"]),
        st.builds(static, texts),
        st.booleans(),
    ),
    st.builds(
        binary,
        st.one_of(text_property, number_property),
        st.just("in (Sequence)"),
        st.builds(static, st.lists(st.one_of(texts, small), max_size=4)),
        st.booleans(),
    ),
    st.builds(
        binary,
        st.builds(one, st.sampled_from(["center", "top_left", "bottom_right", "velocity"])),
        st.just("(Detection) in zone"),
        st.builds(static, close_zone),
        st.booleans(),
    ),
    st.builds(
        unary,
        st.builds(one, st.sampled_from(["time_in_zone", "in_out", "confidence", "rect"])),
        st.sampled_from(["Exists", "DoesNotExist", "(Boolean) is True"]),
        st.booleans(),
    ),
)


def groups_of(statement: Any) -> Any:
    """Statements of the given ones, nested or not."""
    return st.recursive(
        statement,
        lambda inner: st.builds(
            lambda parts, operator: group(*parts, operator=operator),
            st.lists(inner, min_size=1, max_size=3),
            st.sampled_from(["and", "or"]),
        ),
        max_leaves=4,
    )


@st.composite
def detections_columns(draw: Any) -> dict[str, Any]:
    """Boxes and columns of all the types that a codec may give, some left out."""
    count = draw(st.integers(1, 6))

    def many(values: Any) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    sides = many(st.tuples(st.integers(0, 9), st.integers(0, 9)))
    corners = many(st.tuples(small, small))
    boxes = [[x, y, x + w, y + h] for (x, y), (w, h) in zip(corners, sides, strict=True)]
    given_columns: dict[str, Any] = {
        "boxes": boxes,
        "names": many(texts),
        "confidence": np.array(many(st.integers(0, 10)), dtype=np.float32) / np.float32(10),
        "class_id": np.array(many(small), dtype=draw(st.sampled_from([np.int64, np.int32]))),
    }
    optional = {
        "tracker_id": np.array(many(st.integers(0, 9)), dtype=np.uint8),
        "speed": np.array(many(st.floats(0, 9, width=16) | st.just(np.nan)), dtype=np.float16),
        "time_in_zone": many(st.one_of(st.none(), st.floats(0, 9))),
        "velocity": np.array(many(points), dtype=np.float32).reshape(count, 2),
        "prediction_type": np.array(many(texts), dtype=object),
        "in_out": np.array(many(st.booleans()), dtype=bool),
        "area_px": np.array(many(small | st.sampled_from([2**62, 2**62 + 1])), dtype=np.int64),
        "area_converted": np.array(many(st.integers(0, 2**64 - 1)), dtype=np.uint64),
        "polygon": [np.array([[0, 0], [4, 0], [4, 4]]) for _ in range(count)],
    }
    for name, column in optional.items():
        if draw(st.integers(0, 4)):
            given_columns[name] = column
    if draw(st.integers(0, 19)) == 0:
        given_columns["confidence"] = None
    return given_columns


def assert_same(codecs: CodecRegistry, detections: Any, statement: dict[str, Any]) -> None:
    """The statement gives one mask, or one error, by columns and by rows."""
    codec = codecs.for_value(detections)
    assert codec is not None
    mask = mask_of(codecs, group(statement))
    parameters = {"limit": 0.5, "words": ["cat", "dog"]}
    assert outcome(lambda: mask(DetectionRows(codec, detections), parameters)) == outcome(
        lambda: mask.by_rows(DetectionRows(codec, detections), parameters)
    )


class TestAgainstRows:
    @same_codecs
    @given(statement=groups_of(fitting_statement), columns=detections_columns())
    def test_fitting_statements(
        self,
        codecs: CodecRegistry,
        toy: Callable[..., Any],
        statement: dict[str, Any],
        columns: dict[str, Any],
    ) -> None:
        """Statements with fitting operands keep the rows that the row interpreter keeps."""
        assert_same(codecs, toy(columns.pop("boxes"), **columns), statement)

    @same_codecs
    @given(statement=groups_of(any_statement), columns=detections_columns())
    def test_any_statements(
        self,
        codecs: CodecRegistry,
        toy: Callable[..., Any],
        statement: dict[str, Any],
        columns: dict[str, Any],
    ) -> None:
        """Any statement over any columns gives the mask, or the error, of the row interpreter."""
        assert_same(codecs, toy(columns.pop("boxes"), **columns), statement)

    @pytest.mark.parametrize(
        ("statement", "expected"),
        [
            (binary(one("confidence"), "(Number) >", static(0.75)), [True, True, False]),
            (binary(static(0.75), "(Number) >", one("confidence")), [False, False, True]),
            (
                binary(one("confidence"), "(Number) in range", static([0.65, 0.85])),
                [False, True, True],
            ),
            (binary(one("class_name"), "==", static("dog")), [False, True, False]),
            (binary(one("class_name"), "!=", static("dog")), [True, False, True]),
            (binary(one("class_name"), "in (Sequence)", named("words")), [True, True, False]),
            (binary(one("class_name"), "in (Sequence)", static("a dog")), [False, True, False]),
            (binary(one("top_left"), "in (Sequence)", static([[20, 0]])), [False, True, False]),
            (binary(one("class_id"), "(Number) >=", static(1)), [False, True, True]),
            (binary(one("class_id"), "==", static(1.0)), [False, True, False]),
            (binary(one("class_id"), "(Number) <", static(1.5)), [True, True, False]),
            (binary(one("class_id"), "(Number) <", static(2**70)), [True, True, True]),
            (binary(one("x_min"), "(Number) <", one("y_min")), [False, False, True]),
            (binary(one("class_id"), "(Number) <", one("x_min")), [False, True, True]),
            (
                binary(
                    one("center"),
                    "(Detection) in zone",
                    static([[0, 0], [25, 0], [25, 25], [0, 25]]),
                ),
                [True, False, False],
            ),
            (binary(one("tracker_id"), "==", static(7)), [False, True, False]),
            (unary(one("tracker_id"), "Exists"), [True, True, True]),
            (unary(one("time_in_zone"), "Exists"), [False, False, False]),
            (unary(one("class_name"), "Exists", negate=True), [False, False, False]),
            (unary(static(1), "Exists"), [True, True, True]),
            (binary(static(1), "==", static(1), negate=True), [False, False, False]),
            (
                binary(one("class_name", {"type": "StringToUpperCase"}), "==", static("CAT")),
                [True, False, False],
            ),
            (
                group(
                    binary(one("class_name"), "==", static("cat")),
                    binary(one("confidence"), "(Number) <", static(0.75)),
                    operator="or",
                ),
                [True, False, True],
            ),
        ],
    )
    def test_examples(
        self,
        codecs: CodecRegistry,
        toy: Callable[..., Any],
        statement: dict[str, Any],
        expected: list[bool],
    ) -> None:
        """Statements keep the rows a reader expects, by columns and by rows."""
        detections = toy(
            [[0, 0, 20, 20], [20, 0, 30, 20], [30, 40, 50, 60]],
            ["cat", "dog", "bird"],
            tracker_id=np.array([5, 7, 9]),
        )
        codec = codecs.for_value(detections)
        assert codec is not None
        mask = mask_of(codecs, group(statement))
        parameters = {"words": ["cat", "dog"]}
        assert mask(DetectionRows(codec, detections), parameters).tolist() == expected
        assert mask.by_rows(DetectionRows(codec, detections), parameters).tolist() == expected


class TestExactness:
    """Where NumPy and Python compare differently, the filter does as Python does."""

    @pytest.mark.parametrize(
        ("column", "constant"),
        [
            (np.array([0.1, 0.7], dtype=np.float32), 0.1),
            (np.array([0.1, 0.7], dtype=np.float32), 0.7),
            (np.array([2.0**53, 2.0**53 + 2]), 2**53 + 1),
            (np.array([1e308, 0.0]), 2**2000),
            (np.array([2**62, 2**62 + 1]), 2.0**62),
            (np.array([2**53, 2**53 + 1]), 2.0**53 + 0.0),
            (np.array([0, 3]), 2.5),
            (np.array([0, 3]), float("nan")),
            (np.array([-(2**63), 2**63 - 1]), 2**63),
            (np.array([0, 2**64 - 1], dtype=np.uint64), -1),
            (np.array([2**63, 2**63 + 1], dtype=np.uint64), 2.0**63),
            (np.array([1, 2], dtype=np.longdouble) / 10, 0.1),
            (np.array([2**24, 0], dtype=np.float32), 2**24 + 1),
            (np.array(["a", "b"]), "a\0"),
            (np.array([True, False]), 1),
            (np.array([1, 0]), True),
            (np.array([1, 0]), "1"),
            (np.array(["1", "b"]), 1),
        ],
    )
    def test_against_python(
        self, codecs: CodecRegistry, toy: Callable[..., Any], column: np.ndarray, constant: Any
    ) -> None:
        """Each ordering gives what it gives for the column's plain values, either way round."""
        detections = toy([[0, 0, 1, 1]] * 2, speed=column)
        for name in ORDERINGS:
            assert_same(codecs, detections, binary(one("speed"), name, static(constant)))
            assert_same(codecs, detections, binary(static(constant), name, one("speed")))

    def test_two_columns(self, codecs: CodecRegistry, toy: Callable[..., Any]) -> None:
        """Whole numbers too large for a float are not rounded to compare them with one."""
        detections = toy([[0, 0, 1, 1]], speed=np.array([2.0**53]), area_px=np.array([2**53 + 1]))
        for name in ORDERINGS:
            assert_same(codecs, detections, binary(one("speed"), name, one("area_px")))


class TestColumnsAreUsed:
    def test_columns_are_read_once(
        self, codecs: CodecRegistry, toy: Callable[..., Any], toy_codec: Any
    ) -> None:
        """A filter reads each column once, however many rows and statements there are."""
        detections = toy([[0, 0, 1, 1]] * 50)
        mask = mask_of(
            codecs,
            group(
                binary(one("confidence"), "(Number) >", static(0.2)),
                binary(one("confidence"), "(Number) <", static(0.8)),
                binary(one("class_name"), "==", static("cat")),
            ),
        )
        mask(DetectionRows(toy_codec, detections), {})
        assert sorted(toy_codec.reads) == ["class_name", "confidence"]

    def test_constants_are_evaluated_once(
        self, codecs: CodecRegistry, toy: Callable[..., Any], toy_codec: Any
    ) -> None:
        """An operand that is the same for all rows goes through its operations once."""

        class Counted(str):
            calls = 0

            def lower(self) -> str:
                Counted.calls += 1
                return str.lower(self)

        limit = {**named("word"), "operations": [{"type": "StringToLowerCase"}]}
        mask = mask_of(codecs, group(binary(one("class_name"), "==", limit)))
        rows = DetectionRows(toy_codec, toy([[0, 0, 1, 1]] * 5))
        assert mask(rows, {"word": Counted("CAT")}).all()
        assert Counted.calls == 1

    def test_random_operands_are_drawn_for_every_row(
        self, codecs: CodecRegistry, toy: Callable[..., Any], toy_codec: Any
    ) -> None:
        """A random number on the right is another one in every row."""
        drawn = {"type": "StaticOperand", "value": 0, "operations": [{"type": "RandomNumber"}]}
        half = {
            "type": "DynamicOperand",
            "operations": [
                {"type": "ExtractDetectionProperty", "property_name": "confidence"},
                {"type": "RandomNumber"},
            ],
        }
        rows = DetectionRows(toy_codec, toy([[0, 0, 1, 1]] * 64, confidence=np.full(64, 0.5)))
        for statement in (
            binary(one("confidence"), "(Number) >", drawn),
            binary(half, "(Number) >", static(0.5)),
        ):
            kept = mask_of(codecs, group(statement))(rows, {})
            assert kept.any()
            assert not kept.all()

    def test_one_row_bound_statement_leaves_the_others_in_columns(
        self, codecs: CodecRegistry, toy: Callable[..., Any], toy_codec: Any
    ) -> None:
        """A group mixes statements over columns and statements over rows."""
        mask = mask_of(
            codecs,
            group(binary(one("class_id"), "(Number) >", static(0)), unary(named("_"), "Exists")),
        )
        rows = DetectionRows(toy_codec, toy([[0, 0, 1, 1]] * 3))
        assert mask(rows, {}).tolist() == [False, True, True]


class TestFailures:
    def test_place_of_a_failing_statement(
        self, run: Callable[..., Any], toy: Callable[..., Any]
    ) -> None:
        """A comparison that fails on a detection names its place in the filter."""
        condition = group(
            binary(one("class_name"), "==", static("cat")),
            binary(one("class_name"), "(Number) >", static(3)),
        )
        with pytest.raises(EvaluationEngineError) as caught:
            run(toy([[0, 0, 1, 1]]), {"type": "DetectionsFilter", "filter_operation": condition})
        place = "<root>.operations[0].filter_operation.statements[1]"
        assert caught.value.context.endswith(f" | {place}")

    def test_missing_core_property(self, run: Callable[..., Any], toy: Callable[..., Any]) -> None:
        """A property of all detections cannot be missing; with no rows nobody asks for it."""
        condition = group(binary(one("confidence"), "(Number) >", static(0.5)))
        operation = {"type": "DetectionsFilter", "filter_operation": condition}
        with pytest.raises(OperationError, match="the detections have no property 'confidence'"):
            run(toy([[0, 0, 1, 1]], confidence=None), operation)
        empty = toy([], confidence=None)
        assert run(empty, operation) is empty

    def test_undeclared_parameter(self, run: Callable[..., Any], toy: Callable[..., Any]) -> None:
        """A statement that names a parameter nobody gave says so."""
        condition = group(binary(one("confidence"), "(Number) >", named("limit")))
        operation = {"type": "DetectionsFilter", "filter_operation": condition}
        with pytest.raises(UndeclaredSymbolError, match="Parameter 'limit' is used at"):
            run(toy([[0, 0, 1, 1]]), operation)
        kept = run(toy([[0, 0, 1, 1]]), operation, parameters={"limit": 0.5})
        assert len(kept.xyxy) == 1

    def test_row_is_no_value(self, run: Callable[..., Any], toy: Callable[..., Any]) -> None:
        """A detection itself cannot be compared with a zone; the error says what to do."""
        condition = group(
            binary(named("_"), "(Detection) in zone", static([[0, 0], [1, 0], [0, 1]]))
        )
        with pytest.raises(EvaluationEngineError, match="take one of a detection with"):
            run(toy([[0, 0, 1, 1]]), {"type": "DetectionsFilter", "filter_operation": condition})
