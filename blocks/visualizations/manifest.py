"""Manifest fields that visualizations share. A field of one family does not belong here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field, NonNegativeInt, PositiveInt

from blocks.visualizations.anchors import Anchor
from blocks.visualizations.palettes import ColourAxis, PaletteName
from execution_engine.block_api import OutputDefinition, Selector, WorkflowBlockManifest
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    STRING_KIND,
)

MASK_KINDS = [INSTANCE_SEGMENTATION_PREDICTION_KIND, RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND]
DETECTION_KINDS = [
    *MASK_KINDS,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
]

Detections = Selector(kind=DETECTION_KINDS)
DetectionsWithMasks = Selector(kind=MASK_KINDS)
AnchorName = Anchor | Selector(kind=[STRING_KIND])
Text = str | Selector(kind=[STRING_KIND])
WholeNumber = int | Selector(kind=[INTEGER_KIND])
WholeNumberFrom0 = NonNegativeInt | Selector(kind=[INTEGER_KIND])
WholeNumberFrom1 = PositiveInt | Selector(kind=[INTEGER_KIND])
Number = float | Selector(kind=[FLOAT_KIND])
PositiveNumber = Annotated[float, Field(gt=0.0)] | Selector(kind=[FLOAT_KIND])
Fraction = Annotated[float, Field(ge=0.0, le=1.0)] | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND])

COPY_IMAGE_REASON = "Images are never drawn on in place, so that other steps see them whole."
PREDICTIONS_EXAMPLES = ["$steps.model.predictions"]
COLOUR_EXAMPLES = ["WHITE", "#5bb573", "rgb(255, 0, 0)", "$inputs.color"]


def describe(
    name: str,
    short_description: str,
    long_description: str,
    search_keywords: Sequence[str],
    version: str = "v1",
) -> ConfigDict:
    """What editors show of a visualization."""
    return ConfigDict(
        json_schema_extra={
            "name": name,
            "version": version,
            "short_description": short_description,
            "long_description": long_description,
            "license": "Apache-2.0",
            "block_type": "visualization",
            "search_keywords": [*search_keywords, "annotate", "draw", "overlay"],
        }
    )


def relevant_for(field: str, *values: str) -> dict[str, Any]:
    """Tells editors to show a field only for some values of another."""
    return {"relevant_for": {field: {"values": list(values), "required": True}}}


class VisualizationManifest(WorkflowBlockManifest):
    """Base of all: an image in, the image with the drawing out."""

    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Image to draw on.",
        examples=["$inputs.image", "$steps.label.image"],
        validation_alias=AliasChoices("image", "images"),
    )
    copy_image: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Copy Image",
        description="Accepted for older definitions; the input image is never changed.",
        examples=[True],
    )

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        """`copy_image`: every drawing is made on a copy."""
        return {"copy_image": COPY_IMAGE_REASON}

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The image with the drawing."""
        return [OutputDefinition("image", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the blocks work with."""
        return ">=1.3.0,<2.0.0"


class DetectionsVisualizationManifest(VisualizationManifest):
    """Base of those that draw detections."""

    predictions: Detections = Field(
        title="Predictions",
        description="Detections to draw.",
        examples=PREDICTIONS_EXAMPLES,
    )


class ColourManifest(VisualizationManifest):
    """Base of those that take colours from a palette."""

    color_palette: PaletteName | Selector(kind=[STRING_KIND]) = Field(
        default="DEFAULT",
        title="Color Palette",
        description="Where colours come from.",
        examples=["DEFAULT", "Matplotlib Viridis", "$inputs.color_palette"],
    )
    palette_size: WholeNumberFrom1 = Field(
        default=10,
        title="Palette Size",
        description="Number of colours taken from a Matplotlib palette; the others have their own.",
        examples=[10, "$inputs.palette_size"],
    )
    custom_colors: list[str] | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        default_factory=list,
        title="Custom Colors",
        description="Colours of the CUSTOM palette.",
        examples=[["#FF0000", "#00FF00", "rgb(0, 0, 255)"], "$inputs.custom_colors"],
        json_schema_extra=relevant_for("color_palette", "CUSTOM"),
    )
    color_axis: ColourAxis | Selector(kind=[STRING_KIND]) = Field(
        default="CLASS",
        title="Color Axis",
        description=(
            "What picks a colour: the class id, the place in the list, or the tracker id. Negative "
            "ids are grey."
        ),
        examples=["CLASS", "$inputs.color_axis"],
    )


class ColouredDetectionsManifest(ColourManifest, DetectionsVisualizationManifest):
    """Base of those that draw detections in the colours of a palette."""


class ColouredMasksManifest(ColourManifest):
    """Base of those that draw detections with masks in the colours of a palette."""

    predictions: DetectionsWithMasks = Field(
        title="Predictions",
        description="Detections with masks to draw.",
        examples=PREDICTIONS_EXAMPLES,
    )
