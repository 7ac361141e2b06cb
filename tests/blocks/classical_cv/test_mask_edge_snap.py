from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.classical_cv.mask_edge_snap.edges import Edges, edges_of, thinned
from blocks.classical_cv.mask_edge_snap.snapping import Search, snap_masks
from blocks.classical_cv.mask_edge_snap.v1 import MaskEdgeSnapBlockV1
from blocks.kinds.detections.masks import instance_masks
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import InstanceMasks
from tests.blocks.detection_sets import WITH_MASKS, MaskForm, ellipses, some

HEIGHT, WIDTH = 120, 160
SQUARE = np.ones((3, 3), np.uint8)
USUAL = Search(tolerance=15, band=15, least_area=20)


def an_object() -> np.ndarray:
    """(120, 160) bool: a turned ellipse."""
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.ellipse(mask, (80, 60), (50, 32), 20, 0, 360, 1, -1)
    return mask.astype(bool)


def photo_of(mask: np.ndarray, noise: float = 3.0) -> np.ndarray:
    """(h, w, 3): the object bright on a dark ground, a little out of focus."""
    levels = cv2.GaussianBlur(np.where(mask, 180, 60).astype(np.float32), (0, 0), 1.0)
    levels += np.random.default_rng(4).normal(0, noise, levels.shape)
    return np.repeat(np.clip(levels, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def grown(mask: np.ndarray, by: int) -> np.ndarray:
    change = cv2.dilate if by > 0 else cv2.erode
    return change(mask.astype(np.uint8), SQUARE, iterations=abs(by)).astype(bool)


def iou(first: np.ndarray, second: np.ndarray) -> float:
    return float((first & second).sum() / (first | second).sum())


def gray_edges(pixels: np.ndarray, sigma: float = 1.0) -> Edges:
    return edges_of(np.ascontiguousarray(pixels[:, :, 0]), sigma, 2, 41)


def snapped(mask: np.ndarray, edges: Edges, search: Search = USUAL) -> np.ndarray:
    masks = InstanceMasks.from_dense(mask[None])
    return np.asarray(snap_masks(masks, edges, search).masks.to_dense()[0])


class TestThinned:
    def test_brute_force(self) -> None:
        """One pass of Zhang and Suen, pixel by pixel."""
        image = (np.random.default_rng(1).random((17, 23)) < 0.6).astype(np.uint8)
        current = image
        for limits in (((0, 2, 4), (2, 4, 6)), ((0, 2, 6), (0, 4, 6))):
            padded, after = np.pad(current, 1), current.copy()
            for y in range(17):
                for x in range(23):
                    around = padded[y : y + 3, x : x + 3]
                    # From the one above on clockwise.
                    ring = [
                        around[0, 1], around[0, 2], around[1, 2], around[2, 2], around[2, 1],
                        around[2, 0], around[1, 0], around[0, 0],
                    ]  # fmt: skip
                    rises = sum(
                        a == 0 and b == 1 for a, b in zip(ring, ring[1:] + ring[:1], strict=True)
                    )
                    free = all(any(ring[p] == 0 for p in places) for places in limits)
                    if 2 <= sum(ring) <= 6 and rises == 1 and free:
                        after[y, x] = 0
            current = after
        assert np.array_equal(thinned(image), current)

    def test_wide_line(self) -> None:
        """A line three pixels wide becomes the one in its middle, ends aside."""
        image = np.zeros((20, 30), np.uint8)
        image[9:12, 3:27] = 1
        assert np.array_equal(np.flatnonzero(thinned(image)[:, 10:20].any(axis=1)), [10])

    @pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2)])
    def test_small(self, shape: tuple[int, int]) -> None:
        """Images without an inside work."""
        assert thinned(np.ones(shape, np.uint8)).shape == shape


