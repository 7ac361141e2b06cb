"""Writes labels beside detections in a font that has letters of many scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from blocks.parameters import MOST_PIXELS, choice, whole_number
from blocks.visualizations.anchors import position_of
from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.drawn_text import drawable_text
from blocks.visualizations.label_visualization.family import WrittenLabelManifest
from blocks.visualizations.label_visualization.texts import label_texts
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.manifest import (
    WholeNumberFrom0,
    WholeNumberFrom1,
    describe,
    relevant_for,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.rich_label_visualization.fonts import FontFamily, font_file
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    anchored,
    colour_copy,
    drawn,
    sv_colour,
)
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import STRING_KIND

if TYPE_CHECKING:
    import supervision as sv

LARGEST_FONT = 1000
"""Tallest letters, px."""
SMALLEST_AUTOMATIC_FONT = 10
FONT_OF_IMAGE = 0.03
"""Automatic size of letters, as a part of the shorter side of the image."""
_AUTOMATIC = {"Manual": False, "Automatic": True}


class RichLabelVisualizationManifest(WrittenLabelManifest):
    model_config = describe(
        "Rich Label Visualization",
        "Write labels in any script beside detections.",
        "Writes the class, the confidence, the size or another property of each detection in a box "
        "of its colour, with letters of a TrueType font, so that names need not be English. A font "
        "that is not installed is replaced by DejaVu Sans or DejaVu Sans Mono. Long labels can be "
        "broken into lines. What a detection does not know is written as N/A.",
        ["text", "caption", "class name", "confidence", "unicode", "font"],
    )
    type: Literal["roboflow_core/rich_label_visualization@v1"]
    font_family: FontFamily | Selector(kind=[STRING_KIND]) = Field(
        default="Geist Mono",
        title="Font Family",
        description="Font of the letters, where it is installed.",
        examples=["Noto Sans", "$inputs.font_family"],
    )
    text_size_mode: Literal["Manual", "Automatic"] | Selector(kind=[STRING_KIND]) = Field(
        default="Manual",
        title="Text Size Mode",
        description=(
            "Whether the letters have the size given or one that follows from the size of the "
            "image."
        ),
        examples=["Automatic", "$inputs.text_size_mode"],
    )
    font_size: WholeNumberFrom1 = Field(
        default=14,
        title="Font Size",
        description="Size of the letters, px.",
        examples=[14, "$inputs.font_size"],
        json_schema_extra=relevant_for("text_size_mode", "Manual"),
    )
    text_padding: WholeNumberFrom0 = Field(
        default=10,
        title="Text Padding",
        description="Space between text and edge of its box and between lines, px.",
        examples=[10, "$inputs.text_padding"],
    )
    border_radius: WholeNumberFrom0 = Field(
        default=0,
        title="Border Radius",
        description="Radius of the corners of the text's box, px.",
        examples=[0, "$inputs.border_radius"],
    )
    max_line_length: WholeNumberFrom1 | None = Field(
        default=None,
        title="Max Line Length",
        description="Characters after which a label goes on in a new line; without it, none does.",
        examples=[20, "$inputs.max_line_length"],
    )


@dataclass(frozen=True, slots=True)
class RichLabelStyle:
    """How labels look, as the fields say it; not yet checked, but for the size in px."""

    position: Any
    colour: Any
    font_family: Any
    font_size: int
    padding: Any
    border_radius: Any
    max_line_length: Any


class RichLabelVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return RichLabelVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        text: str,
        text_position: str,
        text_color: str,
        font_family: str,
        text_size_mode: str,
        font_size: int,
        text_padding: int,
        border_radius: int,
        max_line_length: int | None,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the labels."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        pixels = colour_copy(image.numpy_image)
        size = (pixels.shape[0], pixels.shape[1])
        letters = whole_number("font_size", font_size, minimum=1, maximum=LARGEST_FONT)
        if choice("text_size_mode", text_size_mode, _AUTOMATIC):
            letters = automatic_font_size(size)
        style = RichLabelStyle(
            text_position, text_color, font_family, letters, text_padding, border_radius,
            max_line_length,
        )  # fmt: skip
        annotator = self._prepared.get(_annotator, colours, style)
        detections = anchored(predictions, size, text_position)
        if len(detections):
            counted = drawable(predictions, size, masks=text == "Area")
            labels = [drawable_text(label) for label in label_texts(counted, text)]
            _check_length(labels, letters)
            pixels = annotator.annotate(
                pixels,
                detections,
                labels=labels,
                custom_color_lookup=colours.indices(detections),
            )
        return drawn(image, pixels)


def automatic_font_size(image_size: tuple[int, int]) -> int:
    """Size of letters that are legible in an image (height, width), px."""
    return min(max(round(min(image_size) * FONT_OF_IMAGE), SMALLEST_AUTOMATIC_FONT), LARGEST_FONT)


def _check_length(labels: Sequence[str], font_size: int) -> None:
    # A label is drawn on a strip of its own before it is laid over the image.
    longest = max(map(len, labels))
    if longest * font_size**2 > MOST_PIXELS:
        raise InvalidFieldValueError(
            f"Field `font_size`: a label of {longest} characters may have letters of at most "
            f"{int((MOST_PIXELS / longest) ** 0.5)} px, got {font_size}."
        )


def _annotator(colours: RowColours, style: RichLabelStyle) -> sv.RichLabelAnnotator:
    import supervision as sv

    longest_line = style.max_line_length
    if longest_line is not None:
        longest_line = whole_number("max_line_length", longest_line, minimum=1)
    return sv.RichLabelAnnotator(
        color=colours.palette(),
        text_color=sv_colour(colour_of("text_color", style.colour)),
        font_path=str(font_file("font_family", style.font_family)),
        font_size=style.font_size,
        text_padding=whole_pixels("text_padding", style.padding),
        text_position=position_of("text_position", style.position),
        border_radius=whole_pixels("border_radius", style.border_radius),
        max_line_length=longest_line,
    )
