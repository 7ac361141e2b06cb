"""The classes that a vision-language model was asked for, and their ids. Reads no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

NOT_LISTED = -1
"""Id of a class that the model was not asked for."""


def checked_classes(classes: Any) -> list[str]:
    """The value of the field `classes` as a list of names.

    Raises:
        InvalidFieldValueError: it is no list of texts.
    """
    if not isinstance(classes, (list, tuple)) or not all(isinstance(c, str) for c in classes):
        raise InvalidFieldValueError(
            f"Field `classes` must be a list of class names, got {short_text(classes)}."
        )
    return list(classes)


def ids_of_classes(classes: Sequence[str]) -> dict[str, int]:
    """Place of each name in the list, of a repeated name the first one."""
    ids: dict[str, int] = {}
    for place, name in enumerate(classes):
        ids.setdefault(name, place)
    return ids
