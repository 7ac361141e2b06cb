"""Mean and spread of a series, kept while it goes on. Knows no embedding and no manifest.

Maths: exponentially weighted moments; Welford's running moments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

EXPONENTIAL: Final = "Exponential Moving Average (EMA)"
SIMPLE: Final = "Simple Moving Average (SMA)"
SLIDING: Final = "Sliding Window"


@dataclass(frozen=True, slots=True)
class Memory:
    """How far back an average reaches; each kind reads its own.

    Attributes:
        smoothing: weight of the newest value in an exponential average, 0..1.
        window: values in a sliding one.
    """

    smoothing: float
    window: int


class RunningAverage(Protocol):
    """Mean and spread of the values so far.

    Attributes:
        mean: (n,), None before the first value.
        std: (n,) standard deviation, None before the first value.
    """

    mean: np.ndarray | None
    std: np.ndarray | None

    def add(self, value: np.ndarray, memory: Memory) -> None:
        """Takes the next value (n,)."""


class ExponentialAverage:
    """A value weighs less the longer ago it came."""

    def __init__(self) -> None:
        self.mean: np.ndarray | None = None
        self.std: np.ndarray | None = None
        self._variance = np.zeros(1)

    def add(self, value: np.ndarray, memory: Memory) -> None:
        """Takes the next value (n,), which weighs `smoothing`; all before it the rest."""
        if self.mean is None:
            self.mean, self._variance = value, np.zeros_like(value)
        else:
            new, old = memory.smoothing, 1 - memory.smoothing
            self.mean = old * self.mean + new * value
            self._variance = old * self._variance + new * (value - self.mean) ** 2
        self.std = np.sqrt(self._variance)


class SimpleAverage:
    """All values weigh the same; the spread is that of a sample."""

    def __init__(self) -> None:
        self.mean: np.ndarray | None = None
        self.std: np.ndarray | None = None
        self._count = 0
        self._squares = np.zeros(1)

    def add(self, value: np.ndarray, memory: Memory) -> None:
        """Takes the next value (n,)."""
        self._count += 1
        if self.mean is None:
            self.mean, self._squares = value, np.zeros_like(value)
        else:
            difference = value - self.mean
            self.mean = self.mean + difference / self._count
            self._squares = self._squares + difference * (value - self.mean)
        self.std = np.sqrt(self._squares / max(self._count - 1, 1))


class SlidingAverage:
    """The last values weigh the same, others nothing."""

    def __init__(self) -> None:
        self.mean: np.ndarray | None = None
        self.std: np.ndarray | None = None
        self._window: deque[np.ndarray] = deque()

    def add(self, value: np.ndarray, memory: Memory) -> None:
        """Takes the next value (n,) and forgets those before the last `window`."""
        self._window.append(value)
        while len(self._window) > memory.window:
            self._window.popleft()
        values = np.array(self._window)
        self.mean, self.std = values.mean(axis=0), values.std(axis=0)


AVERAGES: Mapping[str, type[RunningAverage]] = {
    EXPONENTIAL: ExponentialAverage,
    SIMPLE: SimpleAverage,
    SLIDING: SlidingAverage,
}
"""Averages by the options of the field `strategy`."""
