"""Auto Rotate on Edges, version 1. The angle is found in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.auto_rotate_on_edges.family import correction
from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.image_preprocessing.family import turned
from blocks.parameters import LARGEST_NUMBER, number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import FLOAT_KIND, IMAGE_KIND, INTEGER_KIND, STRING_KIND


class AutoRotateOnEdgesManifest(ImageInputManifest):
    """Fields of an Auto Rotate on Edges step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Auto Rotate on Edges",
            "version": "v1",
            "short_description": "Turns an image until its straight edges stand upright.",
            "long_description": (
                "Finds the direction that most edges of the image have and turns the image so that "
                "they become vertical, horizontal, or either of the two. The canvas grows to hold "
                "all of the image; new corners are black. An image without clear edges, one that "
                "is straight enough and one that would have to be turned too far stay as they are, "
                "with an angle of 0. Coordinates found in the turned image are not turned back."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["deskew", "straighten", "align", "rotate", "skew", "document"],
        }
    )
    type: Literal["roboflow_core/auto_rotate_on_edges@v1"]
    target_orientation: (
        Selector(kind=[STRING_KIND]) | Literal["vertical", "horizontal", "either"]
    ) = Field(
        default="vertical",
        title="Target Orientation",
        description="How the edges shall lie; `either` is the one that is nearer.",
        examples=["vertical", "$inputs.target_orientation"],
    )
    skip_below_degrees: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=0.4,
        title="Skip Below Degrees",
        description="An image that is turned by less than this stays as it is.",
        examples=[0.4, "$inputs.skip_below_degrees"],
    )
    max_correction_degrees: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=90.0,
        title="Max Correction Degrees",
        description="An image that would have to be turned by more than this stays as it is.",
        examples=[15.0, "$inputs.max_correction_degrees"],
    )
    internal_resolution: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=1000,
        title="Internal Resolution",
        description="Longest side of the copy in which the angle is found, px.",
        examples=[1000, "$inputs.internal_resolution"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The straight image and how far it was turned."""
        return [OutputDefinition("image", [IMAGE_KIND]), OutputDefinition("angle", [FLOAT_KIND])]


class AutoRotateOnEdgesBlockV1(WorkflowBlock):
    """Turns an image until its straight edges stand upright."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return AutoRotateOnEdgesManifest

    def run(
        self,
        image: WorkflowImageData,
        target_orientation: str,
        skip_below_degrees: float,
        max_correction_degrees: float,
        internal_resolution: int,
    ) -> BlockResult:
        """`image`: the turned image, or the one given; `angle`: degrees it was turned by, counter-
        clockwise.

        Raises:
            InvalidFieldValueError: unknown orientation, or a number out of range.
        """
        least = number("skip_below_degrees", skip_below_degrees, 0, LARGEST_NUMBER)
        most = number("max_correction_degrees", max_correction_degrees, 0, LARGEST_NUMBER)
        pixels = image.numpy_image
        angle = correction(pixels, target_orientation, internal_resolution)
        if abs(angle) < least or abs(angle) > most or angle == 0:
            return {"image": image, "angle": 0.0}
        straight = turned(pixels, angle)
        result = WorkflowImageData.copy_and_replace(image, numpy_image=straight)
        return {"image": result, "angle": angle}
