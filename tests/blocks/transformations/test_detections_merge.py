from __future__ import annotations

from typing import Any

import pytest
import supervision as sv

from blocks.transformations.detections_merge.v1 import DetectionsMergeBlockV1
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image((60, 90))


def merge(detections: sv.Detections, name: str = "merged_detection") -> sv.Detections:
    result: Any = DetectionsMergeBlockV1().run(detections, name)
    return result["predictions"]


class TestMerge:
    def test_around_all(self) -> None:
        """One box around all, the lowest confidence, class id 0, the given name, a fresh id."""
        rows = some(
            [[30, 20, 50, 40], [5, 25, 40, 59]], IMAGE, names=["b", "c"], scores=[0.5, 0.25]
        )
        result = merge(rows, "group")
        assert result.xyxy.tolist() == [[5, 20, 50, 59]]
        assert result.confidence.tolist() == [0.25]
        assert result.class_id.tolist() == [0]
        assert result.data["class_name"].tolist() == ["group"]
        assert result.data["detection_id"][0] not in ("d0", "d1")
        assert result.data["parent_id"].tolist() == ["image"]

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_boxes_only(self, form: MaskForm) -> None:
        """Masks are not kept, and the prediction is one of boxes."""
        result = merge(some([[30, 20, 50, 40]], IMAGE, form=form))
        assert result.mask is None
        assert "rle_mask" not in result.data
        assert result.data["prediction_type"].tolist() == ["object-detection"]

    def test_no_rows(self) -> None:
        """No detections give none, with the same columns and what is known of the image."""
        empty, full = merge(some([], IMAGE)), merge(some([[0, 0, 5, 5]], IMAGE))
        assert len(empty) == 0
        assert empty.data.keys() == full.data.keys()
        assert empty.metadata["image_dimensions"] == [60, 90]
        assert (empty.confidence.dtype, empty.class_id.dtype) == (
            full.confidence.dtype,
            full.class_id.dtype,
        )

    def test_no_confidence(self) -> None:
        """Without confidences the result has none."""
        rows = some([[0, 0, 5, 5]])
        rows.confidence = None
        assert merge(rows).confidence is None