class TestEdgesOf:
    def test_threshold(self) -> None:
        """Strength above mean plus sigma deviations of the window around a pixel, by hand."""
        gray = np.random.default_rng(3).integers(0, 256, (25, 31)).astype(np.uint8)
        across = cv2.Sobel(gray, cv2.CV_64F, 1, 0)
        down = cv2.Sobel(gray, cv2.CV_64F, 0, 1)
        strength = np.hypot(across, down)
        expected = np.zeros(gray.shape, np.uint8)
        for y in range(4, 21):
            for x in range(4, 27):
                window = strength[y - 4 : y + 5, x - 4 : x + 5]
                expected[y, x] = strength[y, x] > window.mean() + 0.7 * window.std()
        found = edges_of(gray, 0.7, 0, 9)
        inner = (slice(6, 19), slice(6, 25))
        assert np.allclose(found.strength, strength, atol=1e-2)
        assert np.array_equal(found.thin[inner], thinned(expected)[inner])

    def test_flat(self) -> None:
        """An image of one level has no edge, with any sigma."""
        assert not edges_of(np.full((30, 30), 90, np.uint8), -5.0, 3, 9).thin.any()

    def test_sigma(self) -> None:
        """A smaller sigma finds more."""
        counts = [int(gray_edges(photo_of(an_object()), s).thin.sum()) for s in (0.0, 1.0, 3.0)]
        assert counts[0] > counts[1] > counts[2]

    def test_gaps_close(self) -> None:
        """Growing and shrinking joins an edge that is broken."""
        gray = np.full((60, 60), 60, np.uint8)
        gray[:, 30:] = 180
        gray[28:31] = 120
        joined = [
            cv2.connectedComponents(edges_of(gray, 0.5, times, 41).thin)[0] for times in (0, 3)
        ]
        assert joined[1] < joined[0]


