"""Points of objects: positions, visibility, names."""

from __future__ import annotations

import numpy as np
import pytest

from inference_models.predictions import KeyPoints, PredictionError


def skeleton(xy: list[list[float]], confidence: list[float]) -> KeyPoints:
    return KeyPoints(
        xy=[xy],
        keypoint_confidence=[confidence],
        visible=[[True] * len(xy)],
        xyxy=[[0, 0, 90, 90]],
        confidence=[0.9],
        class_id=[1],
        image_size=(100, 100),
        class_names=("dog", "person"),
        keypoint_names=(("tail",), ("nose", "eye")),
    )


class TestWithVisibility:
    def test_strictly_above(self) -> None:
        """A point is visible when its confidence is greater than the threshold."""
        points = skeleton([[1, 2], [3, 4], [5, 6]], [0.5, 0.500001, 0.4]).with_visibility(0.5)
        assert points.visible.tolist() == [[False, True, False]]

    def test_missing_points(self) -> None:
        """NaN and exactly (0, 0) mean missing, whatever the confidence; one zero does not."""
        points = skeleton([[np.nan, 2], [0, 0], [0, 6], [5, 0]], [1, 1, 1, 1]).with_visibility(0.3)
        assert points.visible.tolist() == [[False, False, True, True]]


class TestPointNames:
    def test_unused_slots(self) -> None:
        """Slots that the class does not use have no name."""
        points = skeleton([[1, 2], [3, 4], [5, 6]], [1, 1, 1])
        assert points.point_names().tolist() == [["nose", "eye", ""]]

    def test_unknown_class(self) -> None:
        """A class without an entry is an error."""
        points = skeleton([[1, 2]], [1]).replace(class_id=[2])
        with pytest.raises(PredictionError, match="no entry for class 2 of row 0"):
            points.point_names()


def test_low_confidence_joint_is_overwritten_with_zero() -> None:
    """A joint below the threshold keeps its position; only `visible` says that it is unsure.

    Reference: ultralytics/ultralytics#11799.
    """
    points = skeleton([[50, 60], [10, 10]], [0.4, 0.9]).with_visibility(0.5)
    assert points.xy[0, 0].tolist() == [50, 60]
    assert points.keypoint_confidence[0, 0] == np.float32(0.4)
    assert points.visible.tolist() == [[False, True]]
    there = points.to_supervision()
    assert there.xy[0, 0].tolist() == [50, 60]
    assert there.visible.tolist() == [[False, True]]
    in_row = points.to_supervision_detections()
    assert in_row.data["keypoints_xy"][0][0].tolist() == [50, 60]
