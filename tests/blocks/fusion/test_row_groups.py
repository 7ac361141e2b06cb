from __future__ import annotations

import numpy as np
import pytest

from blocks.fusion.row_groups import joined_groups
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

BOXES = [[0, 0, 4, 4], [10, 10, 20, 20], [2, 2, 8, 6]]


class TestJoinedGroups:
    def test_boxes_and_columns(self) -> None:
        """A group has the box around its members and the columns of its first row."""
        rows = some(BOXES, an_image(), names=["a", "b", "c"])
        result = joined_groups(rows, [[2, 0], [1]], np.array([0.5, 0.6]))
        assert result.xyxy.tolist() == [[0, 0, 8, 6], [10, 10, 20, 20]]
        assert result.data["class_name"].tolist() == ["c", "b"]
        assert result.confidence.tolist() == [0.5, 0.6]

    def test_ids(self) -> None:
        """Rows that stay alone keep their id, joined ones get a fresh one."""
        ids = joined_groups(some(BOXES), [[2, 0], [1]], None).data["detection_id"].tolist()
        assert ids[1] == "d1"
        assert ids[0] not in ("d0", "d2")
        assert len(ids[0]) == 36

    def test_nothing_to_join(self) -> None:
        """Groups of one are the rows as they are, confidences too."""
        rows = some(BOXES, an_image())
        assert joined_groups(rows, [[0], [1], [2]], np.zeros(3)) == rows

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Masks of a group are united, in the forms the rows have."""
        masks = ellipses(3, 60, 90)
        rows = some(BOXES, an_image(), masks=masks, form=form)
        result = joined_groups(rows, [[2, 0], [1]], None)
        expected = [masks[0] | masks[2], masks[1]]
        assert np.array_equal(dense_masks(result), expected)
        assert ("rle_mask" in result.data) == (form in ("rle", "both"))
        if "rle_mask" in result.data:
            assert np.array_equal(rle_masks(result), expected)

    def test_outlines(self) -> None:
        """The outline of one member is none of the union, measures of a rectangle go."""
        outlines = np.empty(3, dtype=object)
        outlines[:] = [np.zeros((3, 2))] * 3
        rows = some(BOXES, polygon=outlines, rect=outlines, angle=np.zeros(3))
        data = joined_groups(rows, [[2, 0], [1]], None).data
        assert data["polygon"][0] is None
        assert data["polygon"][1] is outlines[1]
        assert not {"rect", "angle"} & data.keys()

    def test_oriented_boxes(self) -> None:
        """An oriented box in the direction of the first one holds the corners of all."""
        unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float64)
        turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
        corners = np.stack([unit * [8, 2] @ turn, unit * [4, 4] @ turn + [3, 9], unit]) + 20
        rows = some(BOXES, xyxyxyxy=corners)
        result = joined_groups(rows, [[0, 1], [2]], None).data["xyxyxyxy"]
        assert np.allclose(result[1], corners[2])
        local = (result[0] - 20) @ turn.T
        assert np.allclose(local[0, 0], local[3, 0])
        assert np.allclose(local[0, 1], local[1, 1])
        inside = (corners[:2].reshape(-1, 2) - 20) @ turn.T
        assert np.allclose(local.min(axis=0), inside.min(axis=0))
        assert np.allclose(local.max(axis=0), inside.max(axis=0))
