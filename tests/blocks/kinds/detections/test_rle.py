from __future__ import annotations

import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco

from blocks.kinds.detections.rle import (
    compact_from_rles,
    plain_rle,
    rles_from_compact,
)

MASKS = hnp.arrays(
    bool,
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    elements=st.booleans(),
    fill=st.booleans(),
)


def coco_rle(mask: np.ndarray) -> dict:
    return coco.encode(np.asfortranarray(mask, np.uint8))


class TestCompactFromRles:
    @given(st.lists(MASKS, min_size=1, max_size=3))
    def test_pixels(self, masks: list[np.ndarray]) -> None:
        """Masks come out as pycocotools decodes them, and go back to the same text."""
        shape = masks[0].shape
        stack = np.stack([np.resize(mask, shape) for mask in masks])
        rles = [coco_rle(mask) for mask in stack]
        compact = compact_from_rles(rles, shape)
        assert np.array_equal(compact.to_dense(), stack)
        assert [rle["counts"].encode() for rle in rles_from_compact(compact)] == [
            rle["counts"] for rle in rles
        ]
        assert all(rle["size"] == list(shape) for rle in rles_from_compact(compact))

    def test_loose_crops(self) -> None:
        """Compact masks whose crops are larger than the mask give the same text."""
        masks = np.zeros((2, 9, 11), bool)
        masks[0, 2:5, 3:7] = True
        loose = sv.CompactMask.from_dense(masks, np.array([[1, 1, 9, 7], [0, 0, 10, 8]]), (9, 11))
        assert [rle["counts"].encode() for rle in rles_from_compact(loose)] == [
            coco_rle(mask)["counts"] for mask in masks
        ]

    def test_other_grid(self) -> None:
        """A mask on a coarser grid is brought to the image by nearest neighbour."""
        import cv2

        mask = np.zeros((8, 10), bool)
        mask[2:6, 1:9] = True
        expected = cv2.resize(mask.astype(np.uint8), (30, 24), interpolation=cv2.INTER_NEAREST)
        result = compact_from_rles([coco_rle(mask)] * 2, (24, 30))
        assert np.array_equal(result.to_dense()[1], expected.astype(bool))

    def test_mixed_grids(self) -> None:
        """Rows may lie on different grids."""
        small, large = np.ones((4, 5), bool), np.zeros((8, 10), bool)
        result = compact_from_rles([coco_rle(small), coco_rle(large)], (8, 10))
        assert result.area.tolist() == [80, 0]

    @pytest.mark.parametrize(
        ("rle", "words"),
        [
            ({"size": [2, 2], "counts": [3]}, "mask 0: .* must cover 4 px, its counts cover 3"),
            ({"size": [2, 2]}, "mask 0: an RLE mask must be"),
            ({"size": [0, 2], "counts": []}, "mask 0"),
            ({"size": 5, "counts": []}, "mask 0"),
            ({"size": [2, 2], "counts": "P"}, "mask 0: counts of code 0 are cut off"),
            ({"size": [2, 2], "counts": [5, -1]}, "mask 0: counts of code 0 hold 5"),
        ],
    )
    def test_malformed(self, rle: dict, words: str) -> None:
        """An RLE that does not fit its own size is refused with its row."""
        with pytest.raises(ValueError, match=words):
            compact_from_rles([rle], (2, 2))


class TestPlainRle:
    def test_forms(self) -> None:
        """Bytes and lists of lengths become text, numpy sides Python numbers."""
        rle = coco_rle(np.eye(4, dtype=bool))
        text = rle["counts"].decode()
        lengths = [0, 1, 4, 1, 4, 1, 4, 1]
        for counts in (rle["counts"], text, lengths):
            result = plain_rle({"size": np.array([4, 4]), "counts": counts})
            assert result == {"size": [4, 4], "counts": text}
            assert type(result["size"][0]) is int


class TestContractWithSupervision:
    def test_private_parts_of_compact_mask(self) -> None:
        """What is used of `sv.CompactMask` beyond its public face is still there."""
        mask = np.eye(5, dtype=bool)[None]
        compact = sv.CompactMask.from_dense(mask, np.array([[0, 0, 4, 4]]), (5, 5))
        assert compact._rles[0].dtype == np.int32
        assert compact._crop_shapes.tolist() == [[5, 5]]
        again = sv.CompactMask(compact._rles, compact._crop_shapes, compact._offsets, (5, 5))
        assert again == compact
