from __future__ import annotations

import enum
import json
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.kinds.json_form import NoJsonFormError, json_form


class Colour(str, enum.Enum):  # noqa: UP042 - its text is not its value, unlike a StrEnum
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Plain(enum.Enum):
    PAIR = (1, 2)


@dataclass
class Segment:
    name: str
    span: tuple[int, int]


class Model(pydantic.BaseModel):
    class_name: str = pydantic.Field(alias="class")
    at: date


Pair = namedtuple("Pair", ["a", "b"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class TestJsonForm:
    @given(JSON)
    def test_json_stays(self, value: Any) -> None:
        """What is JSON already comes back equal."""
        assert json_form(value) == value

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (np.float32(0.5), 0.5),
            (np.int64(7), 7),
            (np.bool_(True), True),
            (np.str_("a"), "a"),
            (np.longdouble(0.5), 0.5),
            (np.datetime64("2026-01-02T03:04:05"), "2026-01-02T03:04:05"),
            (np.array([[1, 2], [3, 4]], np.uint8), [[1, 2], [3, 4]]),
            (np.array([1.5, None, np.float32(2)], object), [1.5, None, 2.0]),
            (np.array(["a", "bc"]), ["a", "bc"]),
            (np.zeros((0, 4)), []),
            (np.array(3), 3),
            ((1, (2, 3)), [1, [2, 3]]),
            (Pair(1, np.int8(2)), [1, 2]),
            (OrderedDict(a=np.int8(1)), {"a": 1}),
            (deque([1, 2]), [1, 2]),
            (range(3), [0, 1, 2]),
            ({3, 1, 2}, [1, 2, 3]),
            (frozenset({"b", "a"}), ["a", "b"]),
            ({1: 0, None: 0, (1, 2): 0, Colour.RED: 0}, {"1": 0, "None": 0, "(1, 2)": 0, "red": 0}),
            (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
            (date(2026, 1, 2), "2026-01-02"),
            (time(3, 4), "03:04:00"),
            (timedelta(minutes=1.5), 90.0),
            (Colour.RED, "red"),
            (Level.HIGH, 3),
            (Plain.PAIR, [1, 2]),
            (b"ab", "YWI="),
            (bytearray(b"ab"), "YWI="),
            (memoryview(b"ab"), "YWI="),
            (PurePosixPath("/a/b"), "/a/b"),
            (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (Decimal("1.5"), 1.5),
            (Segment("a", (1, 2)), {"name": "a", "span": [1, 2]}),
            (Model(**{"class": "a", "at": date(2026, 1, 2)}), {"class": "a", "at": "2026-01-02"}),
        ],
    )  # fmt: skip
    def test_turned(self, value: Any, expected: Any) -> None:
        """Other types become JSON types, also inside containers."""
        for wrapped, wanted in ((value, expected), ({"x": [value]}, {"x": [expected]})):
            result = json_form(wrapped)
            assert result == wanted
            assert json.loads(json.dumps(result)) == wanted

    def test_exact_types(self) -> None:
        """Numbers come as Python's own types, which other encoders than json take too."""
        result = json_form([np.float64(1), np.int32(2), Level.HIGH, np.bool_(False)])
        assert [type(item) for item in result] == [float, int, int, bool]

    def test_place_of_what_has_no_form(self) -> None:
        """A type without a JSON form is named with its place."""
        with pytest.raises(
            NoJsonFormError, match=r"^a value of type object at \.a\[1\]\.b has no JSON form$"
        ):
            json_form({"a": [1, {"b": object()}]})
        with pytest.raises(NoJsonFormError, match=r"^a value of type complex has no JSON form$"):
            json_form(1j)
        with pytest.raises(NoJsonFormError, match="ndarray of complex128"):
            json_form(np.array([1j]))

    def test_container_that_holds_itself(self) -> None:
        """A cycle is an error, not an endless loop."""
        value: list[Any] = []
        value.append(value)
        with pytest.raises(ValueError, match="holds itself"):
            json_form(value)

    def test_input_is_not_changed(self) -> None:
        """Containers are copied, never written to."""
        value = {"a": (1, np.int8(2))}
        json_form(value)
        assert value == {"a": (1, np.int8(2))}
        assert type(value["a"][1]) is np.int8
