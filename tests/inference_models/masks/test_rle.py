"""COCO codes against pycocotools, both ways, and the refusal of broken ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MalformedRLEError,
    MaskError,
    decode_rle,
    encode_masks,
)
from inference_models.masks.rle import crop_counts, mask_counts, masks_of_crop_counts
from inference_models.masks.rle_text import compress_counts, expand_counts

bitmaps = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=14))


def coco_code(mask: np.ndarray) -> dict[str, Any]:
    return coco.encode(np.asfortranarray(mask.astype(np.uint8)))


class TestEncodeMasks:
    @settings(max_examples=150, deadline=None)
    @given(dense=bitmaps)
    def test_equals_pycocotools(self, dense: np.ndarray) -> None:
        """Codes are those of pycocotools, character by character."""
        codes = encode_masks(InstanceMasks.from_dense(dense), text=False)
        assert codes == [coco_code(mask) for mask in dense]

    def test_long_runs(self) -> None:
        """Counts of many digits, and differences of either sign, are written as pycocotools
        does."""
        dense = np.zeros((2, 700, 900), np.bool_)
        dense[0, 3:5, 10] = True
        dense[0, :, 300:800] = True
        dense[0, 600, 850] = True
        dense[1, 699, 899] = True
        codes = encode_masks(InstanceMasks.from_dense(dense), text=False)
        assert codes == [coco_code(mask) for mask in dense]

    def test_text_is_json(self) -> None:
        """By default counts are text and sizes are lists of ints."""
        code = encode_masks(InstanceMasks.from_dense(np.ones((1, 2, 3))))[0]
        assert code == {"size": [2, 3], "counts": "06"}

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.float32])
    def test_any_order_and_type(self, order: Any, dtype: Any) -> None:
        """Memory order and element type of a bitmap do not matter."""
        mask = np.zeros((4, 6), dtype, order=order)
        mask[1] = 1
        code = encode_masks(InstanceMasks.from_dense(mask[None]), text=False)[0]
        assert code == coco_code(mask)
        flipped = np.ascontiguousarray(mask[::-1, ::-1])[::-1, ::-1]
        assert encode_masks(InstanceMasks.from_dense(flipped[None]), text=False)[0] == code

    def test_more_than_a_byte_of_masks(self) -> None:
        """300 masks are as good as one (pycocotools' area is not past 255)."""
        dense = np.random.default_rng(0).random((300, 9, 7)) < 0.3
        masks = InstanceMasks.from_dense(dense)
        assert encode_masks(masks, text=False) == [coco_code(mask) for mask in dense]
        assert masks.areas.tolist() == dense.sum(axis=(1, 2)).tolist()

    def test_none(self) -> None:
        """No masks make no codes."""
        assert encode_masks(InstanceMasks.empty((5, 5))) == []


class TestDecodeRLE:
    @settings(max_examples=100, deadline=None)
    @given(dense=bitmaps, text=st.booleans())
    def test_reads_pycocotools(self, dense: np.ndarray, text: bool) -> None:
        """What pycocotools wrote comes back pixel by pixel, as text or bytes."""
        codes = [coco_code(mask) for mask in dense]
        if text:
            codes = [{**code, "counts": code["counts"].decode()} for code in codes]
        np.testing.assert_array_equal(decode_rle(codes).to_dense(), dense)

    @settings(max_examples=100, deadline=None)
    @given(dense=bitmaps)
    def test_round_trip(self, dense: np.ndarray) -> None:
        """decode(encode(masks)) are the masks, run by run."""
        masks = InstanceMasks.from_dense(dense)
        back = decode_rle(encode_masks(masks))
        np.testing.assert_array_equal(back.runs, masks.runs)
        np.testing.assert_array_equal(back.boxes, masks.boxes)
        np.testing.assert_array_equal(back.splits, masks.splits)

    def test_plain_counts(self) -> None:
        """Lists of integers, empty runs among them, mean the same as text; both may be mixed."""
        plain = {"size": [4, 5], "counts": [2, 1, 0, 3, 14]}
        text = encode_masks(decode_rle([plain]))[0]
        masks = decode_rle([plain, text])
        expected = np.zeros(20, np.bool_)
        expected[2:6] = True
        np.testing.assert_array_equal(masks.to_dense(), [expected.reshape(5, 4).T] * 2)
        # No trace is left of the empty run: the runs are those of the bitmap.
        np.testing.assert_array_equal(masks.runs, InstanceMasks.from_dense(masks.to_dense()).runs)
        merged = {"size": [4, 5], "counts": [2, 4, 14]}
        assert text["counts"].encode() == coco.frPyObjects(merged, 4, 5)["counts"]

    def test_full_columns(self) -> None:
        """A run over several columns, the last pixel and the first one are all kept."""
        for counts in ([0, 20], [4, 8, 8], [3, 9, 8], [19, 1], [0, 1, 19]):
            code = {"size": [4, 5], "counts": counts}
            expected = coco.decode(coco.frPyObjects(code, 4, 5))
            np.testing.assert_array_equal(decode_rle([code]).to_dense()[0], expected)

    def test_none(self) -> None:
        """Without codes the grid must be named, and is kept."""
        masks = decode_rle([], mask_size=(3, 4), image_size=(30, 40))
        assert (len(masks), masks.mask_size, masks.image_size) == (0, (3, 4), (30, 40))
        with pytest.raises(MaskError, match="the grid is unknown"):
            decode_rle([])

    def test_grid_is_not_the_image(self) -> None:
        """The size of a code names its grid; the image is what the caller says."""
        masks = decode_rle([{"size": [2, 2], "counts": [1, 2, 1]}], image_size=(20, 30))
        assert masks.mask_size == (2, 2)
        assert masks.image_size == (20, 30)

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            (
                {"size": [2, 2], "counts": [1, 2]},
                r"code 1 add up to 3, but its size \[2, 2\] has 4",
            ),
            ({"size": [2, 2], "counts": [1, 7]}, r"code 1 hold 7 and add up to 8"),
            ({"size": [2, 2], "counts": [5, -1]}, r"code 1 hold 5 and add up to 4"),
            ({"size": [2, 2], "counts": [-1, 5]}, r"code 1 hold -1 and add up to 4"),
            ({"size": [2, 2], "counts": [1.5, 2.5]}, "must be text or a list of integers"),
            ({"size": [2, 2], "counts": ["1", "3"]}, "must be text or a list of integers"),
            ({"size": [2, 2], "counts": [[1, 3]]}, "must be text or a list of integers"),
            ({"size": [2, 2], "counts": [True, False]}, "must be text or a list of integers"),
            ({"size": [2, 2], "counts": None}, "must be text or a list of integers"),
            ({"size": [2, 2], "counts": []}, "code 1 add up to 0"),
            ({"size": [2, 2], "counts": ""}, "code 1 add up to 0"),
            ({"size": [2, 2], "counts": "1"}, "code 1 add up to 1"),
            ({"size": [2, 2], "counts": "1P"}, "code 1 are cut off: the last of 2 characters"),
            ({"size": [2, 2], "counts": b"1 3"}, "code 1 hold b' ' at 1"),
            ({"size": [2, 2], "counts": "1é"}, "code 1 are not ASCII"),
            ({"size": [2, 2], "counts": "P" * 40 + "0"}, "code 1 write a number in 41 characters"),
            ({"size": [2, 2]}, 'code 1 must be an object with "size" and "counts"'),
            ("04", 'code 1 must be an object with "size" and "counts"'),
            ({"size": [2], "counts": "04"}, r"size of code 1 must be \[height, width\], got \[2\]"),
            ({"size": [2.5, 2], "counts": "04"}, "size of code 1 must be whole numbers"),
            ({"size": [0, 2], "counts": "0"}, "size of code 1 must be .* from 1 to"),
            ({"size": [-2, -2], "counts": "04"}, "size of code 1 must be .* from 1 to"),
            ({"size": [2, 3], "counts": "06"}, "must share one size"),
        ],
    )
    def test_broken(self, code: Any, message: str) -> None:
        """Broken codes are refused; the message names the code and the sums."""
        with pytest.raises(MaskError, match=message):
            decode_rle([{"size": [2, 2], "counts": "04"}, code])

    def test_sum_that_wraps_around(self) -> None:
        """Counts whose sum overflows 64 bits to the right number are refused all the same."""
        counts = [2**62, 2**62, 2**62, 2**62, 4]
        with pytest.raises(MalformedRLEError, match=str(2**64 + 4)):
            decode_rle([{"size": [2, 2], "counts": counts}])

    @settings(max_examples=200, deadline=None)
    @given(text=st.binary(max_size=12))
    def test_any_bytes(self, text: bytes) -> None:
        """Any text is either read as masks of the grid or refused, never anything else."""
        try:
            masks = decode_rle([{"size": [3, 4], "counts": text}])
        except MalformedRLEError:
            return
        assert masks.to_dense().shape == (1, 3, 4)
        assert masks.areas[0] == masks.to_dense().sum()


