"""How usual the direction of an embedding is among the last ones. Knows no manifest.

Maths: the mean direction is the maximum-likelihood estimate of the von Mises-Fisher distribution.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import NamedTuple

import numpy as np

from blocks.analytics.embedding_history import ROUNDING_NOISE, check_length

NO_OPINION = 0.5


class Standing(NamedTuple):
    """What the last embeddings say of the newest one.

    Attributes:
        percentile: share of the window that agrees less with the mean direction; those that agree
            as much count half. 0.5 while warming up and where there is no mean direction.
        warming_up: whether too few embeddings have been seen.
    """

    percentile: float
    warming_up: bool


class EmbeddingWindow:
    """The directions of the last embeddings. Safe to use from several threads."""

    def __init__(self) -> None:
        self._seen = 0
        self._window: deque[np.ndarray] = deque()
        self._lock = Lock()

    def add(self, vector: np.ndarray, warmup: int, window_size: int) -> Standing:
        """Adds an embedding and says how usual it is.

        Args:
            vector: (n,) of length 1, or of zeros.
            warmup: how many embeddings nothing is said of.
            window_size: how many embeddings are remembered, the new one included.

        Raises:
            InvalidFieldValueError: the embedding has another length than the one before.
        """
        with self._lock:
            check_length(vector, self._window[-1] if self._window else None)
            self._window.append(vector)
            while len(self._window) > window_size:
                self._window.popleft()
            self._seen += 1
            if self._seen <= warmup:
                return Standing(NO_OPINION, True)
            return Standing(_percentile(np.array(self._window)), False)


def _percentile(vectors: np.ndarray) -> float:
    """Where the last of vectors (k, n) stands among all of them."""
    total = vectors.sum(axis=0)
    length = float(np.linalg.norm(total))
    if length < ROUNDING_NOISE or len(vectors) == 1:
        return NO_OPINION
    agreement = vectors @ (total / length)
    differences = agreement[:-1] - agreement[-1]
    worse = int((differences < -ROUNDING_NOISE).sum())
    equal = int((np.abs(differences) <= ROUNDING_NOISE).sum())
    return (worse + equal / 2) / len(vectors)