class TestSnapMasks:
    @pytest.mark.parametrize("by", [-6, -3, 3, 6])
    @pytest.mark.parametrize("noise", [0.0, 3.0, 8.0])
    def test_gets_nearer(self, by: int, noise: float) -> None:
        """A mask too small or too large comes to the object that the image shows."""
        edges = gray_edges(photo_of(an_object(), noise))
        before = grown(an_object(), by)
        after = snapped(before, edges)
        assert iou(after, an_object()) > 0.98 > iou(before, an_object())

    def test_shifted(self) -> None:
        """A mask beside its object comes to it."""
        before = np.roll(an_object(), 5, axis=1)
        after = snapped(before, gray_edges(photo_of(an_object())))
        assert iou(after, an_object()) > 0.97 > iou(before, an_object())

    def test_exact_mask_stays(self) -> None:
        """A mask that fits is hardly changed."""
        after = snapped(an_object(), gray_edges(photo_of(an_object())))
        assert iou(after, an_object()) > 0.98

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(
        "search", [Search(0, 15, 0), Search(15, 15, 1e9)], ids=["no way", "no edge"]
    )
    def test_nothing_to_move(self, seed: int, search: Search) -> None:
        """Without a way to go or an edge to go to, masks with parts and holes stay to the pixel."""
        masks = ellipses(6, 40, 60, seed)
        masks[0] ^= masks[1]
        masks[2] |= masks[3]
        masks[4, 10:20, 10:20] = np.random.default_rng(seed).random((10, 10)) < 0.5
        edges = gray_edges(photo_of(masks[0]))
        result = snap_masks(InstanceMasks.from_dense(masks), edges, search)
        assert np.array_equal(result.masks.to_dense(), masks)

    def test_hole(self) -> None:
        """The outline of a hole is moved too, to where the image has the hole."""
        ring = an_object()
        cv2.circle(hole := np.zeros(ring.shape, np.uint8), (80, 60), 15, 1, -1)
        ring &= hole == 0
        small = np.zeros(ring.shape, np.uint8)
        cv2.circle(small, (80, 60), 11, 1, -1)
        before = an_object() & (small == 0)
        after = snapped(before, gray_edges(photo_of(ring)), Search(8, 8, 20))
        assert not after[60, 80]
        assert iou(after, ring) > 0.97 > iou(before, ring)

    def test_two_parts(self) -> None:
        """Every part of a mask is moved."""
        discs = np.zeros((HEIGHT, WIDTH), np.uint8)
        cv2.circle(discs, (40, 60), 20, 1, -1)
        cv2.circle(discs, (115, 60), 20, 1, -1)
        before = grown(discs, 4)
        after = snapped(before, gray_edges(photo_of(discs > 0)))
        assert cv2.connectedComponents(after.astype(np.uint8))[0] == 3
        assert iou(after, discs > 0) > 0.95

    def test_reach(self) -> None:
        """No point moves farther than the tolerance, and no edge beyond the band counts."""
        edges = gray_edges(photo_of(an_object()))
        before = grown(an_object(), 8)
        for search in (Search(4, 30, 0), Search(30, 4, 0)):
            after = snapped(before, edges, search)
            assert not (grown(before, -7) & ~after).any()

    def test_edges(self) -> None:
        """The edges of a mask are those in the band around its outline, the small ones left out."""
        thin = np.zeros((60, 80), np.uint8)
        thin[20, 10:60] = thin[22, 30:34] = thin[50, 10:60] = 1
        edges = Edges(np.full((60, 80), 100, np.float32), thin)
        mask = np.zeros((60, 80), bool)
        mask[10:25, 10:60] = True
        found = snap_masks(InstanceMasks.from_dense(mask[None]), edges, Search(9, 6, 10)).edges
        expected = np.zeros((60, 80), bool)
        expected[20, 10:60] = True
        assert np.array_equal(found.to_dense()[0], expected)

    def test_small_and_empty(self) -> None:
        """Masks of no, one and few pixels, and one that fills the image, keep their pixels."""
        masks = np.zeros((4, 30, 40), bool)
        masks[1, 29, 39] = masks[2, 3:5, 3] = masks[3] = True
        edges = gray_edges(np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8))
        result = snap_masks(InstanceMasks.from_dense(masks), edges, Search(9, 9, 0))
        after = result.masks.to_dense()
        assert np.array_equal(after[:3], masks[:3])
        assert after[3].any()
        assert result.edges.areas[0] == 0

    def test_no_masks(self) -> None:
        """Zero masks give zero masks."""
        edges = gray_edges(photo_of(an_object()))
        result = snap_masks(InstanceMasks.empty((HEIGHT, WIDTH)), edges, USUAL)
        assert (len(result.masks), len(result.edges)) == (0, 0)


