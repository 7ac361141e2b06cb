"""Writes the classes of a whole image on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field

from blocks.parameters import choice
from blocks.visualizations.anchors import BoxAnchor
from blocks.visualizations.colour_text import Bgr, colour_of
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.limits import text_scale as scale_of_text
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    PREDICTIONS_EXAMPLES,
    ColourManifest,
    describe,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.text_display.drawing import TextBlock, TextStyle, place_in_image
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import (
    BlockResult,
    StepOutputSelector,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowParameterSelector,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    CLASSIFICATION_PREDICTION_KIND,
    FLOAT_KIND,
    INTEGER_KIND,
    STRING_KIND,
)

ClassificationText = Literal["Class", "Confidence", "Class and Confidence"]

_PLACES = {
    "CENTER": "center",
    "CENTER_LEFT": "center_left",
    "CENTER_RIGHT": "center_right",
    "TOP_CENTER": "top_center",
    "TOP_LEFT": "top_left",
    "TOP_RIGHT": "top_right",
    "BOTTOM_LEFT": "bottom_left",
    "BOTTOM_CENTER": "bottom_center",
    "BOTTOM_RIGHT": "bottom_right",
}
_TEXTS = {
    "Class": "{name}",
    "Confidence": "{confidence:.2f}",
    "Class and Confidence": "{name} {confidence:.2f}",
}


class Label(NamedTuple):
    """A class of an image."""

    name: str
    confidence: float
    class_id: int


class ClassificationLabelManifest(ColourManifest):
    model_config = describe(
        "Classification Label Visualization",
        "Write the classes of an image on it.",
        (
            "Writes the class of an image, or one below the other its classes when it has several, "
            "in a box of the colour of the class, at a place inside the image."
        ),
        ["text", "class name", "tag"],
    )
    type: Literal["roboflow_core/classification_label_visualization@v1"]
    predictions: StepOutputSelector(kind=[CLASSIFICATION_PREDICTION_KIND]) = Field(
        title="Predictions",
        description="Result of a classifier.",
        examples=PREDICTIONS_EXAMPLES,
    )
    text: ClassificationText | WorkflowParameterSelector(kind=[STRING_KIND]) = Field(
        default="Class",
        title="Text",
        description="What is written.",
        examples=["Class and Confidence", "$inputs.text"],
    )
    text_position: BoxAnchor | WorkflowParameterSelector(kind=[STRING_KIND]) = Field(
        default="TOP_LEFT",
        title="Text Position",
        description="Place in the image.",
        examples=["TOP_LEFT", "$inputs.text_position"],
    )
    text_color: str | WorkflowParameterSelector(kind=[STRING_KIND]) = Field(
        default="WHITE",
        title="Text Color",
        description="Colour of the letters.",
        examples=COLOUR_EXAMPLES,
    )
    text_scale: float | WorkflowParameterSelector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Text Scale",
        description="Size of the letters, 1 for the font's own.",
        examples=[1.0, "$inputs.text_scale"],
    )
    text_thickness: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=1,
        title="Text Thickness",
        description="Thickness of the letters, px.",
        examples=[1, "$inputs.text_thickness"],
    )
    text_padding: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Text Padding",
        description="Space between text and edge of its box, px.",
        examples=[10, "$inputs.text_padding"],
    )
    border_radius: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=0,
        title="Border Radius",
        description="Radius of the corners of the text's box, px.",
        examples=[0, "$inputs.border_radius"],
    )


class ClassificationLabelVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ClassificationLabelManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: Any,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        text: str,
        text_position: str,
        text_color: str,
        text_scale: float,
        text_thickness: int,
        text_padding: int,
        border_radius: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with its classes.

        Raises:
            ValueError: the predictions are no result of a classifier, or colours go by tracks.
        """
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        template = choice("text", text, _TEXTS)
        place = choice("text_position", text_position, _PLACES)
        letters = colour_of("text_color", text_color)
        scale = scale_of_text("text_scale", text_scale)
        thickness = line_thickness("text_thickness", text_thickness)
        padding = whole_pixels("text_padding", text_padding)
        radius = whole_pixels("border_radius", border_radius)
        labels = read_labels(predictions)
        blocks = []
        for label, background in zip(labels, _colours_of(labels, colours), strict=True):
            style = TextStyle(
                colour=letters,
                background=background,
                opacity=1.0,
                font_scale=scale,
                thickness=thickness,
                padding=padding,
                align="left",
                border_radius=radius,
            )
            blocks.append(TextBlock(template.format(**label._asdict()), style))
        pixels = colour_copy(image.numpy_image)
        _draw_stack(pixels, blocks, place)
        return drawn(image, pixels)


def read_labels(predictions: Any) -> list[Label]:
    """The class of an image, or all that a multi-label classifier gives it; none when undecided.

    Raises:
        ValueError: the value is no result of a classifier.
    """
    if not isinstance(predictions, Mapping) or "predictions" not in predictions:
        raise InvalidFieldValueError(
            "Field `predictions` must be the result of a classifier, got "
            f"{type(predictions).__name__}."
        )
    scores = predictions["predictions"]
    if "predicted_classes" in predictions:
        return [_label(name, scores.get(name)) for name in predictions["predicted_classes"]]
    top = predictions.get("top")
    if not top:
        return []
    return [_label(top, next((row for row in scores if row.get("class") == top), None))]


def _label(name: str, score: Any) -> Label:
    if not isinstance(score, Mapping) or "confidence" not in score:
        raise InvalidFieldValueError(f"Field `predictions` gives the class {name!r} no confidence.")
    return Label(str(name), float(score["confidence"]), int(score.get("class_id", -1)))


def _colours_of(labels: list[Label], colours: RowColours) -> list[Bgr]:
    if colours.axis == "TRACK":
        raise InvalidFieldValueError(
            "color_axis TRACK colours by tracker id, which classes of images have not; use CLASS "
            "or INDEX"
        )
    return [
        colours.colour_of_id(index if colours.axis == "INDEX" else label.class_id)
        for index, label in enumerate(labels)
    ]


def _draw_stack(pixels: Any, blocks: list[TextBlock], place: str) -> None:
    if not blocks:
        return
    width = max(block.size_wh[0] for block in blocks)
    height = sum(block.size_wh[1] for block in blocks)
    image_wh = (pixels.shape[1], pixels.shape[0])
    left, top = place_in_image(image_wh, (width, height), place, (0, 0))
    for block in blocks:
        block_left, _ = place_in_image(image_wh, block.size_wh, place, (0, 0))
        block.draw(pixels, max(left, block_left), top)
        top += block.size_wh[1]
