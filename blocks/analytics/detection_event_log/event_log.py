"""`EventLog`: when the tracked objects of one video were first and last seen. Knows no block."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

MOST_EVENTS = 16384
"""Objects of a video that are remembered at a time."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """When something was seen.

    Attributes:
        frame: number of the frame.
        timestamp: seconds since 1970, UTC.
        relative: seconds since the video started.
    """

    frame: int
    timestamp: float
    relative: float


@dataclass(slots=True)
class Event:
    """What is known of one object.

    Attributes:
        tracker_id: id of its track.
        class_name: class it had when it was first seen.
        first: when it was first seen.
        last: when it was last seen.
        frame_count: frames in which it was seen.
        position: place of the last of them among the frames of the video.
        logged: whether it was seen often enough.
    """

    tracker_id: int
    class_name: str
    first: Sighting
    last: Sighting
    frame_count: int
    position: int
    logged: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The event in plain values."""
        return {
            "tracker_id": self.tracker_id,
            "class_name": self.class_name,
            "first_seen_frame": self.first.frame,
            "first_seen_timestamp": self.first.timestamp,
            "first_seen_relative": self.first.relative,
            "last_seen_frame": self.last.frame,
            "last_seen_timestamp": self.last.timestamp,
            "last_seen_relative": self.last.relative,
            "frame_count": self.frame_count,
        }


class EventLog:
    """The objects of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._events: OrderedDict[int, Event] = OrderedDict()
        self._position = 0
        self._last_number: int | None = None
        self._flushed_at: int | None = None
        self._first_timestamp: float | None = None

    def next_frame(self, number: int) -> int:
        """Goes on to a frame and gives its number: the one of the video, or for frames without a
        number (0) a count of the frames seen.

        Frames that were left out count as passed; a number that does not grow, because the video
        began again or is none, counts as one frame further.
        """
        step = 1 if self._last_number is None else number - self._last_number
        self._position += max(step, 1)
        self._last_number = number
        return number if number > 0 else self._position

    def seconds_since_first(self, timestamp: float) -> float:
        """Seconds between the first timestamp that was asked for and this one."""
        if self._first_timestamp is None:
            self._first_timestamp = timestamp
        return timestamp - self._first_timestamp

    def see(self, objects: dict[int, str], sighting: Sighting, frame_threshold: int) -> None:
        """Takes in the objects of the frame, class name by id of the track."""
        for track, class_name in objects.items():
            event = self._events.get(track)
            if event is None:
                event = Event(track, class_name, sighting, sighting, 0, self._position)
                self._events[track] = event
            event.last = sighting
            event.position = self._position
            event.frame_count += 1
            event.logged = event.logged or event.frame_count >= frame_threshold
            self._events.move_to_end(track)

    def flush(self, interval: int, stale_frames: int) -> list[Event]:
        """Forgets, once in an interval of frames, the objects that were not seen for more than
        `stale_frames` frames; gives those of them that were logged.

        Beyond `MOST_EVENTS` objects those not seen for longest go at once.
        """
        gone: list[Event] = []
        while len(self._events) > MOST_EVENTS:
            gone.append(self._events.popitem(last=False)[1])
        if self._flushed_at is None:
            self._flushed_at = self._position
        if self._position - self._flushed_at >= interval:
            self._flushed_at = self._position
            # The one seen longest ago is the first.
            while self._events:
                track, event = next(iter(self._events.items()))
                if self._position - event.position <= stale_frames:
                    break
                gone.append(self._events.pop(track))
        return [event for event in gone if event.logged]

    def logged(self) -> list[Event]:
        """Objects that were seen often enough, by the id of their track."""
        return [event for event in self._in_order() if event.logged]

    def pending(self) -> list[Event]:
        """The others."""
        return [event for event in self._in_order() if not event.logged]

    def _in_order(self) -> list[Event]:
        return sorted(self._events.values(), key=lambda event: event.tracker_id)
