"""Image Contours, version 1. Finding and drawing are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.contours_detection.family import draw_contours, find_contours
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    CONTOURS_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    NUMPY_ARRAY_KIND,
)


class ImageContoursManifest(ImageInputManifest):
    """Fields of an Image Contours step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Contours",
            "version": "v1",
            "short_description": "Finds, counts and draws the outlines of bright regions.",
            "long_description": (
                "Takes every pixel above 0 as foreground, so the image is best thresholded first. "
                "Returns the outer outlines (holes are not outlined), how they relate, their "
                "number, and the image with them drawn."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["outline", "edge", "shape", "count"],
        }
    )
    type: Literal["roboflow_core/contours_detection@v1"]
    line_thickness: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=3,
        description="Thickness of the drawn outlines in px; -1 fills them.",
        examples=[3, "$inputs.line_thickness"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The drawing, the outlines, their hierarchy and their number."""
        return [
            OutputDefinition("image", [IMAGE_KIND]),
            OutputDefinition("contours", [CONTOURS_KIND]),
            OutputDefinition("hierarchy", [NUMPY_ARRAY_KIND]),
            OutputDefinition("number_contours", [INTEGER_KIND]),
        ]


class ImageContoursBlockV1(WorkflowBlock):
    """Finds, counts and draws the outlines of bright regions."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ImageContoursManifest

    def run(self, image: WorkflowImageData, line_thickness: int) -> BlockResult:
        """`contours`: list of (n, 1, 2) int32; `hierarchy`: (1, m, 4) int32; `image`: (h, w, 3)."""
        contours, hierarchy = find_contours(image.numpy_image)
        drawn = draw_contours(image.numpy_image, contours, line_thickness)
        return {
            "image": WorkflowImageData.copy_and_replace(image, numpy_image=drawn),
            "contours": contours,
            "hierarchy": hierarchy,
            "number_contours": len(contours),
        }
