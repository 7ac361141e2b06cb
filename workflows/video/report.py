"""`VideoReport`: what a run over videos did, kept up to date while it runs. Prints nothing."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

FaultKind = Literal["decode", "timestamp", "connection", "length", "run", "sink"]

KEPT_FAULTS = 200
_KEPT_TIMES = 4096
_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class VideoFault:
    """Something that went wrong without ending the run.

    Attributes:
        kind: `decode` (the frame is lost), `timestamp` (it was refused), `connection` (a live
            source was lost), `length` (a file ended early), `run` (the workflow failed on it),
            `sink` (the sink failed on its result).
        source_id: position of the source.
        frame_id: number of the frame, None when none is concerned.
        message: what happened.
    """

    kind: FaultKind
    source_id: int
    frame_id: int | None
    message: str

    def __str__(self) -> str:
        where = f"source {self.source_id}"
        if self.frame_id is not None:
            where += f", frame {self.frame_id}"
        return f"{where}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The fault as JSON data."""
        return {
            "kind": self.kind,
            "source_id": self.source_id,
            "frame_id": self.frame_id,
            "message": self.message,
        }


@dataclass(slots=True)
class SourceReport:
    """What became of the frames of one source.

    Attributes:
        label: name of the source for people.
        live: whether it is a live source.
        fps: declared frames a second.
        total_frames: declared number of frames.
        frames: frames met, unusable ones among them.
        results: frames with a result.
        dropped: frames that were not run because the run was too slow for a live source, or while
            the source was muted.
        thinned: frames left out because of `max_fps`.
        reconnects: connections made again.
        ended: whether the source has come to its end.
    """

    label: str
    live: bool
    fps: float | None = None
    total_frames: int | None = None
    frames: int = 0
    results: int = 0
    dropped: int = 0
    thinned: int = 0
    reconnects: int = 0
    ended: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Percentiles:
    """Spread of a time in seconds over the last frames, and how many were looked at."""

    p50: float
    p90: float
    p99: float
    count: int

    def to_dict(self) -> dict[str, float]:
        """The percentiles as JSON data."""
        return {"p50": self.p50, "p90": self.p90, "p99": self.p99, "count": self.count}


@dataclass
class VideoReport:
    """Counts, faults and times of a run. Safe to read while the run goes on.

    Attributes:
        sources: one entry a source.
        depth: frames that may be in the workflow at a time.
        faults: the first faults, at most 200; `fault_count` counts all.
        notes: what was done in another way than asked, such as another codec.
        files: videos written.
    """

    sources: list[SourceReport] = field(default_factory=list)
    depth: int = 1
    faults: list[VideoFault] = field(default_factory=list)
    fault_count: int = 0
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._latencies: deque[float] = deque(maxlen=_KEPT_TIMES)
        self._run_times: deque[float] = deque(maxlen=_KEPT_TIMES)
        self._started: float | None = None
        self._ended: float | None = None

    @property
    def results(self) -> int:
        """Frames with a result, over all sources."""
        return sum(source.results for source in self.sources)

    @property
    def elapsed(self) -> float:
        """Seconds from the start to the end of the run, or until now."""
        if self._started is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._started

    @property
    def fps(self) -> float:
        """Frames with a result a second, over the whole run."""
        return self.results / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def latency(self) -> Percentiles | None:
        """Seconds from the decoding of a frame to its result, over the last 4096 frames."""
        with self._lock:
            return _percentiles(self._latencies)

    @property
    def run_time(self) -> Percentiles | None:
        """Seconds a run of the workflow took, over the last 4096 runs."""
        with self._lock:
            return _percentiles(self._run_times)

    def start(self) -> None:
        """Starts the clock."""
        self._started = time.monotonic()

    def end(self) -> None:
        """Stops the clock, once."""
        if self._ended is None:
            self._ended = time.monotonic()

    def add_fault(
        self, kind: FaultKind, source_id: int, frame_id: int | None, message: str
    ) -> None:
        """Counts a fault, and keeps it unless there are many."""
        with self._lock:
            self.fault_count += 1
            if len(self.faults) < KEPT_FAULTS:
                self.faults.append(VideoFault(kind, source_id, frame_id, message))

    def add_note(self, text: str) -> None:
        """Keeps a note, each once."""
        with self._lock:
            if text not in self.notes:
                self.notes.append(text)

    def add_run(self, seconds: float) -> None:
        """Counts a run of the workflow."""
        with self._lock:
            self._run_times.append(seconds)

    def add_result(self, source_id: int, latency: float) -> None:
        """Counts a frame with a result."""
        with self._lock:
            self.sources[source_id].results += 1
            self._latencies.append(latency)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        latency, run_time = self.latency, self.run_time
        return {
            "results": self.results,
            "elapsed": self.elapsed,
            "fps": self.fps,
            "depth": self.depth,
            "latency": None if latency is None else latency.to_dict(),
            "run_time": None if run_time is None else run_time.to_dict(),
            "sources": [source.to_dict() for source in self.sources],
            "fault_count": self.fault_count,
            "faults": [fault.to_dict() for fault in list(self.faults)],
            "notes": list(self.notes),
            "files": list(self.files),
        }


def _percentiles(times: Sequence[float]) -> Percentiles | None:
    if not times:
        return None
    ordered = sorted(times)
    # Nearest rank: the smallest time that at least so many percent do not exceed.
    ranks = (-(-percent * len(ordered) // 100) - 1 for percent in _PERCENTILES)
    p50, p90, p99 = (ordered[max(rank, 0)] for rank in ranks)
    return Percentiles(p50, p90, p99, len(ordered))
