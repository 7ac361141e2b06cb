"""`delta_filter@v1` and the comparison of values behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.flow_control.delta_filter.v1 import DeltaFilterBlockV1
from blocks.flow_control.value_equality import same_value
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData

MakeFrame = Callable[..., WorkflowImageData]
NEXT = ["$steps.s"]
NAN = float("nan")


def image(value: int, shape: tuple[int, ...] = (2, 3, 3)) -> WorkflowImageData:
    return WorkflowImageData(ImageParentMetadata("i"), numpy_image=np.full(shape, value, np.uint8))


def detections(x: float) -> sv.Detections:
    return sv.Detections(
        xyxy=np.array([[x, 0, 5, 5]], np.float32),
        class_id=np.array([0]),
        data={"class_name": np.array(["a"])},
    )


class TestRun:
    def test_passes_on_change(self, make_frame: MakeFrame) -> None:
        """The first value and every other one pass."""
        block = DeltaFilterBlockV1()
        values = [0, 0, 2, 2, 1]
        answers = [bool(block.run(make_frame(), v, NEXT).targets()) for v in values]
        assert answers == [True, False, True, False, True]

    def test_videos_are_apart(self, make_frame: MakeFrame) -> None:
        """Each video has its own last value."""
        block = DeltaFilterBlockV1()
        assert block.run(make_frame("a"), 1, NEXT).targets() == NEXT
        assert block.run(make_frame("b"), 1, NEXT).targets() == NEXT
        assert block.run(make_frame("a"), 1, NEXT).targets() == ()

    def test_none_first_is_no_change(self, make_frame: MakeFrame) -> None:
        """None at the beginning does not pass; None after a value does."""
        block = DeltaFilterBlockV1()
        values = [None, 3, None, None]
        answers = [bool(block.run(make_frame(), v, NEXT).targets()) for v in values]
        assert answers == [False, True, True, False]


class TestSameValue:
    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            (1, 1, True),
            (1, 1.0, True),
            (1, 2, False),
            ("a", "a", True),
            (None, None, True),
            (None, 0, False),
            (NAN, float("nan"), True),  # a value that is not there did not change
            (NAN, 1.0, False),
            ([1, [2, "x"]], [1, [2, "x"]], True),
            ([1, 2], [1, 2, 3], False),
            ([1, 2], (1, 2), False),
            ({"a": [1]}, {"a": [1]}, True),
            ({"a": [1]}, {"b": [1]}, False),
            ({"a": np.arange(3)}, {"a": np.arange(3)}, True),
            (np.arange(3), np.arange(3), True),
            (np.arange(3), np.arange(4), False),
            (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
            (np.array(["a", "b"]), np.array(["a", "b"]), True),
            (np.arange(3), [0, 1, 2], False),
            (np.float32(1.5), np.float32(1.5), True),
            (image(1), image(1), True),
            (image(1), image(2), False),
            (image(1), image(1, (3, 2, 3)), False),
            (image(1), 1, False),
            (detections(0), detections(0), True),
            (detections(0), detections(1), False),
            (detections(0), None, False),
            (detections(0), 5, False),
        ],
    )
    def test_table(self, first: Any, second: Any, same: bool) -> None:
        """Values are compared by content, in both directions."""
        assert same_value(first, second) is same
        assert same_value(second, first) is same

    def test_failing_comparison_counts_as_different(self) -> None:
        """A value that cannot be compared has changed, and nothing is raised."""

        class Odd:
            __hash__ = None

            def __eq__(self, other: object) -> bool:
                raise ValueError("no")

        assert same_value(Odd(), Odd()) is False