class TestText:
    @given(
        st.lists(st.lists(st.integers(0, 2**40), max_size=9), max_size=6),
    )
    def test_round_trip(self, groups: list[list[int]]) -> None:
        """Any counts come back from their text."""
        counts = np.array([count for group in groups for count in group], np.int64)
        splits = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
        text, bounds = compress_counts(counts, splits)
        texts = [text[start:stop] for start, stop in pairwise(bounds.tolist())]
        back, back_splits = expand_counts(texts)
        assert back.tolist() == counts.tolist()
        assert back_splits.tolist() == splits.tolist()


class TestCounts:
    @settings(max_examples=60, deadline=None)
    @given(dense=bitmaps)
    def test_sums(self, dense: np.ndarray) -> None:
        """Counts add up to the grid, every second one to the area; over crops likewise."""
        masks = InstanceMasks.from_dense(dense)
        crops = (masks.boxes[:, 2:] - masks.boxes[:, :2]).prod(axis=1)
        for (counts, splits), areas in (
            (mask_counts(masks), [dense[0].size] * len(dense)),
            (crop_counts(masks), crops),
        ):
            for index, (start, stop) in enumerate(pairwise(splits)):
                assert counts[start:stop].sum() == areas[index]
                assert counts[start:stop][1::2].sum() == masks.areas[index]
                assert (counts[start:stop][1:] > 0).all()

    @settings(max_examples=60, deadline=None)
    @given(dense=bitmaps)
    def test_crops_round_trip(self, dense: np.ndarray) -> None:
        """Counts over crops and the crops' places give the masks back."""
        masks = InstanceMasks.from_dense(dense)
        counts, splits = crop_counts(masks)
        parts = [counts[start:stop] for start, stop in pairwise(splits)]
        sizes = masks.boxes[:, [3, 2]] - masks.boxes[:, [1, 0]]
        back = masks_of_crop_counts(parts, sizes, masks.boxes[:, :2], masks.mask_size)
        np.testing.assert_array_equal(back.to_dense(), dense)

    def test_broken_crop(self) -> None:
        """Counts that do not fill their crop are refused."""
        with pytest.raises(MalformedRLEError, match="crop 0 add up to 3, but it has 4 pixels"):
            masks_of_crop_counts([np.array([1, 2])], np.array([[2, 2]]), np.zeros((1, 2)), (9, 9))
