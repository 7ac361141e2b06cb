"""`DispatchStatistics`: what happened to the calls of one model, as plain numbers. Publishing them
is the host's business."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DispatchStatistics:
    """Counts since the model was loaded; they only rise, except for `waiting`.

    Attributes:
        calls: calls that were taken.
        images: images of these calls.
        forwards: forward passes of the network.
        batch_sizes: number of forward passes by number of images in them.
        joined: forward passes that served more than one call.
        wait_seconds: sum over the calls' forward passes of the time from ready to begun.
        forward_seconds: sum of the durations of forward passes.
        refused: calls turned away because too many waited.
        given_up: calls whose deadline passed, or which were cancelled, before they were answered.
        retried: forward passes for several calls that failed and were repeated call by call.
        worker_deaths: threads that ended in the middle of their work.
        waiting: calls that wait at this moment.
    """

    calls: int = 0
    images: int = 0
    forwards: int = 0
    batch_sizes: Mapping[int, int] = field(default_factory=dict)
    joined: int = 0
    wait_seconds: float = 0.0
    forward_seconds: float = 0.0
    refused: int = 0
    given_up: int = 0
    retried: int = 0
    worker_deaths: int = 0
    waiting: int = 0


class StatisticsRecorder:
    """Counts what `DispatchStatistics` tells. Holds no lock: whoever writes has one.

    Attributes:
        events: how often each of the simple counts was raised, by its name.
        seconds_per_image: what an image costs in a forward pass lately.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.seconds_per_image = 0.0
        self._batch_sizes: Counter[int] = Counter()
        self._wait_seconds = 0.0
        self._forward_seconds = 0.0

    def forward(self, images: int, calls: int, waited: float, seconds: float) -> None:
        """Counts a forward pass over images of some calls, which waited that long in all."""
        self._batch_sizes[images] += 1
        self.events["joined"] += calls > 1
        self._wait_seconds += waited
        self._forward_seconds += seconds
        latest, known = seconds / images, self.seconds_per_image
        self.seconds_per_image = latest if not known else known + 0.2 * (latest - known)

    def snapshot(self, waiting: int) -> DispatchStatistics:
        """The numbers of this moment."""
        return DispatchStatistics(
            **self.events,
            forwards=self._batch_sizes.total(),
            batch_sizes=dict(sorted(self._batch_sizes.items())),
            wait_seconds=self._wait_seconds,
            forward_seconds=self._forward_seconds,
            waiting=waiting,
        )
