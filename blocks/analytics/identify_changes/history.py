"""How fast embeddings change, against how fast they used to. Knows no manifest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Lock

import numpy as np

from blocks.analytics.embedding_history import ROUNDING_NOISE, check_length
from blocks.analytics.identify_changes.averages import AVERAGES, Memory, RunningAverage
from blocks.parameters import choice

NO_OPINION = 0.5


@dataclass(frozen=True, slots=True)
class Change:
    """What the embeddings so far say of the newest one.

    Attributes:
        z_score: how many standard deviations more than usual it agrees with their average.
        percentile: share of a normal distribution that agrees more, 0..1.
        average: (n,) mean of the embeddings, the newest included.
        std: (n,) their standard deviation.
        warming_up: whether too few embeddings have been seen.
    """

    z_score: float
    percentile: float
    average: np.ndarray
    std: np.ndarray
    warming_up: bool


class ChangeHistory:
    """Averages of embeddings and of how well each agreed with those before it.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._embeddings: RunningAverage | None = None
        self._cosines: RunningAverage | None = None
        self._lock = Lock()

    def add(self, vector: np.ndarray, strategy: str, warmup: int, memory: Memory) -> Change:
        """Adds an embedding and says how it compares.

        Args:
            vector: (n,) of length 1, or of zeros.
            strategy: kind of the averages, that of the first embedding stays.
            warmup: how many embeddings nothing is decided of.
            memory: how far back the averages reach.

        Raises:
            InvalidFieldValueError: the embedding has another length than the one before, or the
            strategy is not known.
        """
        with self._lock:
            if self._embeddings is None or self._cosines is None:
                average = choice("strategy", strategy, AVERAGES)
                self._embeddings, self._cosines = average(), average()
            embeddings, cosines = self._embeddings, self._cosines
            before = embeddings.mean
            check_length(vector, before)
            z_score = 0.0
            if before is not None:
                cosine = np.array([_cosine(vector, before)])
                cosines.add(cosine, memory)
                z_score = _z_score(cosine, cosines)
            embeddings.add(vector, memory)
            self._seen += 1
            assert embeddings.mean is not None
            assert embeddings.std is not None
            return Change(
                z_score,
                NO_OPINION * math.erfc(z_score / math.sqrt(2)),
                embeddings.mean,
                embeddings.std,
                self._seen <= warmup,
            )


def _cosine(vector: np.ndarray, average: np.ndarray) -> float:
    """Cosine of the angle to an average, 0 where one of them has no direction."""
    length = float(np.linalg.norm(average))
    return 0.0 if length < ROUNDING_NOISE else float(np.clip(vector @ average / length, -1, 1))


def _z_score(cosine: np.ndarray, cosines: RunningAverage) -> float:
    assert cosines.mean is not None
    assert cosines.std is not None
    spread = float(cosines.std[0])
    return 0.0 if spread < ROUNDING_NOISE else float(cosine[0] - cosines.mean[0]) / spread
