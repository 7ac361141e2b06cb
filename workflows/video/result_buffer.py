"""`ResultBuffer`: results that wait to be fetched by a client, bounded in number and bytes. Encodes
nothing itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredResult:
    """Results of frames that were run together.

    Attributes:
        rows: encoded outputs by name, one mapping a source, None where a source had no frame.
        frames: places of the frames, as JSON data.
    """

    rows: list[dict[str, bytes] | None]
    frames: list[dict[str, Any]]


class ResultBuffer:
    """Keeps the newest results; the oldest are dropped when there is no room.

    Args:
        capacity: results kept at most.
        max_bytes: bytes of encoded outputs kept at most; one result alone is always kept.
        encode: an output as bytes.
    """

    def __init__(self, capacity: int, max_bytes: int, encode: Callable[[Any], bytes]) -> None:
        self._capacity = capacity
        self._max_bytes = max_bytes
        self._encode = encode
        self._results: deque[tuple[StoredResult, int]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self.dropped = 0

    def put(self, rows: list[Mapping[str, Any] | None], frames: list[dict[str, Any]]) -> None:
        """Adds results."""
        encoded = [
            None if row is None else {name: self._encode(value) for name, value in row.items()}
            for row in rows
        ]
        size = sum(len(text) for row in encoded if row is not None for text in row.values())
        with self._lock:
            self._results.append((StoredResult(encoded, frames), size))
            self._bytes += size
            while len(self._results) > self._capacity or (
                self._bytes > self._max_bytes and len(self._results) > 1
            ):
                self._bytes -= self._results.popleft()[1]
                self.dropped += 1

    def take(self, excluded: Collection[str] = ()) -> StoredResult | None:
        """The oldest result without some outputs, None when there is none."""
        with self._lock:
            if not self._results:
                return None
            result, size = self._results.popleft()
            self._bytes -= size
        rows = [
            None
            if row is None
            else {name: text for name, text in row.items() if name not in excluded}
            for row in result.rows
        ]
        return StoredResult(rows, result.frames)

    def __len__(self) -> int:
        return len(self._results)
