"""Embeddings as vectors. Knows no block."""

from __future__ import annotations

from typing import Any

import numpy as np

from execution_engine.errors import InvalidFieldValueError


def unit_vector(embedding: Any, field: str) -> np.ndarray:
    """(n,) float64 vector of length 1, or of zeros; of a (1, n) array the row is taken.

    Args:
        embedding: numbers.
        field: name of the field they come from, for the message.

    Raises:
        InvalidFieldValueError: it is no row of finite numbers.
    """
    try:
        vector = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidFieldValueError(
            f"{field} must be a list of numbers, got {type(embedding).__name__}"
        ) from error
    if vector.ndim == 2 and vector.shape[0] == 1:
        vector = vector[0]
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidFieldValueError(
            f"{field} must be one row of numbers, got an array of shape {vector.shape}"
        )
    if not np.isfinite(vector).all():
        raise InvalidFieldValueError(f"{field} holds numbers that are not finite")
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(vector).max()
    if largest == 0:
        return np.array(vector)
    scaled = vector / largest
    return np.asarray(scaled / np.linalg.norm(scaled), dtype=np.float64)
