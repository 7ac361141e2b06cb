"""`ImageCodec`: which image sources a host permits and how each becomes a `WorkflowImageData`.

Fetches nothing itself: the host gives the function that does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import cv2
import numpy as np

from execution_engine.errors import WorkflowImageLoadError
from execution_engine.images.headers import READABLE_FORMATS, encoded_size
from execution_engine.images.image_data import WorkflowImageData, decode_base64_text, decode_image
from execution_engine.images.metadata import (
    ImageParentMetadata,
    OriginCoordinatesSystem,
    VideoMetadata,
)

if TYPE_CHECKING:
    from execution_engine.kinds.codec import DecodingContext

DEFAULT_MAX_PIXELS = 178_956_970
_ERROR_CONTEXT = "workflow_execution | image_decoding"
_LONGEST_PATH = 4096
_LONGEST_SHOWN = 100
# Text that is no longer and decodes to no image was meant as the name of a file.
_LONGEST_NAME = 64
_ACCEPTED = (
    "a uint8 array (BGR or single-channel), base64 text, an object with `type` and `value`, "
    "or, where the host permits, a URL or a path"
)


@dataclass(frozen=True, slots=True)
class ImageCodec:
    """The host's policy for image inputs.

    Serialised (pickled) arrays are refused whatever the policy: reading them can run code.

    Attributes:
        allow_local_files: whether paths on this machine are read.
        allow_urls: whether `http(s)` addresses are read, through `fetch_url`.
        fetch_url: returns the bytes behind an address; refuses addresses a caller may not reach.
        max_pixels: largest height times width that is decoded. The size is read from the header
            before any pixel is decoded, and compared again afterwards.

    Raises:
        ValueError: URLs are allowed without a way to fetch them.
    """

    allow_local_files: bool = False
    allow_urls: bool = False
    fetch_url: Callable[[str], bytes] | None = None
    max_pixels: int = DEFAULT_MAX_PIXELS

    def __post_init__(self) -> None:
        if self.allow_urls and self.fetch_url is None:
            raise ValueError(
                "ImageCodec(allow_urls=True) needs fetch_url, a function from URL to bytes"
            )

    def load(
        self, name: str, value: Any, parent_id: str, context: DecodingContext | None = None
    ) -> WorkflowImageData:
        """The image a caller gave for an input.

        Args:
            name: the input or its element (`image`, `image.[0]`), for messages.
            value: `WorkflowImageData` (returned as is); uint8 array (h, w, 3) BGR, (h, w, 4) BGRA
                (alpha is dropped), (h, w, 1) or (h, w); uint8 torch tensor (3, h, w) RGB or
                (1, h, w); text (URL, path, or base64 with or without a `data:` prefix); encoded
                bytes; `pathlib.Path`; or a mapping with `value` and, each optional, `type`,
                `video_metadata`, `parent_id`, `parent_origin`, `root_parent_id`,
                `root_parent_origin`, and `channels`, which is 1 for pixels (h, w): encoded
                images are read as colour otherwise. What a text is, is told from the text, not
                from `type`.
            parent_id: lineage id of an image that brings none of its own.
            context: what the run forbids on top of this policy.

        Raises:
            WorkflowImageLoadError: the source is not permitted, cannot be read, or is no image.
        """
        if isinstance(value, WorkflowImageData):
            return value
        files_allowed = self.allow_local_files and not (
            context is not None and context.prevent_local_images_loading
        )
        if isinstance(value, Mapping):
            image = self._load_mapping(name, value, parent_id, files_allowed)
        else:
            pixels = self._load_source(name, value, None, files_allowed)
            image = WorkflowImageData(ImageParentMetadata(parent_id), **pixels)
        if context is not None and not context.has_room_for(image.size[0] * image.size[1]):
            raise _error(
                name,
                "one of several images that have too many pixels together; this host decodes at "
                f"most {context.limits.max_total_pixels} px a run",
            )
        return image

    def _load_mapping(
        self, name: str, value: Mapping[str, Any], parent_id: str, files_allowed: bool
    ) -> WorkflowImageData:
        if "value" not in value:
            raise _error(
                name,
                f"an object with {sorted(map(str, value))}, without `value`; expected {_ACCEPTED}",
            )
        source = value["value"]
        declared = value.get("type")
        video = _video_metadata(name, value.get("video_metadata"))
        if isinstance(source, WorkflowImageData):
            return WorkflowImageData.copy_and_replace(
                source, **({} if video is None else {"video_metadata": video})
            )
        own_id = parent_id if value.get("parent_id") is None else str(value["parent_id"])
        parent = ImageParentMetadata(own_id, _origin(name, "parent_origin", value))
        root = None
        root_origin = _origin(name, "root_parent_origin", value)
        if value.get("root_parent_id") is not None:
            root = ImageParentMetadata(str(value["root_parent_id"]), root_origin)
        elif root_origin is not None:
            root = ImageParentMetadata(own_id, root_origin)
        pixels = self._load_source(name, source, declared, files_allowed)
        if value.get("channels") == 1:
            pixels = _single_channel(pixels)
        return WorkflowImageData(
            parent, workflow_root_ancestor_metadata=root, video_metadata=video, **pixels
        )

    def _load_source(
        self, name: str, source: Any, declared: Any, files_allowed: bool
    ) -> dict[str, Any]:
        """The constructor arguments of `WorkflowImageData` that hold the pixels."""
        if declared == "numpy":
            raise _error(
                name,
                "a serialised numpy array, which is never accepted: reading it can run code; send "
                "the pixels as `numpy_object` or an encoded image as `base64`",
            )
        if isinstance(source, np.ndarray):
            return {"numpy_image": _checked_pixels(name, source)}
        if isinstance(source, str):
            return self._load_text(name, source, declared, files_allowed)
        if isinstance(source, Path):
            return self._load_file(name, source, files_allowed)
        if isinstance(source, (bytes, bytearray, memoryview)):
            return {"numpy_image": self._decode(name, bytes(source))}
        if type(source).__module__.partition(".")[0] == "torch":
            return {"tensor_image": _checked_tensor(name, source)}
        raise _error(name, f"a value of type {type(source).__name__}; expected {_ACCEPTED}")

    def _load_text(
        self, name: str, text: str, declared: Any, files_allowed: bool
    ) -> dict[str, Any]:
        if text[:8].lower().startswith(("http://", "https://")):
            return self._load_url(name, text)
        if declared == "file":
            return self._load_file(name, Path(text), files_allowed)
        if files_allowed and len(text) < _LONGEST_PATH and os.path.isfile(text):
            return self._load_file(name, Path(text), files_allowed)
        body = text.split(",", 1)[1] if text.startswith("data:") and "," in text else text
        try:
            content = decode_base64_text(body)
        except WorkflowImageLoadError as error:
            if not files_allowed:
                what = f"text of {len(text)} characters that is not base64; paths of local files "
                what += "are not read here"
            elif len(text) < _LONGEST_PATH:
                what = _no_file(text)
            else:
                what = f"text of {len(text)} characters that is not base64"
            raise _error(name, what, error) from error
        if files_allowed and len(text) <= _LONGEST_NAME and encoded_size(content) is None:
            raise _error(name, _no_file(text))  # names such as "images/street" are base64 by chance
        # The text itself is kept: an image whose pixels nobody changed goes out as it came in.
        return {"numpy_image": self._decode(name, content), "base64_image": body.strip()}

    def _load_url(self, name: str, url: str) -> dict[str, Any]:
        # Only the host is shown: a query often holds a token.
        host = urlsplit(url).hostname or ""
        if not self.allow_urls or self.fetch_url is None:
            raise _error(
                name, f"a URL (host {host}); this host does not permit loading images from URLs"
            )
        try:
            content = self.fetch_url(url)
        except Exception as error:
            raise _error(
                name, f"a URL (host {host}) that cannot be fetched: {error}", error
            ) from error
        return {"numpy_image": self._decode(name, content), "image_reference": url}

    def _load_file(self, name: str, path: Path, files_allowed: bool) -> dict[str, Any]:
        if not files_allowed:
            raise _error(name, "a path; reading local files is not permitted here")
        try:
            # Devices and pipes may never end.
            if path.exists() and not path.is_file():
                raise _error(name, f"the path {str(path)!r}, which is no regular file")
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise _error(name, _no_file(str(path), "no file that exists"), error) from error
        except OSError as error:
            reason = error.strerror or error
            raise _error(
                name, f"the path {str(path)!r}, which cannot be read: {reason}", error
            ) from error
        return {"numpy_image": self._decode(name, content), "image_reference": str(path)}

    def _decode(self, name: str, content: bytes) -> np.ndarray:
        size = encoded_size(content)
        if size is None:
            raise _error(
                name,
                f"{len(content)} bytes that are no image of a known format ({READABLE_FORMATS})",
            )
        self._check_size(name, size)
        try:
            pixels = decode_image(content)
        except WorkflowImageLoadError as error:
            raise _error(
                name, f"{len(content)} bytes that do not decode; the image is damaged", error
            ) from error
        self._check_size(name, (pixels.shape[0], pixels.shape[1]))
        return pixels

    def _check_size(self, name: str, size: tuple[int, int]) -> None:
        height, width = size
        if height * width > self.max_pixels:
            raise _error(
                name,
                f"an image of {width}x{height} px; this host decodes at most {self.max_pixels} px",
            )
        if height * width == 0:
            raise _error(name, f"an image of {width}x{height} px, which has no pixels")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}...")


def _no_file(text: str, what: str = "neither a file that exists nor base64") -> str:
    """What is wrong with text that holds no image and names no file."""
    if not text.strip():
        return "an empty text"
    if os.path.isdir(text):
        return f"the text {_shown(text)}, which is a folder, not a file"
    where = "" if os.path.isabs(text) else f"; relative paths start at {Path.cwd()}"
    return f"the text {_shown(text)}, which is {what}{where}"


def _error(name: str, what: str, inner: BaseException | None = None) -> WorkflowImageLoadError:
    return WorkflowImageLoadError(
        f"The image `{name}` was given as {what}.", context=_ERROR_CONTEXT, inner_error=inner
    )


def _checked_pixels(name: str, pixels: np.ndarray) -> np.ndarray:
    shape = pixels.shape
    if pixels.dtype != np.uint8:
        hint = (
            "; values in 0..1 become pixels with (x * 255).astype(np.uint8)"
            if pixels.dtype.kind in "fb"
            else "; scale it to 0..255 and cast it"
        )
        raise _error(name, f"an array of {pixels.dtype} with shape {shape}; pixels are uint8{hint}")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and shape[2] not in (1, 3, 4)):
        first = pixels.ndim == 3 and shape[0] in (1, 3, 4)
        hint = "; it looks like channels come first, they come last" if first else ""
        raise _error(
            name,
            f"an array of shape {shape}; expected (h, w), (h, w, 1), (h, w, 3) or (h, w, 4){hint}",
        )
    if pixels.size == 0:
        raise _error(name, f"an array of shape {shape}, which has no pixels")
    if pixels.ndim == 3 and shape[2] == 1:
        return pixels[:, :, 0]
    if pixels.ndim == 3 and shape[2] == 4:
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR))
    return pixels


def _single_channel(pixels: dict[str, Any]) -> dict[str, Any]:
    image = pixels.get("numpy_image")
    if image is None or image.ndim == 2:
        return pixels
    return {**pixels, "numpy_image": cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)}


def _checked_tensor(name: str, tensor: Any) -> Any:
    shape = tuple(getattr(tensor, "shape", ()))
    dtype = str(getattr(tensor, "dtype", type(tensor).__name__))
    if dtype != "torch.uint8" or len(shape) != 3 or shape[0] not in (1, 3):
        raise _error(
            name,
            f"a tensor of {dtype}, shape {shape}; expected torch.uint8, (3, h, w) RGB or (1, h, w)",
        )
    if 0 in shape:
        raise _error(name, f"a tensor of shape {shape}, which has no pixels")
    return tensor


def _video_metadata(name: str, value: Any) -> VideoMetadata | None:
    if value is None or isinstance(value, VideoMetadata):
        return value
    if not isinstance(value, Mapping):
        raise _error(
            name,
            f"an object whose `video_metadata` is a {type(value).__name__}; expected an object",
        )
    try:
        return VideoMetadata.from_dict(dict(value))
    except ValueError as error:
        raise _error(
            name, f"an object whose `video_metadata` cannot be read: {error}", error
        ) from error


def _origin(name: str, key: str, value: Mapping[str, Any]) -> OriginCoordinatesSystem | None:
    origin = value.get(key)
    if origin is None or isinstance(origin, OriginCoordinatesSystem):
        return origin
    if not isinstance(origin, Mapping):
        raise _error(
            name, f"an object whose `{key}` is a {type(origin).__name__}; expected an object"
        )
    try:
        return OriginCoordinatesSystem.from_dict(dict(origin))
    except (ValueError, TypeError) as error:
        raise _error(name, f"an object whose `{key}` cannot be read: {error}", error) from error
