"""`image_slicer@v1` and `@v2`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.transformations.image_slicer.family import (
    clipped_intervals,
    count_equal_slices,
    equal_intervals,
    stride,
)
from blocks.transformations.image_slicer.v1 import ImageSlicerBlockV1
from blocks.transformations.image_slicer.v2 import ImageSlicerBlockV2, ImageSlicerV2Manifest
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData

LENGTHS = st.integers(1, 300)
SLICES = st.integers(1, 120)
OVERLAPS = st.floats(0.0, 0.95)


def image(height: int, width: int, channels: int | None = 3) -> WorkflowImageData:
    shape = (height, width) if channels is None else (height, width, channels)
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=pixels, video_metadata=VideoMetadata("cam", 3)
    )


def slices(block: Any, source: WorkflowImageData, *settings: float) -> list[WorkflowImageData]:
    return [result["slices"] for result in block.run(source, *settings)]


def place(piece: WorkflowImageData) -> tuple[int, int, int, int]:
    origin = piece.parent_metadata.origin_coordinates
    assert origin is not None
    height, width = piece.size
    return origin.left_top_x, origin.left_top_y, width, height


class TestStride:
    @pytest.mark.parametrize(
        ("length", "ratio", "expected"),
        [(640, 0.2, 512), (1056, 0.1, 951), (10, 0.0, 10), (3, 0.9, 1)],
    )
    def test_table(self, length: int, ratio: float, expected: int) -> None:
        """Neighbours start a tile apart, less the overlap in whole pixels."""
        assert stride(length, ratio) == expected

    @pytest.mark.parametrize(("length", "ratio"), [(0, 0.1), (-5, 0.1), (5, 1.0), (5, -0.1)])
    def test_settings_without_progress(self, length: int, ratio: float) -> None:
        """Settings that no grid can be made of are refused."""
        with pytest.raises(ValueError, match="must be at least"):
            stride(length, ratio)


class TestEqualIntervals:
    @given(LENGTHS, SLICES, OVERLAPS)
    def test_properties(self, length: int, slice_length: int, overlap: float) -> None:
        """Tiles are distinct, of one length, cover the side and overlap at least as asked."""
        tiles = equal_intervals(length, slice_length, overlap)
        assert len(set(tiles)) == len(tiles)
        assert {end - start for start, end in tiles} == {min(slice_length, length)}
        assert tiles[0][0] == 0
        assert tiles[-1][1] == length
        step = stride(slice_length, overlap)
        assert all(0 < b[0] - a[0] <= step for a, b in pairwise(tiles))

    @given(LENGTHS, SLICES, OVERLAPS)
    def test_as_few_as_cover(self, length: int, slice_length: int, overlap: float) -> None:
        """One tile less, at the same distance, would not reach the end."""
        tiles = equal_intervals(length, slice_length, overlap)
        if len(tiles) > 1:
            assert (len(tiles) - 2) * stride(slice_length, overlap) + slice_length < length


class TestCountEqualSlices:
    def test_two_by_two_with_overlap_gives_four(self) -> None:
        """An overlapping 2 x 2 grid is four tiles of full size, no slivers (supervision#1415)."""
        assert count_equal_slices((1080, 1920), (594, 1056), (0.1, 0.1)) == 4
        source = WorkflowImageData(
            ImageParentMetadata("i"), numpy_image=np.zeros((1080, 1920, 3), np.uint8)
        )
        pieces = slices(ImageSlicerBlockV2(), source, 1056, 594, 0.1, 0.1)
        assert [place(piece) for piece in pieces] == [
            (0, 0, 1056, 594),
            (864, 0, 1056, 594),
            (0, 486, 1056, 594),
            (864, 486, 1056, 594),
        ]

    @given(st.tuples(LENGTHS, LENGTHS), st.tuples(SLICES, SLICES), st.tuples(OVERLAPS, OVERLAPS))
    def test_predicts_the_block(
        self, size: tuple[int, int], tile: tuple[int, int], overlap: tuple[float, float]
    ) -> None:
        """The number is that of the slices that version 2 would cut."""
        rows = equal_intervals(size[0], tile[0], overlap[0])
        columns = equal_intervals(size[1], tile[1], overlap[1])
        assert count_equal_slices(size, tile, overlap) == len(rows) * len(columns)


class TestClippedIntervals:
    @given(LENGTHS, SLICES, OVERLAPS)
    def test_properties(self, length: int, slice_length: int, overlap: float) -> None:
        """Tiles start every stride and cover the side; only border tiles are shorter."""
        tiles = clipped_intervals(length, slice_length, overlap)
        step = stride(slice_length, overlap)
        assert [start for start, _ in tiles] == list(range(0, length, step))
        assert max(end for _, end in tiles) == length
        assert all(end - start == slice_length or end == length for start, end in tiles)


class TestRun:
    def test_v1_border_slices_are_cut(self) -> None:
        """In version 1 slices at the border end with the image."""
        pieces = slices(ImageSlicerBlockV1(), image(120, 160), 70, 60, 0.0, 0.0)
        assert [place(p) for p in pieces] == [
            (0, 0, 70, 60), (70, 0, 70, 60), (140, 0, 20, 60),
            (0, 60, 70, 60), (70, 60, 70, 60), (140, 60, 20, 60),
        ]  # fmt: skip

    def test_v2_border_slices_are_moved(self) -> None:
        """In version 2 slices at the border are moved inside."""
        pieces = slices(ImageSlicerBlockV2(), image(120, 160), 70, 60, 0.0, 0.0)
        assert [place(p)[0] for p in pieces[:3]] == [0, 70, 90]
        assert {p.size for p in pieces} == {(60, 70)}

    @pytest.mark.parametrize("block", [ImageSlicerBlockV1(), ImageSlicerBlockV2()])
    @pytest.mark.parametrize("channels", [None, 3])
    def test_pixels_and_lineage(self, block: Any, channels: int | None) -> None:
        """Slices hold the pixels at their place; each has its id, and none is a frame."""
        source = image(33, 47, channels)
        pieces = slices(block, source, 20, 16, 0.25, 0.3)
        for piece in pieces:
            x, y, width, height = place(piece)
            assert np.array_equal(
                piece.numpy_image, source.numpy_image[y : y + height, x : x + width]
            )
            assert piece.workflow_root_ancestor_metadata.parent_id == "image"
            assert not piece.has_video_metadata
        ids = {piece.parent_metadata.parent_id for piece in pieces}
        assert len(ids) == len(pieces)
        assert all(i.startswith("image_slicer.") for i in ids)

    @pytest.mark.parametrize("block", [ImageSlicerBlockV1(), ImageSlicerBlockV2()])
    def test_slice_of_a_slice_knows_the_root(self, block: Any) -> None:
        """Offsets add up to the workflow's input."""
        outer = slices(block, image(48, 128), 64, 48, 0.0, 0.0)[1]
        inner = slices(block, outer, 24, 48, 0.0, 0.0)[1]
        root = inner.workflow_root_ancestor_metadata.origin_coordinates
        assert root is not None
        assert (root.left_top_x, root.origin_width) == (64 + 24, 128)

    @pytest.mark.parametrize("block", [ImageSlicerBlockV1(), ImageSlicerBlockV2()])
    def test_image_smaller_than_a_slice(self, block: Any) -> None:
        """A small image, down to one pixel, is one slice."""
        source = image(1, 1)
        assert [place(p) for p in slices(block, source, 640, 640, 0.0, 0.0)] == [(0, 0, 1, 1)]


class TestManifest:
    def test_defaults(self) -> None:
        """640 px and a fifth of overlap, the image also as `images`."""
        manifest = ImageSlicerV2Manifest(
            type="roboflow_core/image_slicer@v2", name="s", images="$inputs.image"
        )
        assert (manifest.slice_width, manifest.slice_height) == (640, 640)
        assert (manifest.overlap_ratio_width, manifest.overlap_ratio_height) == (0.2, 0.2)

    @pytest.mark.parametrize("field", ["slice_width", "overlap_ratio_height"])
    def test_limits(self, field: str) -> None:
        """Literal settings that no grid can be made of are refused by field."""
        bad = {"slice_width": 0, "overlap_ratio_height": 1.0}[field]
        with pytest.raises(ValueError, match=field):
            ImageSlicerV2Manifest.model_validate(
                {
                    "type": "roboflow_core/image_slicer@v2",
                    "name": "s",
                    "image": "$inputs.image",
                    field: bad,
                }
            )
