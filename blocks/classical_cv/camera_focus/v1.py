"""Camera Focus, version 1: Brenner's measure."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from pydantic import ConfigDict

from blocks.classical_cv.camera_focus.family import brenner
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import FLOAT_KIND, IMAGE_KIND


class CameraFocusManifestV1(ImageInputManifest):
    """Fields of a Camera Focus step, version 1."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Camera Focus",
            "version": "v1",
            "short_description": "Measures how sharp an image is.",
            "long_description": (
                "Brenner's measure: the squared difference of pixels two apart, averaged. The "
                "higher the sharper; values of different scenes cannot be compared."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["sharpness", "blur", "focus", "brenner"],
        }
    )
    type: Literal["roboflow_core/camera_focus@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The measure of every pixel as an image, and its mean."""
        return [
            OutputDefinition("image", [IMAGE_KIND]),
            OutputDefinition("focus_measure", [FLOAT_KIND]),
        ]


class CameraFocusBlockV1(WorkflowBlock):
    """Measures sharpness after Brenner."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return CameraFocusManifestV1

    def run(self, image: WorkflowImageData) -> BlockResult:
        """`image`: (h, w) uint8, the measure scaled to its maximum, with the mean written on it."""
        measure = brenner(image.numpy_image)
        focus = float(measure.mean())
        picture = (measure * (255 / max(int(measure.max()), 1))).astype(np.uint8)
        text = f"Focus value: {focus:.2f}"
        cv2.putText(picture, text, (10, 30), cv2.FONT_HERSHEY_SIMPLEX, 1, (255, 255, 255), 2)
        return {
            "image": WorkflowImageData.copy_and_replace(image, numpy_image=picture),
            "focus_measure": focus,
        }
