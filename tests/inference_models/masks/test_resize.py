"""Masks from raw values against full-canvas interpolation, in double precision and, where
installed, by torch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_models.masks import (
    InstanceMasks,
    MaskError,
    MaskGeometry,
    encode_masks,
    masks_from_logits,
    masks_from_prototypes,
    plan_mask_geometry,
)
from inference_models.masks.taps import axis_taps

TOLERANCE = 1e-5


def interpolation_matrix(source: int, target: int) -> np.ndarray:
    """Triangle filter with half-pixel centres, widened where the axis shrinks: (target, source)
    float64."""
    scale = source / target
    support = max(scale, 1.0)
    matrix = np.zeros((target, source))
    for output in range(target):
        centre = (output + 0.5) * scale
        for sample in range(source):
            matrix[output, sample] = max(0.0, 1 - abs(sample + 0.5 - centre) / support)
    return matrix / matrix.sum(axis=1, keepdims=True)


def trimmed(grid: np.ndarray, geometry: MaskGeometry) -> np.ndarray:
    left, top, right, bottom = geometry.trim
    grown = [(max(0, -top), max(0, -bottom)), (max(0, -left), max(0, -right))]
    grid = np.pad(grid, grown)
    height, width = grid.shape
    return grid[max(0, top) : height - max(0, bottom), max(0, left) : width - max(0, right)]


def full_canvas(values: np.ndarray, geometry: MaskGeometry) -> np.ndarray:
    """The values (n, *mask_size) float64 that are compared with the threshold; -inf beyond the
    resized grid."""
    rows = interpolation_matrix(geometry.inner_size[0], geometry.target_size[0])
    columns = interpolation_matrix(geometry.inner_size[1], geometry.target_size[1])
    canvas = np.full((len(values), *geometry.mask_size), -np.inf)
    y, x = geometry.origin
    height, width = geometry.target_size
    for index, grid in enumerate(values):
        inner = trimmed(grid.astype(np.float64), geometry)
        canvas[index, y : y + height, x : x + width] = rows @ inner @ columns.T
    return canvas


def assert_pixels(masks: InstanceMasks, canvas: np.ndarray, threshold: float = 0.0) -> int:
    """Every pixel is right, but for values this close to the threshold; returns how many of those
    there are."""
    close = np.abs(canvas - threshold) <= TOLERANCE
    wrong = (masks.to_dense() != (canvas > threshold)) & ~close
    assert not wrong.any(), f"{wrong.sum()} pixels differ"
    return int(close.sum())


def stretch(grid: tuple[int, int], image: tuple[int, int], factor: float = 1.0) -> MaskGeometry:
    return plan_mask_geometry(grid, inference_size=grid, image_size=image, factor=factor)


def shape(name: str, size: tuple[int, int]) -> np.ndarray:
    """A logit grid whose objects are awkward in one way."""
    height, width = size
    grid = np.full(size, -1.0, np.float32)
    if name == "all":
        grid[:] = 2
    elif name == "left column":
        grid[:, 0] = 3
    elif name == "right column":
        grid[:, -1] = 3
    elif name == "top row":
        grid[0] = 3
    elif name == "bottom row":
        grid[-1] = 3
    elif name == "corner":
        grid[-1, -1] = 0.5
    elif name == "one cell":
        grid[height // 2, width // 2] = 0.5
    elif name == "checkerboard":
        grid[np.indices(size).sum(axis=0) % 2 == 0] = 1.5
    elif name == "ring":
        grid[1:-1, 1:-1] = 1
        grid[2:-2, 2:-2] = -2
    elif name == "full columns":
        grid[:, width // 3 : width // 2] = 1
    elif name == "stripes":
        grid[::2] = 1
    return grid


SHAPES = (
    "none", "all", "left column", "right column", "top row", "bottom row", "corner", "one cell",
    "checkerboard", "ring", "full columns", "stripes",
)  # fmt: skip
SIZES = [
    ((9, 11), (640, 427)), ((9, 11), (9, 11)), ((9, 11), (10, 12)), ((9, 11), (8, 40)),
    ((9, 11), (40, 5)), ((9, 11), (3, 4)), ((9, 11), (1, 1)), ((1, 1), (7, 5)), ((1, 6), (5, 13)),
    ((6, 1), (13, 5)), ((2, 2), (101, 99)), ((17, 5), (16, 6)),
]  # fmt: skip


class TestMasksFromLogits:
    @pytest.mark.parametrize(("grid", "image"), SIZES)
    def test_awkward_shapes(self, grid: tuple[int, int], image: tuple[int, int]) -> None:
        """Objects at every border, single cells, holes and fine patterns keep every pixel at any
        scale."""
        logits = np.stack([shape(name, grid) for name in SHAPES])
        geometry = stretch(grid, image)
        assert_pixels(masks_from_logits(logits, geometry), full_canvas(logits, geometry))

    @pytest.mark.parametrize("factor", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    @pytest.mark.parametrize("pads", [(0, 7, 0, 8), (9, 0, 8, 0), (-4, -6, -5, -7), (-8, 6, -8, 6)])
    def test_pads_and_factors(self, pads: tuple[int, int, int, int], factor: float) -> None:
        """Padding, cut input and a static crop change places, never values."""
        rng = np.random.default_rng(3)
        logits = rng.standard_normal((4, 16, 24)).astype(np.float32)
        geometry = plan_mask_geometry(
            (16, 24),
            inference_size=(32, 48),
            image_size=(75, 101),
            pads=pads,
            crop_offset=(10, 20),
            crop_size=(61, 43),
            factor=factor,
        )
        assert_pixels(masks_from_logits(logits, geometry), full_canvas(logits, geometry))

    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_any_grid(self, data: st.DataObject) -> None:
        """Random values, sizes and thresholds give the pixels of the full canvas."""
        side = st.integers(1, 12)
        grid = (data.draw(side), data.draw(side))
        image = (data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70)))
        threshold = data.draw(st.sampled_from([0.0, 0.5, -0.25]))
        factor = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        logits = rng.standard_normal((3, *grid)).astype(np.float32)
        geometry = stretch(grid, image, factor)
        masks = masks_from_logits(logits, geometry, threshold=threshold)
        assert_pixels(masks, full_canvas(logits, geometry), threshold)

    @pytest.mark.parametrize("scale", [1, 3, 5, 7, 13, 24, 45])
    def test_every_row_in_single_precision(self, scale: int) -> None:
        """Crossings found by division are those of all rows computed in float32, ties included."""
        rng = np.random.default_rng(scale)
        # Whole numbers put exact zeros on output rows, where the strict comparison matters.
        logits = rng.integers(-3, 4, (40, 11, 9)).astype(np.float32)
        geometry = stretch((11, 9), (11 * scale, 9 * scale))
        rows, columns = axis_taps(11, 11 * scale), axis_taps(9, 9 * scale)
        dense = []
        for grid in logits:
            lines = columns.interpolate(np.ascontiguousarray(grid.T), 0, 0, columns.target)
            values = rows.interpolate(np.ascontiguousarray(lines.T), 0, 0, rows.target)
            dense.append(values > 0)
        np.testing.assert_array_equal(masks_from_logits(logits, geometry).to_dense(), dense)

    @pytest.mark.parametrize("threshold", [0.5, -0.7])
    def test_values_at_the_threshold(self, threshold: float) -> None:
        """Plateaus exactly at the threshold, which rounding may lift above it, break no mask."""
        rng = np.random.default_rng(6)
        logits = np.full((20, 12, 12), threshold, np.float32)
        logits[rng.random(logits.shape) < 0.1] = threshold + 0.25
        logits[rng.random(logits.shape) < 0.1] = threshold - 0.25
        for image in [(97, 101), (61, 59), (13, 200)]:
            geometry = stretch((12, 12), image)
            masks = masks_from_logits(logits, geometry, threshold=threshold)
            assert_pixels(masks, full_canvas(logits, geometry), threshold)
            assert (masks.runs[2] > masks.runs[1]).all()
            assert masks.areas.tolist() == masks.to_dense().sum(axis=(1, 2)).tolist()

    def test_exact_against_torch(self, record_property: Callable[[str, object], None]) -> None:
        """No pixel differs from torch in float32, but where its value lies next to the
        threshold."""
        torch = pytest.importorskip("torch")
        rng = np.random.default_rng(11)
        close = 0
        for grid, image in [((40, 30), (640, 427)), ((48, 64), (480, 640)), ((64, 64), (50, 333))]:
            logits = rng.standard_normal((6, *grid)).astype(np.float32) * 4
            geometry = stretch(grid, image)
            values = torch.nn.functional.interpolate(
                torch.from_numpy(logits)[None], size=image, mode="bilinear",
                antialias=True, align_corners=False,
            )[0].numpy()  # fmt: skip
            close += assert_pixels(masks_from_logits(logits, geometry), values)
        record_property("pixels next to the threshold", close)
        assert close < 200

    def test_factor_one_is_no_factor(self) -> None:
        """A factor of 1 gives the masks of a call that knows no factor, run by run."""
        logits = np.random.default_rng(0).standard_normal((3, 20, 20)).astype(np.float32)
        plain = plan_mask_geometry((20, 20), inference_size=(20, 20), image_size=(57, 91))
        one = masks_from_logits(logits, stretch((20, 20), (57, 91), 1.0))
        other = masks_from_logits(logits, plain)
        np.testing.assert_array_equal(one.runs, other.runs)
        np.testing.assert_array_equal(one.boxes, other.boxes)

    def test_factor_zero_thresholds_the_grid(self) -> None:
        """A factor of 0 is the model's own grid, not resized at all."""
        logits = np.random.default_rng(1).standard_normal((3, 20, 30)).astype(np.float32)
        masks = masks_from_logits(logits, stretch((20, 30), (570, 910), 0.0))
        assert masks.mask_size == (20, 30)
        assert masks.image_size == (570, 910)
        np.testing.assert_array_equal(masks.to_dense(), logits > 0)

    def test_sigmoid_is_applied_before_interpolation(self) -> None:
        """Probabilities are interpolated, which is not the same as interpolating logits."""
        logits = np.array([[[-9.0, -9.0], [1.0, 1.0]]], np.float32)
        geometry = stretch((2, 2), (40, 4))
        soft = masks_from_logits(logits, geometry, threshold=0.5, activation="sigmoid")
        assert_pixels(soft, full_canvas(1 / (1 + np.exp(-logits)), geometry), 0.5)
        assert soft.areas[0] != masks_from_logits(logits, geometry).areas[0]

    def test_instances_pick_grids(self) -> None:
        """Rows come in the order asked for; two rows of one grid share its mask."""
        logits = np.random.default_rng(2).standard_normal((5, 12, 12)).astype(np.float32)
        geometry = stretch((12, 12), (50, 60))
        every = masks_from_logits(logits, geometry)
        some = masks_from_logits(logits, geometry, instances=[4, 0, 4, 2])
        np.testing.assert_array_equal(some.to_dense(), every.to_dense()[[4, 0, 4, 2]])

    def test_many_equal_one_by_one(self) -> None:
        """Objects do not see each other, however they are blocked."""
        logits = np.random.default_rng(4).standard_normal((40, 24, 24)).astype(np.float32)
        geometry = stretch((24, 24), (700, 900))
        together = masks_from_logits(logits, geometry)
        alone = [masks_from_logits(logits[[row]], geometry) for row in range(40)]
        np.testing.assert_array_equal(together.runs, InstanceMasks.concat(alone).runs)

    def test_half_precision_and_strides(self) -> None:
        """float16 values and views into a larger array give the masks of their float32 copies."""
        whole = np.random.default_rng(5).standard_normal((6, 30, 40)).astype(np.float16)
        view = whole[::2, 4:24, ::2]
        geometry = stretch((20, 20), (99, 101))
        expected = masks_from_logits(np.ascontiguousarray(view, np.float32), geometry)
        np.testing.assert_array_equal(masks_from_logits(view, geometry).runs, expected.runs)

    def test_work_follows_the_object(self) -> None:
        """A small object on a huge canvas makes runs of its own columns only."""
        logits = np.full((1, 160, 160), -1, np.float32)
        logits[0, 80, 80] = 1
        masks = masks_from_logits(logits, stretch((160, 160), (16000, 16000)))
        x0, y0, x1, y1 = masks.boxes[0]
        assert x1 - x0 == masks.runs.shape[1] <= 200
        assert y1 - y0 <= 200

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_values_must_be_finite(self, bad: float) -> None:
        """A value that is no number is refused and the object named."""
        logits = np.ones((3, 8, 8), np.float32)
        logits[1, 4, 4] = bad
        with pytest.raises(MaskError, match="must be finite, got NaN or infinity for object 1"):
            masks_from_logits(logits, stretch((8, 8), (20, 20)))

    def test_wrong_shape(self) -> None:
        """Logits must lie on the grid of the geometry."""
        with pytest.raises(
            MaskError, match=r"logits must be \(n, \(8, 8\)\), got shape \(1, 9, 8\)"
        ):
            masks_from_logits(np.zeros((1, 9, 8), np.float32), stretch((8, 8), (20, 20)))

    def test_unknown_activation(self) -> None:
        """Only activations that exist are taken."""
        with pytest.raises(MaskError, match="activation must be None or \"sigmoid\", got 'relu'"):
            masks_from_logits(
                np.zeros((1, 8, 8), np.float32), stretch((8, 8), (9, 9)),
                activation="relu",  # type: ignore[arg-type]
            )  # fmt: skip

    def test_unknown_row(self) -> None:
        """A row that does not exist is refused."""
        with pytest.raises(MaskError, match="instances must be rows of 2 grids"):
            masks_from_logits(np.zeros((2, 8, 8)), stretch((8, 8), (9, 9)), instances=[2])


