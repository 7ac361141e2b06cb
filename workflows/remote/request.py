"""The inputs of a run as the JSON object of a request. Sends nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from execution_engine.definition.parser import describe
from execution_engine.errors import RuntimeInputError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.kinds.json_form import NoJsonFormError, json_form
from workflows.remote.images import ImageWriter

if TYPE_CHECKING:
    from workflows.remote.signature import InputShape

_CONTEXT = "remote_execution | workflow_input_assembly"
_DETECTIONS = "supervision.detection.core.Detections"
_LARGEST_INTEGER = 2**64 - 1
_SMALLEST_INTEGER = -(2**63)


class InputWriter:
    """Writes inputs under the names a workflow declares.

    Args:
        images: writes images.
        codecs: JSON forms of other values.
    """

    def __init__(self, images: ImageWriter, codecs: CodecRegistry) -> None:
        self._images = images
        self._codecs = codecs

    def write(self, inputs: Mapping[str, Any], shapes: Mapping[str, InputShape]) -> dict[str, Any]:
        """The inputs as JSON data; names the workflow does not declare are sent all the same.

        Args:
            inputs: values by name.
            shapes: what the workflow declares, by name.

        Raises:
            RuntimeInputError: a value is no image where one is declared, or has no JSON form.
        """
        if not isinstance(inputs, Mapping):
            raise RuntimeInputError(
                f"The inputs of a run are an object of values by name, got {describe(inputs)}.",
                _CONTEXT,
            )
        written = {}
        for name, value in inputs.items():
            shape = shapes.get(name)
            if shape is not None and shape.is_image:
                written[str(name)] = self._nested_images(str(name), value)
            else:
                data = self._data(str(name), value)
                is_one = isinstance(data, list) and not isinstance(value, (list, tuple))
                if is_one and shape is not None and shape.depth == 1:
                    data = [data]  # one value for the whole batch that JSON has only as a list
                written[str(name)] = data
        return written

    def _nested_images(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return [
                self._nested_images(f"{name}.[{index}]", item) for index, item in enumerate(value)
            ]
        return self._images.write(name, value)

    def _data(self, name: str, value: Any) -> Any:
        try:
            _refuse_unsayable(name, value)
            return self._json(name, value)
        except RecursionError as error:
            raise RuntimeInputError(
                f"Input '{name}' cannot be sent: it is nested too deep, or holds itself.",
                _CONTEXT,
                error,
            ) from error
        except (NoJsonFormError, ValueError, TypeError) as error:
            raise RuntimeInputError(
                f"Input '{name}' cannot be sent: {str(error).rstrip('.')}.", _CONTEXT, error
            ) from error

    def _json(self, name: str, value: Any) -> Any:
        """JSON form of a value; the images and predictions in its lists without loss."""
        if isinstance(value, (list, tuple)):
            return [self._json(f"{name}.[{index}]", item) for index, item in enumerate(value)]
        codec = self._codecs.for_value(value)
        if codec is None or isinstance(value, Mapping):
            return json_form(value, self._codecs)
        if codec.kind == "image":
            return self._images.write(name, value)
        if codec.python_type == _DETECTIONS:
            from blocks.kinds.detections.serialise import serialise_detections

            # Polygons lose pixels of a mask, its code does not.
            return serialise_detections(value, "rle")
        return codec.serialise(value)


def _refuse_unsayable(name: str, value: Any) -> None:
    """Raises for numbers and texts that JSON does not have: they would arrive as nothing."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        raise ValueError(f"'{name}' is {value}, which JSON cannot say; give null or a number")
    if isinstance(value, int) and not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        raise ValueError(f"'{name}' is a whole number of more than 64 bits")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"'{name}' is text with half a character (a lone surrogate)"
            ) from error
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            _refuse_unsayable(name, value.tolist())
        elif value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"'{name}' holds numbers that JSON cannot say (nan or infinite)")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_unsayable(f"{name}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_unsayable(f"{name}.[{index}]", item)
