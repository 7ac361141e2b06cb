"""Raw outputs to skeletons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.errors import CorruptedModelPackageError
from inference_models.families import PostProcessor, family_of

# The same three objects in the raw format of each family: a dog at 10..30, a fox at 40..60 and a
# cat of which nobody is sure.
BOXES = np.array([[10, 10, 30, 30], [40, 20, 60, 50], [0, 0, 9, 9]], np.float32)
SCORES = np.array([[0, 0.9, 0.1], [0.1, 0.2, 0.8], [0.2, 0.1, 0]], np.float32)
CENTRES = np.concatenate([(BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]], axis=1)
ROWS = np.concatenate([BOXES, SCORES.max(1)[:, None], SCORES.argmax(1)[:, None]], axis=1)
LOGITS = np.log(np.clip(SCORES, 1e-6, 1) / (1 - np.clip(SCORES, 1e-6, 1 - 1e-6)))
OBJECTNESS = np.full((3, 1), 0.5, np.float32)


class TestKeypointDetection:
    """Points beside the boxes."""

    KEYPOINTS = [
        {"object_class_id": 0, "keypoints": {"0": "nose", "1": "tail"}},
        {"object_class_id": 1, "keypoints": {"0": "nose"}},
    ]
    POINTS = np.array([[[12, 14, 0.9], [28, 28, 0.4]], [[41, 21, 0.8], [1, 1, 0.9]], [[0] * 3] * 2])

    @pytest.mark.parametrize("end_to_end", [False, True])
    def test_a_point_keeps_its_place_whatever_its_confidence(
        self, make_package: Any, post_process: Any, end_to_end: bool
    ) -> None:
        """A doubtful point is not moved to (0, 0); whether it is seen is a column of its own
        (ultralytics/ultralytics#11799)."""
        architecture = "yolo26" if end_to_end else "yolov8"
        package = make_package(
            architecture, "keypoint-detection", keypoints_metadata=self.KEYPOINTS
        )
        points = self.POINTS.reshape(3, -1)
        raw = np.concatenate([ROWS, points], 1)
        if not end_to_end:
            raw = np.concatenate([CENTRES, SCORES, points], 1).T
        found = post_process(package, {"a": raw}, size=(128, 64), keypoint_confidence=0.5)
        np.testing.assert_allclose(found.xy[0], [[12, 28], [28, 56]], atol=1e-4)
        np.testing.assert_allclose(found.keypoint_confidence[0], [0.9, 0.4], atol=1e-6)
        # The dog has one named point, the fox none: slots a class does not use are never seen.
        assert found.visible.tolist() == [[True, False], [False, False]]
        assert found.keypoint_names == (("nose", "tail"), ("nose",), ())

    def test_points_must_be_described(self, make_package: Any) -> None:
        """A keypoint model without a description of its points does not load."""
        package = make_package("yolov8", "keypoint-detection")
        with pytest.raises(CorruptedModelPackageError, match="needs keypoints_metadata"):
            PostProcessor(family_of(package), package)
