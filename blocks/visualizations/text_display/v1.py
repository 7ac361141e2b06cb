"""Writes a block of text on an image."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    field_validator,
)

from blocks.formatters.message_template import fill_message
from blocks.formatters.named_operations import NamedOperations, check_names
from blocks.visualizations.colour_text import parse_colour
from blocks.visualizations.limits import fraction, shift, text_scale
from blocks.visualizations.limits import pixels as pixels_of
from blocks.visualizations.manifest import COPY_IMAGE_REASON
from blocks.visualizations.text_display.drawing import TextBlock, TextStyle, place_in_image
from blocks.visualizations.visualization_block import colour_copy
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    STRING_KIND,
)
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType

TRANSPARENT = "transparent"
Align = Literal["left", "center", "right"]
PositionMode = Literal["absolute", "relative"]
Anchor = Literal[
    "center", "top_left", "top_center", "top_right", "bottom_left", "bottom_center", "bottom_right",
    "center_left", "center_right",
]  # fmt: skip
Opacity = Annotated[float, Field(ge=0.0, le=1.0)]


class TextDisplayManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Text Display",
            "version": "v1",
            "short_description": "Write text on an image.",
            "long_description": (
                "Writes text of one or more lines on an image, in a box with a background. Places "
                "such as `{{ $parameters.count }}` are filled from `text_parameters`, which may be "
                "worked on first by `text_parameters_operations`. The box stands at `position_x`, "
                "`position_y` (`absolute`), or at an anchor of the image, moved by `offset_x` to "
                "the right and `offset_y` down but not out of the image (`relative`). Colours are "
                "names such as WHITE, `#rrggbb`, `rgb(r, g, b)` or `bgr(b, g, r)`; the background "
                "may be `transparent`."
            ),
            "license": "Apache-2.0",
            "block_type": "visualization",
            "search_keywords": ["caption", "overlay", "label", "annotate"],
        }
    )
    type: Literal["roboflow_core/text_display@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Image to write on.",
        examples=["$inputs.image"],
    )
    text: str = Field(
        title="Text",
        description="Text to write, with places for parameters.",
        examples=["Detected {{ $parameters.count }} objects"],
    )
    text_parameters: dict[str, Selector() | str | int | float | bool] = Field(
        default_factory=dict,
        title="Text Parameters",
        description="Values for the places in the text.",
        examples=[{"count": "$steps.model.predictions"}],
    )
    text_parameters_operations: dict[str, list[AllOperationsType]] = Field(
        default_factory=dict,
        title="Text Parameters Operations",
        description="What is done with parameters before they are written.",
        examples=[{"count": [{"type": "SequenceLength"}]}],
    )
    text_color: str | Selector(kind=[STRING_KIND]) = Field(
        default="WHITE",
        title="Text Color",
        description="Colour of the letters.",
        examples=["WHITE", "#ff0000", "$inputs.text_color"],
    )
    background_color: str | Selector(kind=[STRING_KIND]) = Field(
        default="BLACK",
        title="Background Color",
        description="Colour of the box, or `transparent`.",
        examples=["BLACK", "transparent"],
    )
    background_opacity: Opacity | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=1.0,
        title="Background Opacity",
        description="How much of the image the box hides, 0 to 1.",
        examples=[0.5],
    )
    font_scale: PositiveFloat | Selector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Font Scale",
        description="Size of the letters, 1 for the font's own.",
        examples=[1.5],
    )
    font_thickness: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=2,
        title="Font Thickness",
        description="Thickness of the strokes, px.",
        examples=[2],
    )
    padding: NonNegativeInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Padding",
        description="Space between text and edge of the box, px.",
        examples=[10],
    )
    text_align: Align | Selector(kind=[STRING_KIND]) = Field(
        default="left",
        title="Text Align",
        description="Place of lines that are shorter than the longest.",
        examples=["center"],
    )
    border_radius: NonNegativeInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=0,
        title="Border Radius",
        description="Radius of the corners of the box, px.",
        examples=[8],
    )
    position_mode: PositionMode | Selector(kind=[STRING_KIND]) = Field(
        default="relative",
        title="Position Mode",
        description="Whether the box stands at a pixel or at an anchor.",
        examples=["relative"],
    )
    position_x: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=0,
        title="Position x",
        description="Left edge of the box, px, for absolute positions.",
        examples=[100],
        json_schema_extra={
            "relevant_for": {"position_mode": {"values": ["absolute"], "required": True}}
        },
    )
    position_y: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=0,
        title="Position y",
        description="Upper edge of the box, px, for absolute positions.",
        examples=[100],
        json_schema_extra={
            "relevant_for": {"position_mode": {"values": ["absolute"], "required": True}}
        },
    )
    anchor: Anchor | Selector(kind=[STRING_KIND]) = Field(
        default="top_left",
        title="Anchor",
        description="Place in the image, for relative positions.",
        examples=["bottom_center"],
        json_schema_extra={
            "relevant_for": {"position_mode": {"values": ["relative"], "required": True}}
        },
    )
    offset_x: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Offset x",
        description="Shift to the right of the anchor, px.",
        examples=[10],
        json_schema_extra={
            "relevant_for": {"position_mode": {"values": ["relative"], "required": True}}
        },
    )
    offset_y: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Offset y",
        description="Shift down from the anchor, px.",
        examples=[10],
        json_schema_extra={
            "relevant_for": {"position_mode": {"values": ["relative"], "required": True}}
        },
    )
    copy_image: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Copy Image",
        description="Accepted for older definitions; the input image is never changed.",
        examples=[True],
    )

    @field_validator("text_parameters_operations")
    @classmethod
    def _operations_have_parameters(
        cls, operations: dict[str, Any], info: ValidationInfo
    ) -> dict[str, Any]:
        check_names(operations, info.data.get("text_parameters"), "text_parameters")
        return operations

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        return {"copy_image": COPY_IMAGE_REASON}

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.4.0,<2.0.0"


class TextDisplayBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._operations = NamedOperations(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TextDisplayManifest

    def run(
        self,
        image: WorkflowImageData,
        text: str,
        text_parameters: dict[str, Any],
        text_parameters_operations: dict[str, list[AllOperationsType]],
        text_color: str,
        background_color: str,
        background_opacity: float,
        font_scale: float,
        font_thickness: int,
        padding: int,
        text_align: str,
        border_radius: int,
        position_mode: str,
        position_x: int,
        position_y: int,
        anchor: str,
        offset_x: int,
        offset_y: int,
        copy_image: bool,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the text on it.

        Raises:
            ValueError: a setting that came from a reference is out of range; the text names it.
        """
        _check_choice("text_align", text_align, Align)
        _check_choice("position_mode", position_mode, PositionMode)
        _check_choice("anchor", anchor, Anchor)
        opacity = fraction("background_opacity", background_opacity)
        transparent = background_color.strip().lower() == TRANSPARENT or opacity == 0
        style = TextStyle(
            colour=parse_colour(text_color),
            background=None if transparent else parse_colour(background_color),
            opacity=opacity,
            font_scale=text_scale("font_scale", font_scale),
            thickness=pixels_of("font_thickness", font_thickness, 1),
            padding=pixels_of("padding", padding),
            align=text_align,
            border_radius=pixels_of("border_radius", border_radius),
        )
        values = self._operations.apply(text_parameters, text_parameters_operations)
        pixels = colour_copy(image.numpy_image)
        message = fill_message(text, values)
        if message:
            block = TextBlock(message, style)
            if position_mode == "absolute":
                left, top = shift("position_x", position_x), shift("position_y", position_y)
            else:
                image_wh = (pixels.shape[1], pixels.shape[0])
                offset = (shift("offset_x", offset_x), shift("offset_y", offset_y))
                left, top = place_in_image(image_wh, block.size_wh, anchor, offset)
            block.draw(pixels, left, top)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=pixels)}


def _check_choice(name: str, value: str, choices: Any) -> None:
    if value not in get_args(choices):
        raise InvalidFieldValueError(
            f"{name} must be one of {', '.join(get_args(choices))}, got {value!r}"
        )
