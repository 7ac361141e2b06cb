"""`FrameBuffers`: decoded frames of all sources on their way into the workflow, bounded. `Outbox`:
what waits to be delivered, bounded. Neither runs a thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from workflows.video.frames import VideoFrame

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BufferRule:
    """How the frames of one source wait.

    Attributes:
        capacity: frames held at most.
        drop: when full, drop the oldest frame instead of making the reader wait.
        newest: hand out the newest frame and drop those before it.
        max_age: seconds after which a waiting frame is dropped, None for never.
    """

    capacity: int
    drop: bool = False
    newest: bool = False
    max_age: float | None = None


class FrameBuffers:
    """One bounded buffer a source, filled by its reader, emptied by the one feeder.

    Args:
        rules: one a source.

    Attributes:
        dropped: frames dropped so far, a source.
    """

    def __init__(self, rules: Sequence[BufferRule]) -> None:
        self._rules = list(rules)
        self._frames: list[deque[VideoFrame]] = [deque() for _ in rules]
        self._alive = [True] * len(self._rules)
        self._closed = False
        self._next = 0
        self._changed = threading.Condition()
        self.dropped = [0] * len(self._rules)

    def put(self, source: int, frame: VideoFrame) -> bool:
        """Adds a frame; waits, or drops the oldest, when there is no room. False once closed."""
        rule, frames = self._rules[source], self._frames[source]
        with self._changed:
            if rule.drop:
                while len(frames) >= rule.capacity:
                    frames.popleft()
                    self.dropped[source] += 1
            else:
                self._changed.wait_for(lambda: self._closed or len(frames) < rule.capacity)
            if self._closed:
                return False
            frames.append(frame)
            self._changed.notify_all()
            return True

    def end(self, source: int) -> None:
        """Says that a source brings no more frames."""
        with self._changed:
            self._alive[source] = False
            self._changed.notify_all()

    def close(self) -> None:
        """Drops what waits and ends everyone who waits here."""
        with self._changed:
            self._closed = True
            for frames in self._frames:
                frames.clear()
            self._changed.notify_all()

    def take_one(self) -> list[VideoFrame] | None:
        """The next frame of the source whose turn it is among those that have one; None at the end.

        No source waits for another.
        """
        with self._changed:
            while self._wait_for_any():
                count = len(self._frames)
                for source in ((self._next + step) % count for step in range(count)):
                    frame = self._pop(source)
                    if frame is not None:
                        self._next = (source + 1) % count
                        return [frame]
            return None

    def take_batch(self, patience: float | None) -> list[VideoFrame] | None:
        """At most one frame of each source, in the order of the sources; None at the end.

        Args:
            patience: seconds to wait for sources that have none yet; None waits for all that live.
        """
        with self._changed:
            while self._wait_for_any():
                self._changed.wait_for(lambda: self._closed or self._all_ready(), patience)
                popped = [self._pop(source) for source in range(len(self._frames))]
                batch = [frame for frame in popped if frame is not None]
                if batch:
                    return batch
            return None

    def _wait_for_any(self) -> bool:
        self._changed.wait_for(lambda: self._closed or any(self._frames) or not any(self._alive))
        return not self._closed and any(self._frames)

    def _all_ready(self) -> bool:
        return all(
            frames or not alive for frames, alive in zip(self._frames, self._alive, strict=True)
        )

    def _pop(self, source: int) -> VideoFrame | None:
        rule, frames = self._rules[source], self._frames[source]
        if rule.newest:
            while len(frames) > 1:
                frames.popleft()
                self.dropped[source] += 1
        if rule.max_age is not None:
            oldest = time.monotonic() - rule.max_age
            while frames and frames[0].grabbed_at < oldest:
                frames.popleft()
                self.dropped[source] += 1
        frame = frames.popleft() if frames else None
        self._changed.notify_all()
        return frame


class Outbox(Generic[T]):
    """Items in order for one taker; the giver waits while it is full.

    Args:
        capacity: items held at most.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._ended = False
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: T) -> bool:
        """Adds an item as soon as there is room; False once closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._capacity)
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def end(self) -> None:
        """Says that nothing more comes; what is there can still be taken."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Drops what waits and ends everyone who waits here."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        while True:
            with self._changed:
                # With a time limit, so that an interrupt is seen on every system.
                while not (self._items or self._ended or self._closed):
                    self._changed.wait(0.5)
                if not self._items:
                    return
                item = self._items.popleft()
                self._changed.notify_all()
            yield item
