"""`InstanceMasks`: making, choosing, moving, resizing and joining masks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from inference_models.masks import InstanceMasks, MaskError, MaskGridError

bitmaps = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=12))


def blobs(count: int, size: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Ellipses of all sizes, some over the border."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((count, *size), np.uint8)
    for mask in dense:
        centre = rng.integers(0, size[::-1]).tolist()
        axes = rng.integers(1, max(2, min(size) // 3), 2).tolist()
        cv2.ellipse(mask, centre, axes, float(rng.uniform(0, 180)), 0, 360, 1, -1)
    return dense.astype(np.bool_)


class TestFromDense:
    @settings(max_examples=100, deadline=None)
    @given(dense=bitmaps)
    def test_round_trip(self, dense: np.ndarray) -> None:
        """Every pixel comes back, and each crop is as small as it can be."""
        masks = InstanceMasks.from_dense(dense)
        np.testing.assert_array_equal(masks.to_dense(), dense)
        assert masks.areas.tolist() == dense.sum(axis=(1, 2)).tolist()
        for mask, box in zip(dense, masks.boxes, strict=True):
            x, y, width, height = cv2.boundingRect(mask.astype(np.uint8))
            assert box.tolist() == [x, y, x + width, y + height]

    @pytest.mark.parametrize("size", [(640, 427), (427, 640), (1, 1), (1, 9), (9, 1)])
    def test_objects_at_every_border(self, size: tuple[int, int]) -> None:
        """One-pixel objects in corners and at borders keep their place on odd sizes."""
        height, width = size
        places = [
            (0, 0), (0, width - 1), (height - 1, 0), (height - 1, width - 1),
            (0, width // 2), (height - 1, width // 2), (height // 2, 0), (height // 2, width - 1),
        ]  # fmt: skip
        dense = np.zeros((len(places), *size), np.bool_)
        for mask, place in zip(dense, places, strict=True):
            mask[place] = True
        masks = InstanceMasks.from_dense(dense)
        np.testing.assert_array_equal(masks.to_dense(), dense)
        assert masks.boxes.tolist() == [[x, y, x + 1, y + 1] for y, x in places]
        assert all(masks.crop(index).tolist() == [[True]] for index in range(len(masks)))

    def test_needs_three_axes(self) -> None:
        """One bitmap is not a set of bitmaps."""
        with pytest.raises(MaskError, match=r"must be \(n, h, w\), got shape \(4, 4\)"):
            InstanceMasks.from_dense(np.ones((4, 4)))

    def test_image_size(self) -> None:
        """Grid and image are named apart."""
        masks = InstanceMasks.from_dense(np.ones((1, 4, 5)), image_size=(40, 50))
        assert (masks.mask_size, masks.image_size, masks.on_own_grid) == ((4, 5), (40, 50), True)


class TestFromCrops:
    def test_cut_at_the_grid(self) -> None:
        """What lies outside of the grid is cut away, on all four sides."""
        crop = np.ones((4, 4), np.uint8)
        masks = InstanceMasks.from_crops(
            [crop] * 5, [[-2, -1], [3, 4], [1, 1], [9, 9], [-9, 0]], (5, 6)
        )
        assert masks.boxes.tolist() == [
            [0, 0, 2, 3], [3, 4, 6, 5], [1, 1, 5, 5], [0, 0, 0, 0], [0, 0, 0, 0],
        ]  # fmt: skip
        assert masks.areas.tolist() == [6, 3, 16, 0, 0]

    def test_one_offset_a_crop(self) -> None:
        """Numbers of crops and offsets must agree."""
        with pytest.raises(MaskError, match="1 crops need as many offsets, got 2"):
            InstanceMasks.from_crops([np.ones((1, 1))], [[0, 0], [1, 1]], (5, 5))


class TestConstruction:
    def test_parts_must_fit(self) -> None:
        """Boxes, runs and splits of different numbers are refused."""
        with pytest.raises(MaskError, match=r"boxes must be \(n, 4\) and splits \(n \+ 1,\)"):
            InstanceMasks(
                (5, 5), (5, 5), np.zeros((1, 4), np.int32), np.zeros((3, 0), np.int32),
                np.zeros(1, np.int64),
            )  # fmt: skip
        with pytest.raises(MaskError, match=r"runs must be \(3, 2\), got \(3, 0\)"):
            InstanceMasks(
                (5, 5), (5, 5), np.zeros((1, 4), np.int32), np.zeros((3, 0), np.int32),
                np.array([0, 2]),
            )  # fmt: skip

    @pytest.mark.parametrize("size", [(0, 5), (5, 1 << 21), (5,)])
    def test_size(self, size: tuple[int, ...]) -> None:
        """A grid has two sides of a sane length."""
        with pytest.raises(MaskError, match="mask_size must be"):
            InstanceMasks.empty(size)  # type: ignore[arg-type]

    def test_read_only(self) -> None:
        """Nobody can change masks that others hold."""
        masks = InstanceMasks.from_dense(np.ones((1, 3, 3)))
        with pytest.raises(ValueError, match="read-only"):
            masks.boxes[0, 0] = 7


class TestSelect:
    @pytest.mark.parametrize(
        "rows",
        [
            slice(None), slice(4, None, -1), slice(0, 0), [], [2], [-1, 0, 0, 3],
            np.array([True, False, True, False, True, False]), np.zeros(6, np.bool_),
        ],
    )  # fmt: skip
    def test_as_numpy_does(self, rows: object) -> None:
        """Rows are chosen as numpy chooses them."""
        dense = blobs(6, (30, 40))
        index = np.array(rows, np.int64) if isinstance(rows, list) else rows
        chosen = InstanceMasks.from_dense(dense)[rows]  # type: ignore[index]
        np.testing.assert_array_equal(chosen.to_dense(), dense[index])  # type: ignore[index]

    def test_iteration(self) -> None:
        """Iterating gives sets of one mask."""
        dense = blobs(3, (20, 20))
        parts = list(InstanceMasks.from_dense(dense))
        np.testing.assert_array_equal(np.concatenate([part.to_dense() for part in parts]), dense)

    def test_unknown_row(self) -> None:
        """A row that is not there, or a boolean mask of another length, is refused."""
        masks = InstanceMasks.from_dense(blobs(2, (9, 9)))
        with pytest.raises(IndexError, match=r"rows must lie in 0\.\.1, got 2\.\.2"):
            masks.select([2])
        with pytest.raises(MaskError, match="a boolean selection needs 2 entries"):
            masks.select(np.array([True]))


class TestConcat:
    def test_order(self) -> None:
        """Parts follow each other, empty ones leave no trace."""
        dense = blobs(5, (20, 30))
        parts = [dense[:2], dense[:0], dense[2:]]
        joined = InstanceMasks.concat([InstanceMasks.from_dense(part) for part in parts])
        np.testing.assert_array_equal(joined.to_dense(), dense)

    def test_grids_must_agree(self) -> None:
        """Masks of different grids are not joined silently, empty ones neither."""
        one = InstanceMasks.empty((10, 10), (20, 20))
        for other in (InstanceMasks.empty((20, 20)), InstanceMasks.empty((10, 10))):
            with pytest.raises(MaskGridError, match="masks live on different grids"):
                InstanceMasks.concat([one, other])

    def test_nothing(self) -> None:
        """Joining nothing has no grid."""
        with pytest.raises(MaskError, match="at least one part"):
            InstanceMasks.concat([])


class TestMoved:
    @settings(max_examples=60, deadline=None)
    @given(
        dense=bitmaps,
        offset=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
        size=st.tuples(st.integers(1, 25), st.integers(1, 25)),
    )
    def test_as_on_a_canvas(
        self, dense: np.ndarray, offset: tuple[int, int], size: tuple[int, int]
    ) -> None:
        """Moving equals pasting on a larger canvas and cutting the new grid out of it."""
        count, height, width = dense.shape
        canvas = np.zeros((count, 60, 60), np.bool_)
        canvas[
            :, 10 + offset[1] : 10 + offset[1] + height, 10 + offset[0] : 10 + offset[0] + width
        ] = dense
        expected = canvas[:, 10 : 10 + size[0], 10 : 10 + size[1]]
        moved = InstanceMasks.from_dense(dense).moved(offset, size)
        np.testing.assert_array_equal(moved.to_dense(), expected)
        assert moved.mask_size == moved.image_size == size

    def test_only_places_change(self) -> None:
        """To the image a crop was cut from, the very same runs are used."""
        masks = InstanceMasks.from_dense(blobs(4, (20, 30)))
        moved = masks.moved((100, 50), (500, 600))
        assert moved.runs is masks.runs
        np.testing.assert_array_equal(moved.boxes, masks.boxes + np.array([100, 50, 100, 50]))

    def test_own_grid(self) -> None:
        """Cells that are no pixels cannot be moved by pixels."""
        masks = InstanceMasks.empty((10, 10), (20, 20))
        with pytest.raises(MaskGridError, match=r"cannot be moved by image px.*on_image_grid\(\)"):
            masks.moved((1, 1), (50, 50))


class TestResized:
    @settings(max_examples=60, deadline=None)
    @given(dense=bitmaps, size=st.tuples(st.integers(1, 40), st.integers(1, 40)))
    def test_as_opencv(self, dense: np.ndarray, size: tuple[int, int]) -> None:
        """Nearest neighbour equals OpenCV's on the full canvas, larger or smaller."""
        expected = [
            cv2.resize(mask.astype(np.uint8), size[::-1], interpolation=cv2.INTER_NEAREST)
            for mask in dense
        ]
        resized = InstanceMasks.from_dense(dense).resized(size)
        np.testing.assert_array_equal(resized.to_dense(), np.array(expected, np.bool_))

    def test_runs_stay_canonical(self) -> None:
        """Resized masks have the runs of the same bitmaps made anew, where gaps closed too."""
        striped = blobs(5, (50, 40)) & (np.arange(50) % 5 > 0)[:, None]
        masks = InstanceMasks.from_dense(striped)
        for size in [(33, 71), (100, 10), (3, 3)]:
            resized = masks.resized(size)
            anew = InstanceMasks.from_dense(resized.to_dense())
            np.testing.assert_array_equal(resized.runs, anew.runs)
            np.testing.assert_array_equal(resized.boxes, anew.boxes)

    def test_on_image_grid(self) -> None:
        """The image's grid is the image's size; masks already there are handed back."""
        masks = InstanceMasks.from_dense(blobs(2, (10, 10)), image_size=(20, 30)).on_image_grid()
        assert masks.mask_size == masks.image_size == (20, 30)
        assert masks.on_image_grid() is masks


class TestMemory:
    def test_size_follows_the_objects(self) -> None:
        """Masks of a huge image weigh what their runs weigh."""
        masks = InstanceMasks.from_crops([np.ones((9, 9))] * 50, [[5, 5]] * 50, (20000, 30000))
        held = masks.boxes.nbytes + masks.runs.nbytes + masks.splits.nbytes
        assert held < 50 * 9 * 12 + 50 * 16 + 500
