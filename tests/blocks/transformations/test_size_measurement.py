"""`size_measurement@v1`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.size_measurement.v1 import SizeMeasurementBlockV1
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import WITH_MASKS, MaskForm, an_image, some

IMAGE = an_image((200, 200))


def measure(objects: sv.Detections, reference: Any, dimensions: Any = "5,3") -> Any:
    return SizeMeasurementBlockV1().run(objects, reference, dimensions)["dimensions"]


def sizes(width: float, height: float) -> dict[str, float]:
    return {"width": width, "height": height,
            "longer": max(width, height), "shorter": min(width, height)}  # fmt: skip


def turned(width: float, height: float, degrees: float) -> sv.Detections:
    """All pixels whose centres lie in a rectangle that is turned."""
    y, x = np.mgrid[0:200, 0:200] - 100.3
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    mask = (abs(x * cos + y * sin) <= width / 2) & (abs(y * cos - x * sin) <= height / 2)
    return some([[0, 0, 200, 200]], IMAGE, masks=mask[None], form="dense")


class TestBoxes:
    def test_by_hand(self) -> None:
        """A card of 50 x 30 px that is 5 x 3 makes 100 x 60 px 10 x 6."""
        card = some([[10, 10, 60, 40]])
        packages = some([[0, 0, 100, 60], [20, 20, 45, 80]])
        assert measure(packages, card) == [sizes(10, 6), sizes(2.5, 6)]

    @pytest.mark.parametrize("given", ["5.0, 3.0", " 5,3", [5, 3], (5.0, 3.0), ["5", "3"]])
    def test_forms_of_dimensions(self, given: Any) -> None:
        """Text and pairs."""
        assert measure(some([[0, 0, 10, 10]]), some([[0, 0, 50, 30]]), given) == [sizes(1, 1)]

    def test_most_confident_reference(self) -> None:
        """Of several references the most confident counts, without confidences the first."""
        cards = some([[0, 0, 1, 1], [0, 0, 50, 30]], scores=[0.2, 0.9])
        assert measure(some([[0, 0, 10, 10]]), cards) == [sizes(1, 1)]
        cards.confidence = None
        assert measure(some([[0, 0, 10, 10]]), cards) == [sizes(50, 30)]

    def test_nothing(self) -> None:
        """No reference gives nothing as a whole, no objects an empty list."""
        card, nothing = some([[0, 0, 50, 30]]), some([])
        assert measure(card, nothing) is None
        assert measure(card, some([[5, 5, 5, 30]])) is None
        assert measure(nothing, card) == []

    def test_object_without_extent(self) -> None:
        """It has no size; the others keep their places."""
        objects = some([[0, 0, 50, 30], [9, 9, 9, 9]])
        assert measure(objects, some([[0, 0, 50, 30]])) == [sizes(5, 3), None]


class TestMasks:
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_every_form(self, form: MaskForm) -> None:
        """Masks of boxes measure as the boxes do, whichever way they are carried."""
        rows = some([[10, 10, 60, 40], [0, 0, 100, 60], [7, 9, 8, 10]], IMAGE, form=form)
        got = measure(rows, rows)
        assert got == [pytest.approx(sizes(5, 3)), pytest.approx(sizes(10, 6)),
                       pytest.approx(sizes(0.1, 0.1))]  # fmt: skip

    @pytest.mark.parametrize("degrees", [0, 5, 20, 44, 46, 90, 134, 160])
    def test_turned(self, degrees: float) -> None:
        """A turned object is measured along its sides; the width is the side nearer to the
        horizontal.
        """
        flat = min(degrees % 180, 180 - degrees % 180) <= 45
        (got,) = measure(turned(100, 40, degrees), some([[0, 0, 1, 1]]), [1, 1])
        assert got["longer"] == pytest.approx(100, abs=0.6)
        assert got["shorter"] == pytest.approx(40, abs=0.6)
        assert got["width"] == (got["longer"] if flat else got["shorter"])

    def test_diagonal_line(self) -> None:
        """A line of single pixels is 1 px thick."""
        rows = some([[0, 0, 50, 50]], IMAGE, masks=np.eye(200, dtype=bool)[None], form="dense")
        (got,) = measure(rows, some([[0, 0, 1, 1]]), [1, 1])
        assert got["shorter"] == 1
        assert got["longer"] == pytest.approx(199 * math.sqrt(2), abs=0.01)

    def test_largest_part(self) -> None:
        """Of a mask in parts the largest counts."""
        mask = np.zeros((1, 200, 200), bool)
        mask[0, 10:40, 10:60] = True
        mask[0, 150:155, 150:155] = True
        rows = some([[10, 10, 155, 155]], IMAGE, masks=mask, form="dense")
        assert measure(rows, some([[0, 0, 50, 30]])) == [pytest.approx(sizes(5, 3))]

    def test_empty_mask(self) -> None:
        """A mask without pixels has no size, and is no reference."""
        mask = np.zeros((1, 200, 200), bool)
        rows = some([[10, 10, 60, 40]], IMAGE, masks=mask, form="dense")
        assert measure(rows, some([[0, 0, 50, 30]])) == [None]
        assert measure(some([[0, 0, 50, 30]]), rows) is None


class TestPolygon:
    def test_by_hand(self) -> None:
        """A polygon is a reference; its sides count, not its box."""
        side = math.sqrt(50**2 + 50**2)
        diamond = [[50, 0], [100, 50], [50, 100], [0, 50]]
        (got,) = measure(some([[0, 0, side, side]]), diamond, [1, 1])
        assert got == pytest.approx(sizes(1, 1), rel=1e-5)
        assert measure(some([[0, 0, 10, 10]]), [[0, 0], [50, 0], [50, 30], [0, 30]]) == [
            pytest.approx(sizes(1, 1))
        ]

    @pytest.mark.parametrize("points", [[], [[1, 1]], [[1, 1], [1, 9]], [[1, 1], [1, 5], [1, 9]]])
    def test_no_area(self, points: Any) -> None:
        """What encloses nothing is no reference."""
        assert measure(some([[0, 0, 1, 1]]), points) is None

    @pytest.mark.parametrize("points", [["a"], [[1, 2, 3]], [[1, None]], [[1, 10**400]], [1, 2]])
    def test_refused(self, points: Any) -> None:
        """What is no polygon is refused."""
        with pytest.raises(InvalidFieldValueError, match="`reference_predictions` must be"):
            measure(some([[0, 0, 1, 1]]), points)


class TestDimensions:
    @pytest.mark.parametrize(
        "given",
        ["invalid", "5", "5,x", "5,3,1", [5], [5, 0], [-5, 3], "nan,3", "inf,3", [5, 10**400],
         [5, None], 5, None, {"width": 5}],
    )  # fmt: skip
    def test_refused(self, given: Any) -> None:
        """What is no positive width and height is refused with what it is."""
        with pytest.raises(InvalidFieldValueError, match=r"`reference_dimensions` must be .* got"):
            measure(some([[0, 0, 1, 1]]), some([[0, 0, 1, 1]]), given)
