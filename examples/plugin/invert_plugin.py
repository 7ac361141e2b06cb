"""A block of your own: the whole plug-in in one file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND, IMAGE_KIND


class InvertManifest(WorkflowBlockManifest):
    """Fields of the step as they stand in JSON; a field takes a reference, a value, or both."""

    type: Literal["my_blocks/invert@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(description="Image to invert.")
    strength: float | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(default=1.0, ge=0.0, le=1.0, description="0 leaves the image, 1 inverts it.")

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """What `run` returns, by name and kind."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class InvertBlock(WorkflowBlock):
    """The code of the block. State kept on `self` lives as long as the engine."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The class above."""
        return InvertManifest

    def run(self, image: WorkflowImageData, strength: float) -> BlockResult:
        """Called once an image. Pixels (h, w, 3) BGR are read-only: make new ones."""
        pixels = image.numpy_image
        inverted = (pixels + strength * (255 - 2.0 * pixels)).astype(pixels.dtype)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=inverted)}


def load_blocks() -> list[type[WorkflowBlock]]:
    """The classes this module offers; the engine calls it."""
    return [InvertBlock]
