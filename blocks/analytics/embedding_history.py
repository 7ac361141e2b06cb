"""Limits that blocks share which compare an embedding with those before it. Knows no statistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.parameters import whole_number
from execution_engine.errors import InvalidFieldValueError

LONGEST_WINDOW = 4096
"""Embeddings that are remembered; also when no window is set."""

ROUNDING_NOISE = 1e-12
"""Cosines that differ by less are the same."""


def window_length(value: Any) -> int:
    """The value of the field `window_size`: how many embeddings are remembered.

    Raises:
        InvalidFieldValueError: it is neither None nor a whole number from 1 to `LONGEST_WINDOW`.
    """
    if value is None:
        return LONGEST_WINDOW
    return whole_number("window_size", value, minimum=1, maximum=LONGEST_WINDOW)


def check_length(vector: np.ndarray, before: np.ndarray | None) -> None:
    """Refuses an embedding (n,) of another length than the one before.

    Raises:
        InvalidFieldValueError: the lengths differ.
    """
    if before is not None and vector.shape != before.shape:
        raise InvalidFieldValueError(
            f"embedding must keep its length: it had {before.size} numbers, got {vector.size}"
        )
