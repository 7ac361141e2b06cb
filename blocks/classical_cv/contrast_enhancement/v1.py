"""Contrast Enhancement, version 1. The stretch is in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.contrast_enhancement.family import enhance
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND


class ContrastEnhancementManifest(ImageInputManifest):
    """Fields of a Contrast Enhancement step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Contrast Enhancement",
            "version": "v1",
            "short_description": "Stretches the levels of an image to all that there are.",
            "long_description": (
                "Stretches the levels of each channel so that its darkest pixel becomes 0 and its "
                "brightest 255. Some of both can be left out, so that single pixels do not decide. "
                "The contrast can be raised or lowered around the middle, and the brightness "
                "brought to the middle. A channel of one level stays as it is."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["levels", "histogram", "normalize", "brightness", "stretch"],
        }
    )
    type: Literal["roboflow_core/contrast_enhancement@v1"]
    clip_limit: int = Field(
        default=0,
        ge=0,
        le=50,
        title="Clip Limit",
        description="Percent of the pixels left out at the dark and at the bright end.",
        examples=[0, 2],
    )
    contrast_multiplier: float = Field(
        default=1.0,
        ge=0.1,
        le=5.0,
        title="Contrast Multiplier",
        description="Factor of the distance from the middle after the stretch; 1 changes nothing.",
        examples=[1.0, 1.5],
    )
    normalize_brightness: bool = Field(
        default=False,
        title="Normalize Brightness",
        description="Whether the mean brightness is brought to the middle after the stretch.",
        examples=[True],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The image with its levels stretched."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ContrastEnhancementBlockV1(WorkflowBlock):
    """Stretches the levels of an image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ContrastEnhancementManifest

    def run(
        self,
        image: WorkflowImageData,
        clip_limit: int,
        contrast_multiplier: float,
        normalize_brightness: bool,
    ) -> BlockResult:
        """`image`: uint8 of the input's shape."""
        result = enhance(image.numpy_image, clip_limit, contrast_multiplier, normalize_brightness)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
