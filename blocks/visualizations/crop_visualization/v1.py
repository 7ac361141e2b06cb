"""Shows enlarged cuttings of detections beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.kinds.detections.rle import MOST_PIXELS
from blocks.parameters import number
from blocks.visualizations.anchors import position_of
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import (
    AnchorName,
    ColouredDetectionsManifest,
    PositiveNumber,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.mask_painting import clipped_boxes
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    anchored,
    colour_copy,
    drawn,
)
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

SMALLEST_SCALE = 1e-3


class CropVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Crop Visualization",
        "Show enlarged cuttings of detections.",
        (
            "Cuts out each box, scales the cutting and places it at a place of the box, in a frame "
            "of its colour."
        ),
        ["zoom", "magnify", "inset", "picture in picture"],
    )
    type: Literal["roboflow_core/crop_visualization@v1", "CropVisualization"]
    position: AnchorName = Field(
        default="TOP_CENTER",
        title="Position",
        description="Place of the cutting.",
        examples=["TOP_CENTER", "$inputs.position"],
    )
    scale_factor: PositiveNumber = Field(
        default=2.0,
        title="Scale Factor",
        description="How many times larger than the box the cutting is.",
        examples=[2.0, "$inputs.scale_factor"],
    )
    border_thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Border Thickness",
        description="Thickness of the frame, px.",
        examples=[2, "$inputs.border_thickness"],
    )


class CropVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CropVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        position: str,
        scale_factor: float,
        border_thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the cuttings.

        Raises:
            ValueError: a cutting would be larger than any image.
        """
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(
            _annotator, colours, position, scale_factor, border_thickness
        )
        pixels = colour_copy(image.numpy_image)
        size = pixels.shape[:2]
        detections = anchored(predictions, size, position)
        if len(detections):
            _check_size(clipped_boxes(detections.xyxy, size), annotator.scale_factor)
            indices = colours.indices(detections)
            pixels = annotator.annotate(pixels, detections, custom_color_lookup=indices)
        return drawn(image, pixels)


def _annotator(
    colours: RowColours, position: str, scale_factor: float, border_thickness: int
) -> sv.CropAnnotator:
    import supervision as sv

    return sv.CropAnnotator(
        position=position_of("position", position),
        scale_factor=number("scale_factor", scale_factor, minimum=SMALLEST_SCALE),
        border_color=colours.palette(),
        border_thickness=line_thickness("border_thickness", border_thickness),
    )


def _check_size(boxes: list[tuple[int, ...]], scale: float) -> None:
    area = max((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in boxes)
    if area * scale * scale > MOST_PIXELS:
        raise InvalidFieldValueError(
            f"Field `scale_factor` must leave a box of {area} px at most {MOST_PIXELS} px, got "
            f"{scale!r}."
        )
