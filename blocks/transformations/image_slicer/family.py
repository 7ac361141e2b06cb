"""What the versions of the image slicer share: fields, grids of tiles, cutting.

Versions only choose their grid.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil
from typing import Annotated
from uuid import uuid4

from pydantic import AliasChoices, Field, PositiveInt

from blocks.parameters import FARTHEST_PLACE, number, whole_number
from blocks.transformations.windows import Interval, Window, numpy_window
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND, IMAGE_KIND, INTEGER_KIND

MOST_SLICES = 20_000
OverlapRatio = Annotated[float, Field(ge=0.0, lt=1.0)]


def stride(slice_length: int, overlap_ratio: float) -> int:
    """Distance between the starts of neighbouring tiles, px.

    Raises:
        ValueError: the tile is not at least 1 px long, or the overlap leaves no way to advance.
    """
    if slice_length < 1:
        raise InvalidFieldValueError(f"a slice must be at least 1 px long, got {slice_length}")
    if not 0.0 <= overlap_ratio < 1.0:
        raise InvalidFieldValueError(
            f"an overlap ratio must be at least 0 and less than 1, got {overlap_ratio}"
        )
    return slice_length - int(slice_length * overlap_ratio)


def clipped_intervals(length: int, slice_length: int, overlap_ratio: float) -> list[Interval]:
    """Tiles along one side that start every stride; those that reach the end are cut there.

    Args:
        length: length of the side, px.
        slice_length: length of a tile, px.
        overlap_ratio: part of a tile that it shares with the next, 0 to 1 (exclusive).
    """
    step = stride(slice_length, overlap_ratio)
    return [(start, min(start + slice_length, length)) for start in range(0, length, step)]


def equal_intervals(length: int, slice_length: int, overlap_ratio: float) -> list[Interval]:
    """Tiles along one side that all have the same length; the last is moved back to the end.

    A side shorter than a tile gives one tile of the side's length. Arguments as for
    `clipped_intervals`.
    """
    count = count_equal_intervals(length, slice_length, overlap_ratio)
    if count == 1:
        return [(0, min(slice_length, length))]
    step = stride(slice_length, overlap_ratio)
    starts = [min(index * step, length - slice_length) for index in range(count)]
    return [(start, start + slice_length) for start in starts]


def count_equal_intervals(length: int, slice_length: int, overlap_ratio: float) -> int:
    """Number of tiles that `equal_intervals` gives: as few as cover the side."""
    step = stride(slice_length, overlap_ratio)
    return 1 + max(0, ceil((length - slice_length) / step))


def count_equal_slices(
    image_size: tuple[int, int],
    slice_size: tuple[int, int],
    overlap_ratios: tuple[float, float],
) -> int:
    """Number of slices that `image_slicer@v2` cuts out of an image.

    Args:
        image_size: (height, width), px.
        slice_size: (height, width), px.
        overlap_ratios: (vertical, horizontal), each from 0 to 1 (exclusive).

    Raises:
        ValueError: a slice is not at least 1 px long, or an overlap ratio is out of range.
    """
    rows, columns = (
        count_equal_intervals(length, slice_length, ratio)
        for length, slice_length, ratio in zip(image_size, slice_size, overlap_ratios, strict=True)
    )
    return rows * columns


class ImageSlicerManifest(WorkflowBlockManifest):
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Image to slice.",
        examples=["$inputs.image"],
        validation_alias=AliasChoices("image", "images"),
    )
    slice_width: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=640,
        title="Slice Width",
        description="Width of a slice, px; best the input width of the model that follows.",
        examples=[320, "$inputs.slice_width"],
    )
    slice_height: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=640,
        title="Slice Height",
        description="Height of a slice, px; best the input height of the model that follows.",
        examples=[320, "$inputs.slice_height"],
    )
    overlap_ratio_width: OverlapRatio | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.2,
        title="Overlap Ratio Width",
        description="Part of a slice's width that it shares with its neighbour.",
        examples=[0.2, "$inputs.overlap_ratio_width"],
    )
    overlap_ratio_height: OverlapRatio | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.2,
        title="Overlap Ratio Height",
        description="Part of a slice's height that it shares with its neighbour.",
        examples=[0.2, "$inputs.overlap_ratio_height"],
    )

    @classmethod
    def get_output_dimensionality_offset(cls) -> int:
        return 1

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("slices", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class ImageSlicer(WorkflowBlock):
    """Cuts an image into overlapping slices, row by row."""

    returns_futures = False
    window = staticmethod(numpy_window)

    @staticmethod
    @abstractmethod
    def intervals(length: int, slice_length: int, overlap_ratio: float) -> list[Interval]:
        """(start, end) of the slices along one side, px."""

    def run(
        self,
        image: WorkflowImageData,
        slice_width: int,
        slice_height: int,
        overlap_ratio_width: float,
        overlap_ratio_height: float,
    ) -> BlockResult:
        """`slices`: the slices, left to right and top to bottom."""
        slice_width = whole_number("slice_width", slice_width, 1, FARTHEST_PLACE)
        slice_height = whole_number("slice_height", slice_height, 1, FARTHEST_PLACE)
        overlap_ratio_width = _overlap_ratio("overlap_ratio_width", overlap_ratio_width)
        overlap_ratio_height = _overlap_ratio("overlap_ratio_height", overlap_ratio_height)
        height, width = image.size
        rows = self.intervals(height, slice_height, overlap_ratio_height)
        columns = self.intervals(width, slice_width, overlap_ratio_width)
        if len(rows) * len(columns) > MOST_SLICES:
            raise InvalidFieldValueError(
                f"Slices of {slice_width} x {slice_height} px that overlap by "
                f"{overlap_ratio_width:g} and {overlap_ratio_height:g} cut an image of {width} x "
                f"{height} px into {len(rows) * len(columns)} slices; at most {MOST_SLICES} are "
                "made."
            )
        return [{"slices": piece} for piece in cut(image, rows, columns, self.window)]


def _overlap_ratio(field: str, value: float) -> float:
    if number(field, value, 0, 1) == 1:
        raise InvalidFieldValueError(f"Field `{field}` must be less than 1, got {value!r}.")
    return float(value)


def cut(
    image: WorkflowImageData,
    rows: list[Interval],
    columns: list[Interval],
    window: Window = numpy_window,
) -> Iterator[WorkflowImageData]:
    """The parts of an image where rows and columns cross, as views of its pixels."""
    for top, bottom in rows:
        for left, right in columns:
            yield WorkflowImageData.create_crop(
                origin_image_data=image,
                crop_identifier=f"image_slicer.{uuid4()}",
                cropped_image=window(image, (top, bottom), (left, right)),
                offset_x=left,
                offset_y=top,
            )
