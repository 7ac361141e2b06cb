"""Joining `supervision.Detections`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from inference_models.masks import InstanceMasks
from inference_models.predictions import PredictionError, compact_mask, concat_supervision

SIZE = (40, 60)


def rows(count: int, *, compact: bool = True, **fields: Any) -> sv.Detections:
    dense = np.zeros((count, *SIZE), np.bool_)
    for index in range(count):
        dense[index, index : index + 9, 3 * index : 3 * index + 7] = True
    return sv.Detections(
        # The box is smaller than the mask on purpose: no pixel may be cut at it.
        xyxy=np.tile([2.0, 2, 5, 5], (count, 1)),
        mask=compact_mask(InstanceMasks.from_dense(dense)) if compact else dense,
        confidence=np.full(count, 0.5, np.float32),
        class_id=np.arange(count),
        data={"class_name": np.array(["a"] * count, dtype="<U1"), **fields.pop("data", {})},
        **fields,
    )


class TestConcatSupervision:
    def test_order(self) -> None:
        """Rows follow each other with every column."""
        joined = concat_supervision([rows(2), rows(3)])
        assert joined.class_id.tolist() == [0, 1, 0, 1, 2]
        assert isinstance(joined.mask, sv.CompactMask)
        np.testing.assert_array_equal(
            joined.mask.to_dense(),
            np.concatenate([rows(2, compact=False).mask, rows(3, compact=False).mask]),
        )

    def test_dense_and_compact(self) -> None:
        """Dense masks joined with compact ones keep the pixels outside of their boxes."""
        joined = concat_supervision([rows(2), rows(2, compact=False)])
        assert isinstance(joined.mask, sv.CompactMask)
        assert joined.mask.area.tolist() == [63] * 4
        assert sv.Detections.merge([rows(2), rows(2, compact=False)]).mask.area.tolist() != [63] * 4

    def test_metadata_of_empty_parts(self) -> None:
        """Differing metadata are no error; what all agree on stays."""
        one = rows(1, metadata={"source": "a", "size": np.array([4, 5])})
        none = sv.Detections.empty()
        none.metadata = {"source": "b", "size": np.array([4, 5])}
        joined = concat_supervision([one, none])
        assert list(joined.metadata) == ["size"]
        assert len(joined) == 1

    def test_missing_column(self) -> None:
        """A column only some parts with rows have is an error that names it and the parts."""
        message = r"only some have 'extra': missing in parts \[1\]"
        with pytest.raises(PredictionError, match=message):
            concat_supervision([rows(1, data={"extra": np.ones(1)}), rows(1)])
        bare = sv.Detections(xyxy=np.zeros((1, 4)))
        with pytest.raises(PredictionError, match="only some have 'class_name'"):
            concat_supervision([rows(1), bare])

    def test_different_images(self) -> None:
        """Masks of different sizes are not joined."""
        other = rows(1)
        other.mask = compact_mask(InstanceMasks.empty((9, 9)))[:0]
        other.mask = sv.CompactMask(
            [np.array([1], np.int32)], np.ones((1, 2), np.int32), np.zeros((1, 2), np.int32), (9, 9)
        )
        with pytest.raises(PredictionError, match="masks of different sizes"):
            concat_supervision([rows(1), other])

    def test_points_of_different_numbers(self) -> None:
        """Points are padded to the most an object has; names of padding are empty."""

        def part(slots: int) -> sv.Detections:
            return sv.Detections(
                xyxy=np.zeros((1, 4)),
                data={
                    "keypoints_xy": np.ones((1, slots, 2)),
                    "keypoints_class_name": np.full((1, slots), "p", object),
                },
            )

        joined = concat_supervision([part(2), part(3)])
        assert joined.data["keypoints_xy"].tolist() == [
            [[1, 1], [1, 1], [0, 0]], [[1, 1]] * 3,
        ]  # fmt: skip
        assert joined.data["keypoints_class_name"].tolist() == [["p", "p", ""], ["p"] * 3]

    def test_nothing(self) -> None:
        """No parts make no rows."""
        assert len(concat_supervision([])) == 0


class TestMergeWithEmptyRaises:
    """Merging an "empty" result with a full one raises because optional fields differ.

    Reference: roboflow/supervision#943.
    """

    def test_equals_the_full_one(self) -> None:
        """Joined with an empty result, three boxes with masks are what they were."""
        full = rows(3)
        for parts in ([sv.Detections.empty(), full], [full, sv.Detections.empty()]):
            joined = concat_supervision(parts)
            assert joined == full
            assert joined.mask.image_shape == SIZE

    def test_only_empties_keep_the_schema(self) -> None:
        """Several results without rows have every column that any of them has, and the image's
        size."""
        none = rows(2)[np.zeros(2, np.bool_)]
        joined = concat_supervision([sv.Detections.empty(), none, none])
        assert len(joined) == 0
        assert set(joined.data) == {"class_name"}
        assert joined.confidence.dtype == np.float32
        assert joined.mask.shape == (0, *SIZE)
