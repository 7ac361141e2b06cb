"""From rows of rotated boxes to predictions. Needs no torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from inference_models.errors import ModelRuntimeError
from inference_models.families.native.decoding.rotated_boxes import rotated_corners
from inference_models.families.native.oriented import oriented_detections
from inference_models.families.request import ClassTable, Request
from inference_models.packages import NetworkInput
from inference_models.preprocessing import ImageTransform, plan_transform


def _request(**changes: Any) -> Request:
    values: dict[str, Any] = {
        "thresholds": np.full(3, 0.4, np.float32),
        "iou_threshold": 0.3,
        "max_detections": 300,
        "max_candidates": 3000,
        "class_agnostic_nms": False,
        "wanted": None,
        "masks_resolution_factor": 1.0,
        "keypoint_confidence": 0.0,
    }
    return Request(**(values | changes))


def _transform(size: tuple[int, int] = (100, 200)) -> ImageTransform:
    network = {"training_input_size": {"height": 64, "width": 64}, "resize_mode": "letterbox"}
    return plan_transform(size, NetworkInput.model_validate(network))


CLASSES = ClassTable(("ship", "plane", "car"))
ROWS = np.array(
    [
        [32, 32, 20, 8, 0.5, 0.7, 1],
        [20, 30, 10, 4, -0.2, 0.9, 0],
        [40, 30, 10, 4, 0.0, 0.3, 2],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    dtype=np.float32,
)


class TestOrientedDetections:
    """`oriented_detections`."""

    def test_placed_on_the_image(self) -> None:
        """Corners are mapped back through the letterbox; rows come by falling score."""
        found = oriented_detections(ROWS, _transform(), _request(), CLASSES)
        assert found.confidence.tolist() == pytest.approx([0.9, 0.7])
        assert found.class_id.tolist() == [0, 1]
        assert found.image_size == (100, 200)
        scale = 200 / 64
        expected = (rotated_corners(ROWS[[1, 0], :5]) - (0, 16)) * scale
        np.testing.assert_allclose(found.corners, expected, rtol=1e-5)
        x, y, width, height, angle = found.xywhr[1]
        assert (x, y) == pytest.approx((100, 50), rel=1e-5)
        assert (width, height, angle) == pytest.approx((20 * scale, 8 * scale, 0.5), rel=1e-5)

    def test_filter_threshold_and_limit(self) -> None:
        """Thresholds are exclusive and by class, the filter comes before the limit."""
        low = _request(thresholds=np.array([0.95, 0.7, 0.2], np.float32))
        found = oriented_detections(ROWS, _transform(), low, CLASSES)
        assert found.class_id.tolist() == [2]
        wanted = np.array([False, True, False])
        found = oriented_detections(
            ROWS, _transform(), _request(wanted=wanted, max_detections=1), CLASSES
        )
        assert found.class_id.tolist() == [1]

    def test_removed_class(self) -> None:
        """A class of the network that is none of the model gives no result."""
        classes = ClassTable(("ship", "plane", "car"), frozenset({"ship"}))
        found = oriented_detections(ROWS, _transform(), _request(), classes)
        assert found.class_id.tolist() == [0]
        assert found.class_names == ("plane", "car")

    def test_outside_of_the_image(self) -> None:
        """A box in the padding alone goes, one that reaches into the image stays uncut."""
        rows = ROWS[:1].repeat(2, axis=0)
        rows[0, :5] = [32, 4, 20, 4, 0.0]
        rows[1, :5] = [32, 15, 20, 6, 0.0]
        found = oriented_detections(rows, _transform(), _request(), CLASSES)
        assert len(found) == 1
        assert found.corners[0, :, 1].min() < 0

    @pytest.mark.parametrize("rows", [np.zeros((0, 7), np.float32), ROWS[3:], ROWS[2:3]])
    def test_nothing(self, rows: np.ndarray) -> None:
        """No result has the columns of some."""
        found = oriented_detections(rows, _transform(), _request(), CLASSES)
        assert len(found) == 0
        assert found.corners.shape == (0, 4, 2)
        assert found.class_names == CLASSES.names

    def test_not_a_number(self) -> None:
        """Rows that are not numbers are dropped."""
        rows = ROWS[:2].copy()
        rows[1, 4] = math.nan
        found = oriented_detections(rows, _transform(), _request(), CLASSES)
        assert found.class_id.tolist() == [1]

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (ROWS[:, :6], r"must have 7 numbers, got \[4, 6\]"),
            (ROWS + np.array([0, 0, 0, 0, 0, 0, 5]), r"has the class 7, the network has 3 classes"),
        ],
    )
    def test_refuses(self, rows: np.ndarray, message: str) -> None:
        """Rows of another kind are named."""
        with pytest.raises(ModelRuntimeError, match=message):
            oriented_detections(rows.astype(np.float32), _transform(), _request(), CLASSES)
