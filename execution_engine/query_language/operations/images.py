"""Operations on images and frames."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from execution_engine.images.image_data import WorkflowImageData, encode_jpeg
from execution_engine.images.metadata import VideoMetadata
from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.site import Parameters, Site, Step

JPEG_START_IN_BASE64: Final = "/9j/"
_MEASURES: Final[Mapping[str, Callable[[int, int], int | float]]] = {
    "size": lambda height, width: height * width,
    "height": lambda height, width: height,
    "width": lambda height, width: width,
    "aspect_ratio": lambda height, width: width / height,
}


def property_of_image(operation: Operation, site: Site) -> Step:
    """`ExtractImageProperty`: height or width in px, their product, or width / height."""
    name = operation.parameters["property_name"]
    measure = _MEASURES[name]

    def step(value: Any, parameters: Parameters) -> int | float:
        height, width = _image(value, site).size
        try:
            return measure(height, width)
        except ZeroDivisionError as error:
            raise site.failed(
                f"an image of height 0 and width {width} has no {name}", error
            ) from error

    return step


def frame_metadata(operation: Operation, site: Site) -> Step:
    """`ExtractFrameMetadata`: number, timestamp, or seconds since the first frame (number 1)."""
    name = operation.parameters["property_name"]

    def step(value: Any, parameters: Parameters) -> Any:
        if isinstance(value, VideoMetadata):
            metadata = value
        elif isinstance(value, WorkflowImageData):
            metadata = value.video_metadata
        else:
            raise site.wrong_input("an image or video metadata", value)
        if name == "frame_number":
            return metadata.frame_number
        if name == "frame_timestamp":
            return metadata.frame_timestamp
        if not metadata.fps:
            raise site.failed(
                f"seconds_since_start needs the video's frames a second, got fps={metadata.fps!r}"
            )
        return (metadata.frame_number - 1) / metadata.fps

    return step


def to_jpeg(operation: Operation, site: Site) -> Step:
    """`ConvertImageToJPEG`: JPEG bytes of the image."""
    quality = operation.parameters["compression_level"]

    def step(value: Any, parameters: Parameters) -> bytes:
        return _jpeg(_image(value, site), site, quality)

    return step


def to_base64(operation: Operation, site: Site) -> Step:
    """`ConvertImageToBase64`: JPEG as base64 text; the text of a JPEG that it came as is kept."""

    def step(value: Any, parameters: Parameters) -> str:
        image = _image(value, site)
        try:
            known = image.base64_image
        except ValueError as error:
            raise site.failed(str(error), error) from error
        if known.startswith(JPEG_START_IN_BASE64):
            return known
        return base64.b64encode(_jpeg(image, site)).decode("ascii")

    return step


def _image(value: Any, site: Site) -> WorkflowImageData:
    if not isinstance(value, WorkflowImageData):
        raise site.wrong_input("an image", value)
    return value


def _jpeg(image: WorkflowImageData, site: Site, quality: int = 95) -> bytes:
    try:
        return encode_jpeg(image.numpy_image, quality)
    except ValueError as error:
        raise site.failed(str(error), error) from error
