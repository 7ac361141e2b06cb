"""Images, where they come from, and what a host lets in."""

from execution_engine.images.codec import DEFAULT_MAX_PIXELS, ImageCodec
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import (
    ImageParentMetadata,
    OriginCoordinatesSystem,
    VideoMetadata,
)
from execution_engine.images.serialise import serialise_image

__all__ = [
    "DEFAULT_MAX_PIXELS",
    "ImageCodec",
    "ImageParentMetadata",
    "OriginCoordinatesSystem",
    "VideoMetadata",
    "WorkflowImageData",
    "serialise_image",
]
