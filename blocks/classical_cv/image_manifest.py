"""The manifest fields that blocks working on one image share. A field of a single family does not
belong here.
"""

from __future__ import annotations

from pydantic import AliasChoices, Field

from execution_engine.block_api import Selector, WorkflowBlockManifest
from execution_engine.kinds.catalogue import IMAGE_KIND


class ImageInputManifest(WorkflowBlockManifest):
    """Base of manifests with one `image` field (`images` in older definitions)."""

    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The image to work on, colour (BGR) or single-channel.",
        examples=["$inputs.image", "$steps.crop.crops"],
        validation_alias=AliasChoices("image", "images"),
    )

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"
