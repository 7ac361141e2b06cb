"""How values of plain kinds are read from what a caller gave: one checking function a kind.

Each takes the name of the input (for messages) and the value, returns the value as blocks get it,
and raises `ValueError` that names the input, what was expected and what was given.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from numbers import Integral, Real
from typing import Any
from uuid import uuid4

import numpy as np

_SHOWN_CHARACTERS = 60


def refusal(name: str, expected: str, value: Any) -> ValueError:
    """The error for a value that does not fit; the given value is shown shortened."""
    shown = repr(value)
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"{shown[:_SHOWN_CHARACTERS]}..."
    return ValueError(f"`{name}` must be {expected}, got {type(value).__name__} {shown}")


def read_string(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise refusal(name, "a string", value)
    return value


def read_optional_string(name: str, value: Any) -> str | None:
    """Text or None."""
    if value is not None and not isinstance(value, str):
        raise refusal(name, "a string or null", value)
    return value


def read_boolean(name: str, value: Any) -> bool:
    """True or False and nothing that merely counts as one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise refusal(name, "a boolean", value)
    return bool(value)


def read_integer(name: str, value: Any) -> int:
    """A whole number; a boolean passes unchanged, as it is one in Python."""
    if isinstance(value, (bool, int)):
        return value
    if not isinstance(value, Integral):
        raise refusal(name, "an integer", value)
    return int(value)


def read_float(name: str, value: Any) -> float:
    """A number, as float."""
    if not isinstance(value, Real):
        raise refusal(name, "a number", value)
    return float(value)


def read_float_zero_to_one(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise refusal(name, "a number in [0, 1]", value)
    return float(value)


def read_list(name: str, value: Any) -> list[Any]:
    """A list; a tuple becomes one."""
    if not isinstance(value, (list, tuple)):
        raise refusal(name, "a list", value)
    return list(value)


def read_dictionary(name: str, value: Any) -> dict[Any, Any]:
    """A dict."""
    if not isinstance(value, dict):
        raise refusal(name, "an object", value)
    return value


def read_timestamp(name: str, value: Any) -> datetime:
    """A datetime, from ISO-8601 text or as given."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    raise refusal(name, "a date and time as ISO-8601 text", value)


def read_bytes(name: str, value: Any) -> bytes:
    """Bytes, as given or from base64 text."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            pass
    raise refusal(name, "bytes or base64 text", value)


def read_rgb_color(name: str, value: Any) -> str | tuple[int, int, int]:
    """A colour: text as given (a name, `#hex`, `rgb(...)`), or the first three whole numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) >= 3:
        channels = [value[0], value[1], value[2]]
        if all(isinstance(channel, Real) and float(channel).is_integer() for channel in channels):
            return int(channels[0]), int(channels[1]), int(channels[2])
    raise refusal(name, "a colour as text or as a list of at least 3 whole numbers", value)


def read_point(name: str, value: Any) -> tuple[Any, Any]:
    """(x, y), the first two of a list of numbers."""
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) >= 2:
        x, y = _plain(value[0]), _plain(value[1])
        if _is_number(x) and _is_number(y):
            return x, y
    raise refusal(name, "a point as a list of at least 2 numbers", value)


def read_zone(name: str, value: Any) -> list[tuple[Any, Any]]:
    """At least three points (x, y)."""
    expected = "a zone as a list of at least 3 pairs of numbers"
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) < 3:
        raise refusal(name, expected, value)
    points = []
    for index, item in enumerate(value):
        if not isinstance(item, (list, tuple, np.ndarray)) or len(item) != 2:
            raise refusal(f"{name}[{index}]", "a pair of numbers", item)
        points.append(read_point(f"{name}[{index}]", item))
    return points


def read_labeled_points(name: str, value: Any) -> list[dict[str, Any]]:
    """`{"x", "y", "positive"}` each, from such objects, `[x, y]` or `[x, y, positive]`."""
    if not isinstance(value, (list, tuple)):
        raise refusal(name, "a list of labelled points", value)
    return [_labeled_point(f"{name}[{index}]", item) for index, item in enumerate(value)]


def _labeled_point(name: str, item: Any) -> dict[str, Any]:
    expected = 'a point as {"x", "y", "positive"?}, [x, y] or [x, y, positive]'
    if isinstance(item, Mapping):
        x, y, positive = item.get("x"), item.get("y"), item.get("positive", True)
    elif isinstance(item, (list, tuple)) and len(item) in (2, 3):
        x, y, positive = item[0], item[1], item[2] if len(item) == 3 else True
    else:
        raise refusal(name, expected, item)
    if not _is_number(x) or not _is_number(y) or positive not in (True, False):
        raise refusal(name, expected, item)
    return {"x": x, "y": y, "positive": bool(positive)}


def read_numpy_array(name: str, value: Any) -> np.ndarray:
    """An array, as given or from nested lists of one shape."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, (list, tuple)):
        raise refusal(name, "an array as nested lists", value)
    try:
        return np.array(value)
    except ValueError as error:
        raise ValueError(f"`{name}` must be nested lists of one shape: {error}") from error


def read_list_of_objects(name: str, value: Any) -> list[dict[str, Any]]:
    """A list of dicts."""
    if not isinstance(value, (list, tuple)):
        raise refusal(name, "a list of objects", value)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise refusal(f"{name}[{index}]", "an object", item)
    return list(value)


def read_classification(name: str, value: Any) -> dict[str, Any]:
    """A prediction of a classifier, as a new dict with the ids and the type it lacked.

    Both forms need `image` and `predictions`; the multi-class form has a list of predictions, `top`
    and `confidence`, the multi-label form an object of predictions and `predicted_classes`.
    """
    if not isinstance(value, Mapping):
        raise refusal(name, "a classification as an object", value)
    missing = [key for key in ("image", "predictions") if key not in value]
    if "predicted_classes" not in value:
        missing += [key for key in ("top", "confidence") if key not in value]
    if missing:
        raise ValueError(
            f"`{name}` must be a classification with image, predictions and either "
            f"predicted_classes or top and confidence; it lacks {', '.join(missing)}"
        )
    if not isinstance(value["predictions"], (list, dict)):
        raise refusal(f"{name}.predictions", "a list or an object", value["predictions"])
    result = dict(value)
    result.setdefault("parent_id", name)
    result.setdefault("root_parent_id", name)
    result.setdefault("prediction_type", "classification")
    if "inference_id" not in result:
        result["inference_id"] = str(uuid4())
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
