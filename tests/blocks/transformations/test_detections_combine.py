from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.detections_combine.v1 import DetectionsCombineBlockV1
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    dense_masks,
    ellipses,
    some,
)

IMAGE = an_image((60, 90))


def combine(first: sv.Detections, second: sv.Detections) -> sv.Detections:
    result: Any = DetectionsCombineBlockV1().run(first, second)
    return result["predictions"]


class TestCombine:
    def test_order(self) -> None:
        """All rows of the first set, then all of the second, as they are."""
        first = some([[0, 0, 5, 5]], IMAGE, ids=["x"])
        second = some([[0, 0, 5, 5], [9, 9, 12, 12]], IMAGE, names=["b", "c"], ids=["y", "z"])
        result = combine(first, second)
        assert result.data["detection_id"].tolist() == ["x", "y", "z"]
        assert result.data["class_name"].tolist() == ["a", "b", "c"]

    @pytest.mark.parametrize("form", WITH_MASKS)
    @pytest.mark.parametrize("other", WITH_MASKS)
    def test_masks(self, form: MaskForm, other: MaskForm) -> None:
        """Masks of any two forms come together without losing a pixel."""
        masks = ellipses(3, 60, 90)
        result = combine(
            some([[0, 0, 5, 5]], IMAGE, masks=masks[:1], form=form),
            some([[0, 0, 5, 5]] * 2, IMAGE, masks=masks[1:], form=other),
        )
        assert np.array_equal(dense_masks(result), masks)

    def test_masks_and_boxes(self) -> None:
        """A set with masks does not go with one without."""
        with pytest.raises(ValueError, match="with masks cannot be joined with detections without"):
            combine(some([[0, 0, 5, 5]], IMAGE, form="rle"), some([[0, 0, 5, 5]], IMAGE))

    def test_no_rows(self) -> None:
        """supervision#943: an empty set adds nothing; two of them keep columns and image."""
        full, empty = some([[0, 0, 5, 5]], IMAGE, form="compact"), some([], IMAGE)
        assert len(combine(empty, full)) == 1
        both = combine(some([], IMAGE), some([], IMAGE))
        assert len(both) == 0
        assert both.metadata["parent_id"] == "image"
        assert both.data.keys() == some([[0, 0, 5, 5]], IMAGE).data.keys()
