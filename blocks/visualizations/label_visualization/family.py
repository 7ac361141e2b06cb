"""Text beside detections: the fields and the drawing that the versions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from blocks.visualizations.anchors import position_of
from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.drawn_text import drawable_text
from blocks.visualizations.label_visualization.texts import LabelText, label_texts
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.limits import text_scale as scale_of_text
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    AnchorName,
    ColouredDetectionsManifest,
    PositiveNumber,
    Text,
    WholeNumberFrom0,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    anchored,
    colour_copy,
    drawn,
    sv_colour,
)
from execution_engine.block_api import BlockResult, Selector, WorkflowImageData
from execution_engine.kinds.catalogue import STRING_KIND

if TYPE_CHECKING:
    import supervision as sv

NAME = "Label Visualization"
SHORT_DESCRIPTION = "Write labels beside detections."
LONG_DESCRIPTION = (
    "Writes the class, the confidence, the size or another property of each detection in a box of "
    "its colour, at a place of the detection's box or at the centre of gravity of its mask. What a "
    "detection does not know is written as N/A."
)
SEARCH_KEYWORDS = ["text", "caption", "class name", "confidence"]


class WrittenLabelManifest(ColouredDetectionsManifest):
    """What is written beside detections, where and in what colour."""

    text: LabelText | Selector(kind=[STRING_KIND]) = Field(
        default="Class",
        title="Text",
        description="What is written.",
        examples=["Class and Confidence", "$inputs.text"],
    )
    text_position: AnchorName = Field(
        default="TOP_LEFT",
        title="Text Position",
        description="Place of the label; it stands outside the box.",
        examples=["TOP_LEFT", "$inputs.text_position"],
    )
    text_color: Text = Field(
        default="WHITE",
        title="Text Color",
        description="Colour of the letters.",
        examples=COLOUR_EXAMPLES,
    )


class LabelManifest(WrittenLabelManifest):
    """The fields of all versions."""

    text_scale: PositiveNumber = Field(
        default=1.0,
        title="Text Scale",
        description="Size of the letters, 1 for the font's own.",
        examples=[1.0, "$inputs.text_scale"],
    )
    text_thickness: WholeNumberFrom0 = Field(
        default=1,
        title="Text Thickness",
        description="Thickness of the letters, px.",
        examples=[1, "$inputs.text_thickness"],
    )
    text_padding: WholeNumberFrom0 = Field(
        default=10,
        title="Text Padding",
        description="Space between text and edge of its box, px.",
        examples=[10, "$inputs.text_padding"],
    )
    border_radius: WholeNumberFrom0 = Field(
        default=0,
        title="Border Radius",
        description="Radius of the corners of the text's box, px.",
        examples=[0, "$inputs.border_radius"],
    )


@dataclass(frozen=True, slots=True)
class LabelStyle:
    """How labels look, as the fields say it; not yet checked."""

    position: Any
    colour: Any
    scale: Any
    thickness: Any
    padding: Any
    border_radius: Any


class LabelBlock(VisualizationBlock):
    """The drawing of all versions."""

    def label(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        colours: RowColours,
        text: str,
        style: LabelStyle,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the labels."""
        annotator = self._prepared.get(_annotator, colours, style)
        pixels = colour_copy(image.numpy_image)
        size = pixels.shape[:2]
        detections = anchored(predictions, size, style.position)
        if len(detections):
            counted = drawable(predictions, size, masks=text == "Area")
            pixels = annotator.annotate(
                pixels,
                detections,
                labels=[drawable_text(label) for label in label_texts(counted, text)],
                custom_color_lookup=colours.indices(detections),
            )
        return drawn(image, pixels)


def _annotator(colours: RowColours, style: LabelStyle) -> sv.LabelAnnotator:
    import supervision as sv

    return sv.LabelAnnotator(
        color=colours.palette(),
        text_color=sv_colour(colour_of("text_color", style.colour)),
        text_scale=scale_of_text("text_scale", style.scale),
        text_thickness=line_thickness("text_thickness", style.thickness),
        text_padding=whole_pixels("text_padding", style.padding),
        text_position=position_of("text_position", style.position),
        border_radius=whole_pixels("border_radius", style.border_radius),
    )
