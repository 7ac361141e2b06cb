from __future__ import annotations

from typing import Any

import pytest
import supervision as sv

from blocks.classical_cv.distance_measurement.v1 import DistanceMeasurementBlockV1
from tests.blocks.detection_sets import some

NAMES = ["car", "person", "card"]
BOXES = [[0, 0, 20, 20], [50, 10, 60, 50], [100, 100, 120, 110]]


def measure(rows: sv.Detections, **changed: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "object_1_class_name": "car",
        "object_2_class_name": "person",
        "reference_axis": "horizontal",
        "calibration_method": "pixel to centimeter",
        "reference_object_class_name": "card",
        "reference_width": 5,
        "reference_height": 2.5,
        "pixel_ratio": 8,
        **changed,
    }
    result: Any = DistanceMeasurementBlockV1().run(rows, **arguments)
    return result


class TestGap:
    def test_pixels_and_centimetres(self) -> None:
        """The gap between the near edges, in whole px and in cm with a fraction."""
        assert measure(some(BOXES, names=NAMES)) == {"distance_cm": 3.75, "distance_pixel": 30}

    def test_either_way_round(self) -> None:
        """The order of the objects does not matter."""
        swapped = {"object_1_class_name": "person", "object_2_class_name": "car"}
        assert measure(some(BOXES, names=NAMES), **swapped)["distance_pixel"] == 30

    @pytest.mark.parametrize("axis", ["horizontal", "vertical"])
    def test_no_gap(self, axis: str) -> None:
        """Objects that share a part of the axis have distance 0."""
        rows = some([[0, 0, 20, 20], [10, 15, 60, 50]], names=NAMES[:2])
        assert measure(rows, reference_axis=axis) == {"distance_cm": 0, "distance_pixel": 0}

    def test_vertical(self) -> None:
        """Along the vertical axis rows of px count."""
        rows = some([[0, 0, 20, 20], [10, 25.4, 60, 50]], names=NAMES[:2])
        result = measure(rows, reference_axis="vertical", pixel_ratio=1)
        assert result["distance_cm"] == pytest.approx(5.4, abs=1e-5)
        assert result["distance_pixel"] == 5

    def test_unknown_axis(self) -> None:
        """An axis that is not known is refused."""
        with pytest.raises(ValueError, match="horizontal or vertical, got 'depth'"):
            measure(some(BOXES, names=NAMES), reference_axis="depth")


class TestScale:
    def test_reference_object(self) -> None:
        """The scale is the mean of those along both sides of the reference object."""
        rows = some(BOXES, names=NAMES)
        result = measure(rows, calibration_method="reference object")
        assert result["distance_cm"] == 30 / ((20 / 5 + 10 / 2.5) / 2)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"pixel_ratio": 0}, "`pixel_ratio` must be positive, got 0"),
            ({"calibration_method": "guess"}, "got 'guess'"),
            (
                {"calibration_method": "reference object", "reference_width": 0},
                "must be positive, got 0.0 and 2.5",
            ),
            (
                {"calibration_method": "reference object", "reference_object_class_name": "x"},
                r"`reference_object_class_name`: 1 detection\(s\) of class 'x' are needed",
            ),
        ],
    )
    def test_bad_values(self, changed: dict[str, Any], message: str) -> None:
        """Values that give no scale are refused."""
        with pytest.raises(ValueError, match=message):
            measure(some(BOXES, names=NAMES), **changed)

    def test_reference_without_extent(self) -> None:
        """A reference object that is a point gives no scale."""
        rows = some([*BOXES[:2], [5, 5, 5, 5]], names=NAMES)
        with pytest.raises(ValueError, match="has no extent"):
            measure(rows, calibration_method="reference object")


class TestObjects:
    def test_missing(self) -> None:
        """A class that was not detected is named, with those that were."""
        with pytest.raises(ValueError, match="of class 'person' are needed, there are 0; .*: car"):  # noqa: RUF043
            measure(some(BOXES[:1], names=["car"]))
        with pytest.raises(ValueError, match="classes detected: none"):
            measure(some([]))

    def test_most_confident(self) -> None:
        """Of several detections of a class the most confident one counts."""
        rows = some(
            [[200, 0, 210, 9], *BOXES[:2]], names=["car", "car", "person"], scores=[0.5, 0.9, 0.8]
        )
        assert measure(rows)["distance_pixel"] == 30

    def test_twice_the_same_class(self) -> None:
        """For twice the same class the two most confident ones count."""
        rows = some(BOXES, names=["car"] * 3, scores=[0.9, 0.1, 0.5])
        assert measure(rows, object_2_class_name="car")["distance_pixel"] == 80
        with pytest.raises(ValueError, match=r"`object_2_class_name`: 2 detection\(s\)"):
            measure(some(BOXES[:1], names=["car"]), object_2_class_name="car")
