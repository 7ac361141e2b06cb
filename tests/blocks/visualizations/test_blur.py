"""`blur_visualization@v1`: what is blurred, and how far."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import supervision as sv
from scipy.ndimage import distance_transform_edt

from blocks.visualizations.blur_visualization.v1 import padded_mask
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.visualizations.scenes import compact_objects, dense_masks, objects, picture, run


class TestBlur:
    @pytest.mark.parametrize("kernel_size", [1, 2, 15, 500])
    def test_boxes(self, kernel_size: int) -> None:
        """Boxes are blurred as supervision does it."""
        expected = sv.BlurAnnotator(kernel_size).annotate(picture(), objects())
        assert (run("blur_v1", objects(), kernel_size=kernel_size) == expected).all()

    @pytest.mark.parametrize("masks", [False, True])
    def test_a_window_that_takes_minutes(self, masks: bool) -> None:
        """It is refused by field at once, unless there is nothing to blur."""
        detections = compact_objects() if masks else objects()
        with pytest.raises(InvalidFieldValueError, match="`kernel_size` asks for a window"):
            run("blur_v1", detections, kernel_size=32767)
        assert (run("blur_v1", detections[:0], kernel_size=32767) == picture()).all()

    def test_padded_boxes(self) -> None:
        """Padding makes boxes larger on all sides."""
        detections = objects()[:1]
        detections.xyxy = np.array([[10, 22, 80, 98]], np.float32)
        expected = run("blur_v1", detections)
        assert (run("blur_v1", objects()[:1], padding=8 + 2) != picture())[21, 40].any()
        detections.xyxy = np.array([[12, 22, 78, 98]], np.float32)
        assert (run("blur_v1", objects()[:1], padding=8) == run("blur_v1", detections)).all()
        assert (expected != picture()).any()

    def test_masks(self) -> None:
        """Nothing outside the masks is blurred."""
        result = run("blur_v1", compact_objects())
        inside = dense_masks().any(axis=0)
        changed = (result != picture()).any(axis=2)
        assert not changed[~inside].any()
        assert changed[inside].mean() > 0.99

    def test_one_mask(self) -> None:
        """What lies under a mask is the mean of its surroundings within the box of the mask."""
        result = run("blur_v1", compact_objects()[:1], kernel_size=5)
        mask = dense_masks()[0]
        rows, columns = np.nonzero(mask)
        window = slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)
        expected = picture()
        expected[window][mask[window]] = cv2.blur(picture()[window], (5, 5))[mask[window]]
        assert (result == expected).all()


class TestPaddedMask:
    @pytest.mark.parametrize("padding", [-30, -4, -1, 0, 1, 3, 200])
    def test_distance(self, padding: int) -> None:
        """Grown by a distance, or shrunk by it: against SciPy's distances on the whole image."""
        mask = dense_masks()[0]
        crop, corner = mask[20:95, 10:80], (10, 20)
        grown, (x, y) = padded_mask(np.ascontiguousarray(crop), corner, padding, mask.shape)
        result = np.zeros(mask.shape, bool)
        result[y : y + grown.shape[0], x : x + grown.shape[1]] = grown
        if padding < 0:
            expected = distance_transform_edt(mask) > -padding
        else:
            expected = distance_transform_edt(~mask) <= padding
        assert (result == expected).all()

    def test_empty(self) -> None:
        """A mask without pixels does not grow."""
        grown, corner = padded_mask(np.zeros((1, 1), bool), (3, 4), 5, (20, 20))
        assert not grown.any()
        assert corner == (3, 4)
