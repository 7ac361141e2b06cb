"""Reads zones, lines and paths given as lists of points. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blocks.visualizations.drawable import FARTHEST
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text


def read_points(
    field: str, value: Any, at_least: int, at_most: int | None = None
) -> NDArray[np.int32]:
    """(k, 2) points (x, y), px, rounded to whole pixels.

    Args:
        field: name of the field, for messages.
        value: a list of pairs of numbers.
        at_least: fewest points.
        at_most: most points, None for any number.

    Raises:
        ValueError: the value is no such list; the text says what of it is wrong.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidFieldValueError(
            f"Field `{field}` must be a list of points (x, y), got {short_text(value)}."
        )
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        count = f"{at_least}" if at_most == at_least else f"at least {at_least}"
        raise InvalidFieldValueError(f"Field `{field}` must be {count} points, got {len(value)}.")
    points = np.zeros((len(value), 2))
    for index, point in enumerate(value):
        try:
            x, y = point
            points[index] = float(x), float(y)
        except (TypeError, ValueError, OverflowError):
            points[index] = np.nan
        if not np.isfinite(points[index]).all():
            raise InvalidFieldValueError(
                f"Field `{field}[{index}]` must be two finite numbers (x, y), got "
                f"{short_text(point)}."
            )
    return np.rint(np.clip(points, -FARTHEST, FARTHEST)).astype(np.int32)


def read_polygons(field: str, value: Any) -> list[NDArray[np.int32]]:
    """Points (k, 2) of each of one or several polygons, k at least 3, px.

    Args:
        field: name of the field, for messages.
        value: a list of points, or a list of such lists.

    Raises:
        ValueError: the value is neither; the text says what of it is wrong.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not _holds_polygons(value):
        return [read_points(field, value, at_least=3)]
    return [
        read_points(f"{field}[{index}]", polygon, at_least=3) for index, polygon in enumerate(value)
    ]


def _holds_polygons(value: Any) -> bool:
    return (
        _is_list(value)
        and len(value) > 0
        and all(
            _is_list(polygon) and len(polygon) > 0 and all(_is_list(point) for point in polygon)
            for polygon in value
        )
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
