"""Draws a counting line and its counts."""

from __future__ import annotations

from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.parameters import FARTHEST_PLACE, whole_number
from blocks.visualizations.colour_text import NAMED_COLOURS, colour_of
from blocks.visualizations.limits import fraction, line_thickness
from blocks.visualizations.limits import text_scale as scale_of_text
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    Fraction,
    PositiveNumber,
    Text,
    VisualizationManifest,
    WholeNumber,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.mask_painting import blend_labels
from blocks.visualizations.text_display.drawing import TextBlock, TextStyle
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from blocks.visualizations.zone_points import read_points
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import LIST_OF_VALUES_KIND

TEXT_PADDING = 4


class LineCounterVisualizationManifest(VisualizationManifest):
    model_config = describe(
        "Line Counter Visualization",
        "Draw a counting line and its counts.",
        (
            "Draws the line between two points and writes how many objects crossed it inwards and "
            "outwards at its first point, moved into the image where needed."
        ),
        ["line", "crossing", "count"],
    )
    type: Literal["roboflow_core/line_counter_visualization@v1"]
    zone: list[Any] | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Zone",
        description="The two ends (x, y) of the line, px.",
        examples=[[[0, 50], [500, 50]], "$inputs.zone"],
    )
    color: Text = Field(
        default="#5bb573",
        title="Color",
        description="Colour of the line.",
        examples=COLOUR_EXAMPLES,
    )
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the line, px.",
        examples=[2, "$inputs.thickness"],
    )
    text_thickness: WholeNumberFrom0 = Field(
        default=1,
        title="Text Thickness",
        description="Thickness of the letters, px.",
        examples=[1, "$inputs.text_thickness"],
    )
    text_scale: PositiveNumber = Field(
        default=1.0,
        title="Text Scale",
        description="Size of the letters, 1 for the font's own.",
        examples=[1.0, "$inputs.text_scale"],
    )
    count_in: WholeNumber = Field(
        default=0,
        title="Count In",
        description="Objects that crossed inwards.",
        examples=["$steps.line_counter.count_in"],
    )
    count_out: WholeNumber = Field(
        default=0,
        title="Count Out",
        description="Objects that crossed outwards.",
        examples=["$steps.line_counter.count_out"],
    )
    opacity: Fraction = Field(
        default=0.3,
        title="Opacity",
        description="How much of the image the line hides, 0 to 1.",
        examples=[0.3, "$inputs.opacity"],
    )


class LineCounterVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LineCounterVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        zone: list[Any],
        color: str,
        thickness: int,
        text_thickness: int,
        text_scale: float,
        count_in: int,
        count_out: int,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the line and the counts.

        Raises:
            ValueError: the zone is no line; the text says what of it is wrong.
        """
        colour, share = colour_of("color", color), fraction("opacity", opacity)
        start, end = read_points("zone", zone, at_least=2, at_most=2).tolist()
        width = line_thickness("thickness", thickness)
        entered, left = (
            whole_number(name, count, -FARTHEST_PLACE, FARTHEST_PLACE)
            for name, count in (("count_in", count_in), ("count_out", count_out))
        )
        text = f"in: {entered}, out: {left}"
        style = TextStyle(
            colour=NAMED_COLOURS["BLACK"],
            background=NAMED_COLOURS["WHITE"],
            opacity=1.0,
            font_scale=scale_of_text("text_scale", text_scale),
            thickness=line_thickness("text_thickness", text_thickness),
            padding=TEXT_PADDING,
            align="left",
            border_radius=0,
        )
        pixels = colour_copy(image.numpy_image)
        labels = np.zeros(pixels.shape[:2], np.uint8)
        cv2.line(labels, start, end, 1, width)
        blend_labels(pixels, labels, np.array([colour], np.uint8), share)
        _write_at(pixels, TextBlock(text, style), start)
        return drawn(image, pixels)


def _write_at(pixels: NDArray[np.uint8], block: TextBlock, middle: list[int]) -> None:
    """Draws text around a point, moved as little as needed to lie inside the image."""
    left, top = (
        max(0, min(centre - length // 2, side - length))
        for centre, length, side in zip(
            middle, block.size_wh, (pixels.shape[1], pixels.shape[0]), strict=True
        )
    )
    block.draw(pixels, left, top)
