"""Images as a request carries them: `{"type", "value"}` with base64 text. The caller's own bytes
travel as they are; pixels are encoded without loss unless JPEG is asked for.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np

from execution_engine.errors import RuntimeInputError, WorkflowImageLoadError
from execution_engine.images.codec import ImageCodec
from execution_engine.images.headers import READABLE_FORMATS, encoded_size
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import OriginCoordinatesSystem, VideoMetadata

ImageFormat = Literal["png", "jpeg"]
IMAGE_FORMATS: tuple[ImageFormat, ...] = ("png", "jpeg")
# Compression beyond this takes several times as long for a few percent.
_PNG_EFFORT = 1
_LONGEST_PATH = 4096
_CONTEXT = "remote_execution | workflow_input_assembly"


class ImageWriter:
    """Turns what a caller gives as an image into JSON data.

    Args:
        codec: what the caller's side permits: reading local files, sizes.
        image_format: how pixels are encoded: `png` (without loss) or `jpeg`.
        jpeg_quality: 1 to 100.

    Raises:
        ValueError: the format or the quality is none.
    """

    def __init__(
        self, codec: ImageCodec, image_format: ImageFormat = "png", jpeg_quality: int = 95
    ) -> None:
        if image_format not in IMAGE_FORMATS:
            raise ValueError(
                f"image_format must be one of {', '.join(IMAGE_FORMATS)}, got {image_format!r}"
            )
        if not 1 <= jpeg_quality <= 100:
            raise ValueError(f"jpeg_quality must lie in 1..100, got {jpeg_quality!r}")
        self._codec = codec
        self._format = image_format
        self._quality = jpeg_quality

    def write(self, name: str, value: Any) -> dict[str, Any]:
        """The image as JSON data.

        Args:
            name: the input or its element (`image`, `image.[0]`), for messages.
            value: what `ImageCodec.load` takes. A path is read here and its bytes are sent; an
                http(s) address is sent for the server to fetch, if it does.

        Raises:
            RuntimeInputError: it is no image, or reading it is not permitted here.
        """
        try:
            if isinstance(value, WorkflowImageData):
                return {**self._source(name, value), **_lineage(value)}
            if isinstance(value, Mapping) and "value" in value:
                kept = {key: _plain(item) for key, item in value.items() if key != "value"}
                return {**kept, **self._source(name, value["value"], value.get("type"))}
            return self._source(name, value)
        except WorkflowImageLoadError as error:
            raise RuntimeInputError(error.public_message, _CONTEXT, error) from error

    def encode(self, pixels: np.ndarray) -> dict[str, Any]:
        """Pixels (h, w, 3) BGR or (h, w), uint8, as an image of a request."""
        if self._format == "png":
            suffix, options = ".png", [cv2.IMWRITE_PNG_COMPRESSION, _PNG_EFFORT]
        else:
            suffix, options = ".jpg", [cv2.IMWRITE_JPEG_QUALITY, self._quality]
        done, encoded = cv2.imencode(suffix, pixels, options)
        if not done:
            raise ValueError(f"an array of shape {pixels.shape} cannot be encoded as {suffix}")
        written = _base64(encoded.tobytes())
        # Readers make colour of encoded images unless they are told.
        return written | {"channels": 1} if pixels.ndim == 2 else written

    def _source(self, name: str, value: Any, declared: Any = None) -> dict[str, Any]:
        if isinstance(value, str) and value[:8].lower().startswith(("http://", "https://")):
            return {"type": "url", "value": value}
        path = self._path(value, declared)
        if path is not None:
            return _base64(self._file(name, path))
        source = value if declared is None else {"type": declared, "value": value}
        if isinstance(value, str):
            if len(value) < _LONGEST_PATH or declared == "numpy":
                # Short text may be a misspelt path; the codec says so, the server could not.
                self._codec.load(name, source, name)
            return {"type": "base64", "value": value}
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _base64(_checked(name, bytes(value), "bytes"))
        # The codec's checks and messages are those of a local run.
        return self.encode(self._codec.load(name, source, name).numpy_image)

    def _path(self, value: Any, declared: Any) -> Path | None:
        if isinstance(value, Path):
            return value
        if not isinstance(value, str) or len(value) >= _LONGEST_PATH:
            return None
        is_file = declared == "file" or (self._codec.allow_local_files and _exists(value))
        return Path(value) if is_file else None

    def _file(self, name: str, path: Path) -> bytes:
        """The bytes of an image file; pixels stay undecoded."""
        if not self._codec.allow_local_files or not path.is_file():
            # A refusal, worded as in a local run.
            self._codec.load(name, path, name)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise WorkflowImageLoadError(
                f"The image `{name}` was given as the path {str(path)!r}, which cannot be read: "
                f"{error.strerror or error}.",
                _CONTEXT,
                error,
            ) from error
        return _checked(name, content, f"the file {str(path)!r}")


def _exists(text: str) -> bool:
    try:
        return os.path.isfile(text)
    except ValueError:  # characters no path can hold
        return False


def _checked(name: str, content: bytes, what: str) -> bytes:
    if encoded_size(content) is None:
        raise WorkflowImageLoadError(
            f"The image `{name}` was given as {what} ({len(content)} bytes), which is no image of "
            f"a known format ({READABLE_FORMATS}).",
            _CONTEXT,
        )
    return content


def _base64(content: bytes) -> dict[str, Any]:
    return {"type": "base64", "value": base64.b64encode(content).decode("ascii")}


def _lineage(image: WorkflowImageData) -> dict[str, Any]:
    """What else an image brings: its frame and its ancestors."""
    parent, root = image.parent_metadata, image.workflow_root_ancestor_metadata
    assert parent.origin_coordinates is not None
    assert root.origin_coordinates is not None
    extra: dict[str, Any] = {"parent_id": parent.parent_id}
    if image.is_derived:
        extra["parent_origin"] = parent.origin_coordinates.to_dict()
        extra["root_parent_id"] = root.parent_id
        extra["root_parent_origin"] = root.origin_coordinates.to_dict()
    if image.has_video_metadata:
        extra["video_metadata"] = image.video_metadata.to_dict()
    return extra


def _plain(value: Any) -> Any:
    if isinstance(value, (VideoMetadata, OriginCoordinatesSystem)):
        return value.to_dict()
    return value
