from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.analytics.overlap.v1 import OverlapBlockV1
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image((60, 90))
BIKE = [20, 20, 40, 40]


def overlapping(rows: sv.Detections, how: Any = "Center Overlap") -> list[str]:
    result: Any = OverlapBlockV1().run(rows, how, "bike")
    return result["overlaps"].data["detection_id"].tolist()


class TestOverlap:
    @pytest.mark.parametrize(
        ("box", "center", "anything"),
        [
            ([25, 25, 35, 35], True, True),
            ([10, 10, 50, 50], True, True),
            ([35, 20, 45, 40], True, True),
            ([36, 20, 46, 40], False, True),
            ([40, 20, 50, 40], False, False),
            ([30, 30, 30, 30], True, True),
            ([60, 20, 70, 40], False, False),
        ],
    )
    def test_boxes(self, box: list[float], center: bool, anything: bool) -> None:
        """The centre may lie on the edge; any overlap needs an area or the centre."""
        rows = some([BIKE, box], IMAGE, names=["bike", "person"])
        assert overlapping(rows) == (["d1"] if center else [])
        assert overlapping(rows, "Any Overlap") == (["d1"] if anything else [])

    def test_any_of_several(self) -> None:
        """One box of the class is enough; the class itself is left out."""
        boxes = [BIKE, [60, 40, 80, 50], [62, 42, 66, 46], [0, 0, 5, 5]]
        rows = some(boxes, IMAGE, names=["bike", "bike", "person", "dog"])
        for how in ("Center Overlap", "Any Overlap"):
            assert overlapping(rows, how) == ["d2"]

    def test_no_box_of_the_class(self) -> None:
        """Without the class nothing overlaps, and the columns stay."""
        rows = some([BIKE], IMAGE, names=["person"])
        result: Any = OverlapBlockV1().run(rows, "Any Overlap", "bike")
        assert len(result["overlaps"]) == 0
        assert result["overlaps"].metadata["parent_id"] == "image"
        assert overlapping(some([], IMAGE)) == []

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_masks_stay(self, form: MaskForm) -> None:
        """What is kept keeps its mask."""
        rows = some([BIKE, [25, 25, 35, 35]], IMAGE, names=["bike", "person"], form=form)
        result: Any = OverlapBlockV1().run(rows, "Center Overlap", "bike")
        if rows.mask is not None:
            assert np.array_equal(np.asarray(result["overlaps"].mask)[0], np.asarray(rows.mask)[1])

    def test_class_names_are_needed(self) -> None:
        """Detections without class names are refused."""
        rows = some([BIKE])
        del rows.data["class_name"]
        with pytest.raises(ValueError, match="must carry `class_name`"):
            overlapping(rows)

    def test_unknown_type(self) -> None:
        """A type that is not known is refused."""
        with pytest.raises(ValueError, match="got 'Edge'"):
            overlapping(some([BIKE]), "Edge")
