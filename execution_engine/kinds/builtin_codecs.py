"""The codecs of the kinds that the language itself brings.

No codec of predictions with boxes may live here: those come from plug-ins.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from execution_engine.images.codec import ImageCodec
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import VideoMetadata
from execution_engine.images.serialise import serialise_image
from execution_engine.kinds import readers
from execution_engine.kinds.codec import CodecRegistry, DecodingContext, FunctionCodec, KindCodec
from execution_engine.kinds.json_form import json_form

_SHOWN_OF_SECRET = 2
_SHORTEST_PARTLY_SHOWN_SECRET = 8
_MASK = "********"


class WildcardCodec(KindCodec):
    """Anything, in its JSON form; images, predictions and the like by their own codecs.

    It offers no reading: an input of kind `*` reaches the blocks as it was given.

    Args:
        registry: where the codecs of those types are looked up.
    """

    kind = "*"

    def __init__(self, registry: CodecRegistry) -> None:
        self._registry = registry

    def serialise(self, value: Any) -> Any:
        """JSON form of the value; raises `TypeError` that names the place of a type without one."""
        return json_form(value, self._registry)


class ImageKindCodec(KindCodec):
    """Images, loaded under the host's policy."""

    kind = "image"
    python_type = "execution_engine.images.image_data.WorkflowImageData"

    def serialise(self, value: Any) -> dict[str, Any]:
        """The image as an object with base64 text, video metadata and, for crops, the parents."""
        if not isinstance(value, WorkflowImageData):
            raise TypeError(f"an image was expected, got {type(value).__name__}")
        return serialise_image(value)

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> WorkflowImageData:
        """The image; `name` is its id when it brings none. Raises `WorkflowImageLoadError`."""
        codec = context.image_codec if context.image_codec is not None else ImageCodec()
        image: WorkflowImageData = codec.load(name, value, name, context)
        if context.fps and not image.has_video_metadata:
            video = VideoMetadata(image.video_metadata.video_identifier, fps=context.fps)
            image = WorkflowImageData.copy_and_replace(image, video_metadata=video)
        return image

    def copy(self, value: Any) -> WorkflowImageData:
        """The image with pixels of its own that may be written to."""
        result: WorkflowImageData = value.writable_copy()
        return result


class VideoMetadataCodec(KindCodec):
    """The place of a frame in a video."""

    kind = "video_metadata"
    python_type = "execution_engine.images.metadata.VideoMetadata"

    def serialise(self, value: Any) -> dict[str, Any]:
        """The metadata as an object, the timestamp as ISO-8601 text."""
        if not isinstance(value, VideoMetadata):
            raise TypeError(f"video metadata was expected, got {type(value).__name__}")
        return dict(json_form(value.to_dict()))

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> VideoMetadata:
        """Metadata as given or from an object; raises `ValueError` naming what is wrong."""
        if isinstance(value, VideoMetadata):
            return value
        if not isinstance(value, Mapping):
            raise readers.refusal(name, "video metadata as an object", value)
        try:
            return VideoMetadata.from_dict(dict(value))
        except ValueError as error:
            raise ValueError(f"`{name}`: {error}") from error


def mask_secret(value: Any) -> str:
    """Stars in place of a secret; the first and last two characters stay when it has at least 8."""
    text = str(value)
    if len(text) < _SHORTEST_PARTLY_SHOWN_SECRET:
        return _MASK
    return f"{text[:_SHOWN_OF_SECRET]}{_MASK}{text[-_SHOWN_OF_SECRET:]}"


def _write_timestamp(value: Any) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"a datetime was expected, got {type(value).__name__}")
    return value.isoformat()


def _write_bytes(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"bytes were expected, got {type(value).__name__}")
    return base64.b64encode(value).decode("ascii")


def _write_array(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
        raise TypeError(f"an array was expected, got {type(value).__name__}")
    return json_form(value)


def _write_list(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list was expected, got {type(value).__name__}")
    return list(json_form(value))


def _write_segments(value: Any) -> list[Any]:
    segments = _write_list(value)
    for segment in segments:
        # A field of a Python object cannot be called `class`.
        if isinstance(segment, dict) and "class_name" in segment and "class" not in segment:
            segment["class"] = segment.pop("class_name")
    return segments


_Reader = Callable[[str, Any], Any]

_READERS: Mapping[str, _Reader] = {
    "roboflow_model_id": readers.read_string,
    "roboflow_project": readers.read_string,
    "roboflow_solution": readers.read_string,
    "roboflow_api_key": readers.read_optional_string,
    "roboflow_managed_key": readers.read_optional_string,
    "float_zero_to_one": readers.read_float_zero_to_one,
    "float": readers.read_float,
    "integer": readers.read_integer,
    "boolean": readers.read_boolean,
    "string": readers.read_string,
    "top_class": readers.read_string,
    "language_model_output": readers.read_string,
    "prediction_type": readers.read_string,
    "parent_id": readers.read_string,
    "inference_id": readers.read_string,
    "list_of_values": readers.read_list,
    "dictionary": readers.read_dictionary,
    "rgb_color": readers.read_rgb_color,
    "point": readers.read_point,
    "labeled_points": readers.read_labeled_points,
    "zone": readers.read_zone,
    "classification_prediction": readers.read_classification,
    "timestamp": readers.read_timestamp,
    "bytes": readers.read_bytes,
    "numpy_array": readers.read_numpy_array,
    "action_recognition_prediction": readers.read_list_of_objects,
}

_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "secret": mask_secret,
    "timestamp": _write_timestamp,
    "bytes": _write_bytes,
    "numpy_array": _write_array,
    "embedding": _write_array,
    "contours": _write_array,
    "image_keypoints": _write_list,
    "serialised_payloads": _write_list,
    "action_recognition_prediction": _write_segments,
}


def builtin_codecs() -> list[KindCodec]:
    """One codec for each kind of the language that is neither `*` nor a prediction with boxes.

    Kinds whose values are plain JSON data have no serialiser: the registry writes them as `*`.
    """
    codecs: list[KindCodec] = [ImageKindCodec(), VideoMetadataCodec()]
    for kind in dict.fromkeys([*_READERS, *_WRITERS]):
        read = _READERS.get(kind)
        codecs.append(
            FunctionCodec(
                kind,
                serialise=_WRITERS.get(kind),
                deserialise=None if read is None else _without_context(read),
            )
        )
    return codecs


def _without_context(read: _Reader) -> Callable[[str, Any, DecodingContext], Any]:
    return lambda name, value, _context: read(name, value)
