"""`grid_visualization@v1`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from blocks.visualizations.grid_visualization.v1 import (
    GridVisualizationBlockV1,
    GridVisualizationManifest,
    draw_grid,
)
from execution_engine.block_api import (
    ImageParentMetadata,
    OriginCoordinatesSystem,
    WorkflowImageData,
)

TYPE = "roboflow_core/grid_visualization@v1"


def solid(height: int, width: int, value: int = 200) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def image(pixels: np.ndarray, name: str = "a") -> WorkflowImageData:
    return WorkflowImageData(ImageParentMetadata(name), numpy_image=pixels)


def filled(canvas: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of what is not black."""
    rows, columns = np.nonzero(canvas.any(axis=2))
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


class TestDrawGrid:
    @pytest.mark.parametrize(("count", "side"), [(1, 1), (2, 2), (4, 2), (5, 3), (9, 3), (10, 4)])
    def test_square_grid(self, count: int, side: int) -> None:
        """The grid has as many rows as columns; the last image stands in its cell."""
        images: list[np.ndarray | None] = [None] * (count - 1) + [solid(10, 10)]
        canvas = draw_grid(images, 120, 120)
        row, column = divmod(count - 1, side)
        cell = 120 // side
        assert filled(canvas) == (
            column * cell, row * cell, (column + 1) * cell, (row + 1) * cell,
        )  # fmt: skip

    def test_proportions_are_kept(self) -> None:
        """Images fill their cell in one direction and stand in the middle of the other."""
        canvas = draw_grid([solid(80, 120), solid(90, 50)], 160, 80)
        assert canvas.shape == (80, 160, 3)
        assert filled(canvas[:, :80]) == (10, 0, 70, 40)
        assert filled(canvas[:, 80:]) == (29, 0, 51, 40)

    def test_thin_images_keep_a_pixel(self) -> None:
        """An image much longer than wide, or of one pixel, is still to be seen."""
        assert filled(draw_grid([solid(1, 5000)], 50, 50)) == (0, 24, 50, 25)
        assert filled(draw_grid([solid(1, 1)], 50, 40)) == (5, 0, 45, 40)

    @pytest.mark.parametrize("shape", [(6, 6), (6, 6, 1), (6, 6, 3), (6, 6, 4)])
    def test_channels(self, shape: tuple[int, ...]) -> None:
        """Grey, colour and transparent images share a canvas."""
        canvas = draw_grid([np.full(shape, 90, np.uint8)], 6, 6)
        assert (canvas == 90).all()

    def test_too_many_for_the_canvas(self) -> None:
        """A canvas without a pixel for each image is refused with the sizes."""
        with pytest.raises(ValueError, match=r"a grid of 3 x 3 images needs .* got 2 x 90"):
            draw_grid([solid(5, 5)] * 5, 2, 90)


class TestRun:
    def test_lists_are_flattened(self) -> None:
        """Images, lists of images and gaps in them take cells in their order."""
        first, second = image(solid(5, 5, 50)), image(solid(5, 5, 100), "b")
        result: Any = GridVisualizationBlockV1().run([[first, None], second], 20, 20)
        canvas = result["image"].numpy_image
        assert [int(canvas[y, x, 0]) for y, x in ((5, 5), (5, 15), (15, 5), (15, 15))] == [
            50,
            0,
            100,
            0,
        ]

    def test_single_reference(self) -> None:
        """A list, or one image, may come without a list around it."""
        one = image(solid(5, 5, 50))
        block = GridVisualizationBlockV1()
        expected = block.run([[one]], 8, 8)["image"].numpy_image
        for value in ([one], one):
            assert np.array_equal(block.run(value, 8, 8)["image"].numpy_image, expected)

    def test_lineage_of_the_first(self) -> None:
        """The canvas stands for the first image that is there."""
        crop = WorkflowImageData(
            ImageParentMetadata("crop", OriginCoordinatesSystem(1, 2, 30, 40)),
            ImageParentMetadata("root"),
            numpy_image=solid(5, 5),
        )
        result: Any = GridVisualizationBlockV1().run([None, crop, image(solid(5, 5))], 20, 20)
        assert result["image"].parent_metadata == crop.parent_metadata

    @pytest.mark.parametrize("images", [[[]], [[None, None]]])
    def test_nothing_to_draw(self, images: list[Any]) -> None:
        """Without any image the canvas is black."""
        result: Any = GridVisualizationBlockV1().run(images, 8, 6)
        assert result["image"].numpy_image.shape == (6, 8, 3)
        assert not result["image"].numpy_image.any()

    def test_other_values_are_refused(self) -> None:
        """A value that is no image is named by type."""
        with pytest.raises(ValueError, match="takes images, got str"):
            GridVisualizationBlockV1().run(["x"], 8, 8)

    @pytest.mark.parametrize("size", [(2**31, 8), (30000, 30000)])
    def test_huge_canvas(self, size: tuple[int, int]) -> None:
        """A canvas that would take all memory is refused by field."""
        with pytest.raises(ValueError, match="`width`"):
            GridVisualizationBlockV1().run([], *size)

    def test_inputs_are_left_alone(self) -> None:
        """Pixels of the images are not changed."""
        pixels = solid(5, 5)
        GridVisualizationBlockV1().run([image(pixels)], 8, 8)
        assert (pixels == 200).all()


class TestManifest:
    @pytest.mark.parametrize("images", [["$inputs.a", "$steps.b.output"], "$steps.b.output"])
    def test_references(self, images: Any) -> None:
        """A list of references, or one alone, is taken."""
        assert GridVisualizationManifest(type=TYPE, name="g", images=images).images == images

    @pytest.mark.parametrize("images", [[], "text", ["text"]])
    def test_bad_references(self, images: Any) -> None:
        """An empty list and plain text are refused."""
        with pytest.raises(ValidationError):
            GridVisualizationManifest(type=TYPE, name="g", images=images)
