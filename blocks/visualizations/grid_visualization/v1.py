"""Puts several images on one canvas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, sqrt
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import ConfigDict, Field, PositiveInt

from blocks.parameters import picture_size
from execution_engine.block_api import (
    Batch,
    BlockResult,
    ImageParentMetadata,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, LIST_OF_VALUES_KIND


class GridVisualizationManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Grid Visualization",
            "version": "v1",
            "short_description": "Put several images on one canvas.",
            "long_description": (
                "Draws images on a black canvas of `width` x `height` px, in a square grid, left "
                "to right and top to bottom. Each image keeps its proportions and stands in the "
                "middle of its cell; an empty entry of a list leaves its cell black. Takes images, "
                "and lists of images as Buffer and Dimension Collapse give."
            ),
            "license": "Apache-2.0",
            "block_type": "visualization",
            "search_keywords": ["mosaic", "contact sheet", "montage", "tiles"],
        }
    )
    type: Literal["roboflow_core/grid_visualization@v1"]
    images: Annotated[
        list[Selector(kind=[IMAGE_KIND, LIST_OF_VALUES_KIND])], Field(min_length=1)
    ] | Selector(kind=[IMAGE_KIND, LIST_OF_VALUES_KIND]) = Field(
        title="Images",
        description="Images, or lists of images; one reference may stand without a list.",
        examples=[["$steps.buffer.output"], ["$inputs.first", "$inputs.second"]],
    )
    width: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=2560,
        title="Width",
        description="Width of the canvas, px.",
        examples=[2560, "$inputs.width"],
    )
    height: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=1440,
        title="Height",
        description="Height of the canvas, px.",
        examples=[1440, "$inputs.height"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class GridVisualizationBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return GridVisualizationManifest

    def run(self, images: Any, width: int, height: int) -> BlockResult:
        """`image`: the canvas, with the lineage of the first image."""
        cells = list(_flatten([images]))
        size_wh = picture_size("width", width, "height", height)
        canvas = draw_grid(
            [None if image is None else image.numpy_image for image in cells], *size_wh
        )
        first = next((image for image in cells if image is not None), None)
        if first is None:
            empty = ImageParentMetadata("grid_visualization")
            return {"image": WorkflowImageData(parent_metadata=empty, numpy_image=canvas)}
        return {"image": WorkflowImageData.copy_and_replace(first, numpy_image=canvas)}


def draw_grid(images: list[np.ndarray | None], width: int, height: int) -> np.ndarray:
    """(height, width, 3) BGR uint8 canvas with the images in a square grid, row by row.

    Args:
        images: (h, w), (h, w, 1), (h, w, 3) or (h, w, 4) uint8; None leaves a cell black.
        width: width of the canvas, px.
        height: height of the canvas, px.

    Raises:
        ValueError: the canvas is too small to give each image a pixel.
    """
    side = max(1, ceil(sqrt(len(images))))
    cell_width, cell_height = width // side, height // side
    if cell_width < 1 or cell_height < 1:
        raise InvalidFieldValueError(
            f"a grid of {side} x {side} images needs a canvas of at least {side} x {side} px, "
            f"got {width} x {height}"
        )
    canvas = np.zeros((height, width, 3), np.uint8)
    for index, image in enumerate(images):
        if image is None or image.size == 0:
            continue
        row, column = divmod(index, side)
        picture = _fit(image, cell_width, cell_height)
        top = row * cell_height + (cell_height - picture.shape[0]) // 2
        left = column * cell_width + (cell_width - picture.shape[1]) // 2
        canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas


def _fit(image: np.ndarray, width: int, height: int) -> np.ndarray:
    scale = min(width / image.shape[1], height / image.shape[0])
    size_wh = (
        min(width, max(1, round(image.shape[1] * scale))),
        min(height, max(1, round(image.shape[0] * scale))),
    )
    resized = cv2.resize(
        image, size_wh, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    )
    if resized.ndim == 2 or resized.shape[2] == 1:
        return cv2.cvtColor(resized, cv2.COLOR_GRAY2BGR)
    return cv2.cvtColor(resized, cv2.COLOR_BGRA2BGR) if resized.shape[2] == 4 else resized


def _flatten(images: Iterable[Any]) -> Iterator[WorkflowImageData | None]:
    for image in images:
        if isinstance(image, (list, tuple, Batch)):
            yield from _flatten(image)
        elif image is None or isinstance(image, WorkflowImageData):
            yield image
        else:
            raise InvalidFieldValueError(
                f"grid_visualization takes images, got {type(image).__name__}"
            )