class TestMasksFromPrototypes:
    def draw(self, count: int = 6) -> dict[str, Any]:
        rng = np.random.default_rng(8)
        corners = np.sort(rng.uniform(-5, 69, (count, 2, 2)), axis=1)
        return {
            "coefficients": rng.standard_normal((count, 5)).astype(np.float32),
            "prototypes": rng.standard_normal((5, 16, 16)).astype(np.float32),
            "boxes": corners.reshape(count, 4).astype(np.float32),
        }

    def values(self, inputs: dict[str, Any], geometry: MaskGeometry) -> np.ndarray:
        sums = np.einsum("nk,khw->nhw", inputs["coefficients"], inputs["prototypes"])
        for grid, box in zip(sums, inputs["boxes"], strict=True):
            x0, y0, x1, y1 = np.rint(box * 0.25)
            rows, columns = np.mgrid[:16, :16]
            inside = (columns >= x0) & (columns < x1) & (rows >= y0) & (rows < y1)
            grid[~inside] = 0
        return sums

    @pytest.mark.parametrize("factor", [0.0, 0.25, 1.0])
    @pytest.mark.parametrize("pads", [(0, 0, 0, 0), (0, 10, 0, 11), (-6, 4, -7, 5)])
    def test_boxes_cut_before_resizing(
        self, pads: tuple[int, int, int, int], factor: float
    ) -> None:
        """On the raw grid values outside of a box are 0; then all goes as for logits."""
        inputs = self.draw()
        geometry = plan_mask_geometry(
            (16, 16), inference_size=(64, 64), image_size=(201, 333), pads=pads, factor=factor
        )
        masks = masks_from_prototypes(
            inputs["coefficients"], inputs["prototypes"], geometry, boxes=inputs["boxes"]
        )
        assert_pixels(masks, full_canvas(self.values(inputs, geometry), geometry))

    def test_sigmoid_inside_of_boxes(self) -> None:
        """With an activation, the outside of a box is 0 after it, not before."""
        inputs = self.draw()
        geometry = stretch((64, 64), (201, 333))
        geometry = plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(201, 333))
        sums = np.einsum("nk,khw->nhw", inputs["coefficients"], inputs["prototypes"])
        outside = self.values({**inputs, "prototypes": np.ones((5, 16, 16))}, geometry) == 0
        values = np.where(outside, 0, 1 / (1 + np.exp(-sums)))
        masks = masks_from_prototypes(
            inputs["coefficients"], inputs["prototypes"], geometry,
            boxes=inputs["boxes"], threshold=0.5, activation="sigmoid",
        )  # fmt: skip
        assert_pixels(masks, full_canvas(values, geometry), 0.5)

    def test_without_boxes(self) -> None:
        """Without boxes the sums count everywhere."""
        inputs = self.draw()
        geometry = stretch((16, 16), (75, 90))
        sums = np.einsum("nk,khw->nhw", inputs["coefficients"], inputs["prototypes"])
        masks = masks_from_prototypes(inputs["coefficients"], inputs["prototypes"], geometry)
        assert_pixels(masks, full_canvas(sums, geometry))

    def test_box_outside_of_the_image(self) -> None:
        """An object whose box misses the image, or is empty, has a mask without pixels."""
        inputs = self.draw(2)
        boxes = np.array([[200, 200, 300, 300], [20, 20, 20, 40]], np.float32)
        geometry = plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(30, 40))
        masks = masks_from_prototypes(
            inputs["coefficients"], inputs["prototypes"], geometry, boxes=boxes
        )
        assert masks.areas.tolist() == [0, 0]
        assert masks.boxes.tolist() == [[0, 0, 0, 0]] * 2

    def test_channels_last_prototypes(self) -> None:
        """A transposed view of (h, w, k) prototypes serves as well as a copy."""
        inputs = self.draw()
        geometry = stretch((16, 16), (40, 44))
        last = np.ascontiguousarray(np.moveaxis(inputs["prototypes"], 0, -1))
        one = masks_from_prototypes(
            inputs["coefficients"], np.moveaxis(last, -1, 0), geometry, boxes=inputs["boxes"]
        )
        other = masks_from_prototypes(
            inputs["coefficients"], inputs["prototypes"], geometry, boxes=inputs["boxes"]
        )
        np.testing.assert_array_equal(one.runs, other.runs)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"coefficients": np.zeros((6, 4))}, r"coefficients must be \(n, 5\) for 5 prototypes"),
            ({"prototypes": np.zeros((5, 15, 16))}, r"prototypes must be \(k, \(16, 16\)\)"),
            ({"boxes": np.zeros((5, 4))}, "6 objects need as many boxes, got 5"),
        ],
    )
    def test_shapes_must_fit(self, change: dict[str, Any], message: str) -> None:
        """Shapes that do not fit each other are refused by name."""
        inputs = {**self.draw(), **change}
        with pytest.raises(MaskError, match=message):
            masks_from_prototypes(
                inputs["coefficients"], inputs["prototypes"], stretch((16, 16), (20, 20)),
                boxes=inputs["boxes"],
            )  # fmt: skip

    def test_negative_threshold_with_boxes(self) -> None:
        """A threshold below the 0 outside of boxes would set the whole canvas."""
        inputs = self.draw()
        with pytest.raises(MaskError, match=r"threshold must be at least 0 .* got -1"):
            masks_from_prototypes(
                inputs["coefficients"], inputs["prototypes"], stretch((16, 16), (20, 20)),
                boxes=inputs["boxes"], threshold=-1,
            )  # fmt: skip


class TestCoding:
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), factor=st.sampled_from([0.0, 0.4, 1.0]))
    def test_codes_describe_the_same_pixels(self, seed: int, factor: float) -> None:
        """Codes of resized masks hold as many pixels as the masks and add up to the grid."""
        from inference_models.masks.rle import mask_counts

        logits = np.random.default_rng(seed).standard_normal((3, 7, 9)).astype(np.float32)
        masks = masks_from_logits(logits, stretch((7, 9), (33, 41), factor))
        counts, splits = mask_counts(masks)
        for index, (start, stop) in enumerate(pairwise(splits)):
            own = counts[start:stop]
            assert own.sum() == masks.mask_size[0] * masks.mask_size[1]
            assert own[1::2].sum() == masks.areas[index]
        assert [tuple(code["size"]) for code in encode_masks(masks)] == [masks.mask_size] * 3
