from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from blocks.fusion.overlap_analysis.overlaps import overlap_ratios
from blocks.fusion.overlap_analysis.v1 import OverlapAnalysisBlockV1
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    box_masks,
    ellipses,
    some,
)

IMAGE = an_image((40, 50))
whole = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))
boxes = st.lists(
    whole.map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])), min_size=1, max_size=4
)


def analyse(reference: Any, candidate: Any, least: float = 0.1) -> list[dict[str, Any]]:
    result: Any = OverlapAnalysisBlockV1().run(reference, candidate, least)
    return result["overlaps"]


class TestOverlapRatios:
    @given(boxes, boxes)
    def test_boxes(self, first: Any, second: Any) -> None:
        """Ratios of boxes are those of rectangles as polygons."""
        ratios = overlap_ratios(some(first), some(second))
        for row, one in enumerate(first):
            for column, other in enumerate(second):
                area = shapely.box(*one).intersection(shapely.box(*other)).area
                assert ratios[row, column] == pytest.approx(area / shapely.box(*one).area)

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Ratios of masks are those of their pixels, holes left out."""
        first, second = ellipses(3, 40, 50, 1), ellipses(4, 40, 50, 2)
        first[0, 10:15, 10:15] = False
        ratios = overlap_ratios(
            some([[0, 0, 9, 9]] * 3, IMAGE, masks=first, form=form),
            some([[0, 0, 9, 9]] * 4, IMAGE, masks=second, form="compact"),
        )
        shared = (first[:, None] & second[None]).sum(axis=(2, 3))
        assert np.allclose(ratios, shared / first.sum(axis=(1, 2))[:, None])

    @given(boxes)
    def test_a_mask_and_boxes(self, given_boxes: Any) -> None:
        """A box of whole px meets a mask in the pixels inside it, either way round."""
        masks = ellipses(2, 40, 50, 3)
        masked = some([[0, 0, 9, 9]] * 2, IMAGE, masks=masks, form="compact")
        plain = some(given_boxes, IMAGE)
        inside = box_masks(given_boxes, (40, 50))
        shared = (masks[:, None] & inside[None]).sum(axis=(2, 3))
        assert np.allclose(overlap_ratios(masked, plain), shared / masks.sum(axis=(1, 2))[:, None])
        areas = np.array([(b[2] - b[0]) * (b[3] - b[1]) for b in given_boxes])
        assert np.allclose(overlap_ratios(plain, masked), shared.T / areas[:, None])

    def test_without_area(self) -> None:
        """A reference without an area is covered by nothing."""
        masked = some([[0, 0, 9, 9]], IMAGE, masks=np.zeros((1, 40, 50), bool), form="rle")
        assert overlap_ratios(masked, some([[0, 0, 50, 40]])).tolist() == [[0]]
        assert overlap_ratios(some([[5, 5, 5, 9]]), some([[0, 0, 50, 40]])).tolist() == [[0]]

    def test_different_images(self) -> None:
        """Masks in images of different sizes are refused."""
        other = some([[0, 0, 9, 9]], an_image((41, 50)), form="rle")
        with pytest.raises(ValueError, match=r"\(40, 50\) and \(41, 50\)"):
            overlap_ratios(some([[0, 0, 9, 9]], IMAGE, form="rle"), other)


class TestRecords:
    def test_members(self) -> None:
        """A record names both sides and the share of the reference that is covered."""
        reference = some([[0, 0, 10, 10]], names=["car"], scores=[0.5], ids=["r"])
        candidate = some([[5, 0, 25, 10]], names=["rain"], scores=[0.25], ids=["c"])
        assert analyse(reference, candidate) == [
            {
                "reference_class": "car",
                "reference_confidence": 0.5,
                "reference_detection_id": "r",
                "candidate_class": "rain",
                "candidate_confidence": 0.25,
                "candidate_detection_id": "c",
                "overlap_ratio": 0.5,
            }
        ]
        assert analyse(candidate, reference)[0]["overlap_ratio"] == 0.25

    @pytest.mark.parametrize(("least", "count"), [(0.0, 1), (0.5, 1), (0.51, 0)])
    def test_least_overlap(self, least: float, count: int) -> None:
        """A ratio must reach the minimum; pairs apart are never recorded."""
        reference = some([[0, 0, 10, 10], [30, 30, 40, 40]])
        assert len(analyse(reference, some([[5, 0, 25, 10]]), least)) == count

    def test_what_is_not_known(self) -> None:
        """Missing classes and scores are None, missing ids are left out."""
        bare = some([[0, 0, 10, 10]])
        bare.data.clear()
        bare.confidence = None
        record = analyse(bare, bare)[0]
        assert record.pop("overlap_ratio") == 1
        assert set(record.values()) == {None}
        assert not any("detection_id" in key for key in record)

    def test_plain_values(self) -> None:
        """Records hold Python values that go into JSON."""
        record = analyse(some([[0, 0, 9, 9]]), some([[0, 0, 9, 9]]))[0]
        assert {type(value) for value in record.values()} == {str, float}

    def test_no_rows(self) -> None:
        """Without detections there are no records."""
        assert analyse(some([]), some([[0, 0, 9, 9]])) == []
        assert analyse(some([[0, 0, 9, 9]], IMAGE, form="rle"), some([], IMAGE)) == []

    def test_bad_minimum(self) -> None:
        """A minimum that came through a reference is checked."""
        with pytest.raises(ValueError, match="`min_overlap` must lie in 0 to 1, got 2"):
            analyse(some([]), some([]), 2)