class TestMaskEdgeSnap:
    def image(self, gray: bool = False) -> WorkflowImageData:
        pixels = photo_of(an_object())
        return WorkflowImageData(
            ImageParentMetadata("image"), numpy_image=pixels[:, :, 0].copy() if gray else pixels
        )

    def detections(self, form: MaskForm, **data: Any) -> sv.Detections:
        masks = np.stack([grown(an_object(), 5), np.zeros_like(an_object())])
        boxes = [[20, 15, 140, 105], [1, 1, 5, 5]]
        return some(boxes, self.image(), ["car", "dog"], masks=masks, form=form, **data)

    @pytest.mark.parametrize("form", WITH_MASKS)
    @pytest.mark.parametrize("gray", [False, True])
    def test_forms(
        self, form: MaskForm, gray: bool, run_block: Callable[..., dict[str, Any]]
    ) -> None:
        """Masks in every form are moved, boxes follow them, and everything else stays."""
        given = self.detections(form)
        result = run_block(MaskEdgeSnapBlockV1, {"image": self.image(gray), "segmentation": given})
        refined, edges = result["refined_segmentation"], result["edges"]
        masks = instance_masks(refined)
        assert masks is not None
        after = masks.to_dense()
        assert iou(after[0], an_object()) > 0.96
        ys, xs = np.nonzero(after[0])
        assert refined.xyxy[0].tolist() == [xs.min(), ys.min(), xs.max(), ys.max()]
        assert refined.xyxy[1].tolist() == [1, 1, 5, 5]
        for rows in (refined, edges):
            assert rows.data["detection_id"].tolist() == ["d0", "d1"]
            assert rows.data["class_name"].tolist() == ["car", "dog"]
            assert rows.confidence.tolist() == given.confidence.tolist()
            assert ("rle_mask" in rows.data) == (form in ("rle", "both"))
        on_edges = instance_masks(edges)
        assert on_edges is not None
        assert on_edges.areas[0] > 150
        assert on_edges.areas[1] == 0

    def test_polygons_follow(self, run_block: Callable[..., dict[str, Any]]) -> None:
        """Outlines in a column are those of the new masks."""
        old = np.empty(2, dtype=object)
        old[:] = [np.zeros((3, 2)), np.zeros((4, 2))]
        given = self.detections("dense", polygon=old)
        result = run_block(MaskEdgeSnapBlockV1, {"image": self.image(), "segmentation": given})
        outline = result["refined_segmentation"].data["polygon"][0]
        filled = np.zeros((HEIGHT, WIDTH), np.uint8)
        cv2.fillPoly(filled, [np.asarray(outline, np.int32)], 1)
        assert iou(filled > 0, an_object()) > 0.96

    def test_no_rows(self, run_block: Callable[..., dict[str, Any]]) -> None:
        """Zero detections are handed on, with what they know of the image."""
        given = some([], self.image())
        result = run_block(MaskEdgeSnapBlockV1, {"image": self.image(), "segmentation": given})
        for rows in result.values():
            assert len(rows) == 0
            assert rows.metadata == given.metadata

    def test_without_masks(self, run_block: Callable[..., dict[str, Any]]) -> None:
        """Boxes alone have no outline."""
        values = {"image": self.image(), "segmentation": some([[1, 1, 9, 9]], self.image())}
        with pytest.raises(InvalidFieldValueError) as caught:
            run_block(MaskEdgeSnapBlockV1, values)
        assert str(caught.value) == (
            "Field `segmentation` must be detections with masks, got detections that carry neither "
            "`mask` nor `rle_mask`."
        )

    def test_another_image(self, run_block: Callable[..., dict[str, Any]]) -> None:
        """Masks for an image of another size are refused."""
        other = WorkflowImageData(
            ImageParentMetadata("image"), numpy_image=np.zeros((50, 70, 3), np.uint8)
        )
        values = {"image": other, "segmentation": self.detections("dense")}
        with pytest.raises(InvalidFieldValueError) as caught:
            run_block(MaskEdgeSnapBlockV1, values)
        assert str(caught.value) == (
            "Field `segmentation` must be detections of `image`, 70 x 50 px, got masks for 160 x "
            "120 px."
        )

    @pytest.mark.parametrize(
        ("field", "value", "wanted"),
        [
            ("pixel_tolerance", -1, "a whole number from 0 to 255"),
            ("sigma", 1e9, "a number from -1000.0 to 1000.0"),
            ("min_contour_area", -0.5, "a number from 0 to "),
            ("dilation_iterations", 101, "a whole number from 0 to 100"),
            ("boundary_band_width", 256, "a whole number from 0 to 255"),
            ("adaptive_window_size", 0, "a whole number from 1 to 4095"),
        ],
    )
    def test_bad_numbers(
        self, field: str, value: float, wanted: str, run_block: Callable[..., dict[str, Any]]
    ) -> None:
        """The error names field, range and value, also when there are no rows."""
        values = {"image": self.image(), "segmentation": some([], self.image())}
        with pytest.raises(InvalidFieldValueError, match=f"Field `{field}` must be {wanted}"):
            run_block(MaskEdgeSnapBlockV1, values, **{field: value})
