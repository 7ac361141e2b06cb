"""`FairQueue`: what waits for a forward pass, and whose turn it is. Holds no lock, starts no
thread and runs no network."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from inference_models.manager.call_context import CallContext


@dataclass(slots=True, eq=False)
class Window:
    """Images of one call that are ready for the network, all of one shape.

    Attributes:
        inputs: (n, ...) rows of the network's input.
        client: whose turn they use.
        context: deadline and cancellation of the call.
        changed: notified when the last row is answered or the window failed; shares the
            dispatcher's lock.
        since: reading of `time.monotonic` when it became ready.
        taken: rows handed to forward passes.
        answered: rows whose forward pass is done.
        answers: for runs of rows that are answered, the first row, the one behind the last and the
            raw outputs.
        error: what is raised to the caller instead of an answer.
    """

    inputs: np.ndarray
    client: Hashable
    context: CallContext
    changed: threading.Condition
    since: float
    taken: int = 0
    answered: int = 0
    # Rows, not parts: a part knows its window, and what refers to itself is freed late.
    answers: list[tuple[int, int, dict[str, np.ndarray]]] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self.inputs.shape[1:]

    @property
    def remaining(self) -> int:
        """Rows that wait."""
        return len(self.inputs) - self.taken

    @property
    def done(self) -> bool:
        """Whether the caller can go on."""
        return self.error is not None or self.answered == len(self.inputs)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows `start` to `stop` of a window, which go into one forward pass."""

    window: Window
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def inputs(self) -> np.ndarray:
        """(n, ...) the rows."""
        return self.window.inputs[self.start : self.stop]


class FairQueue:
    """Windows by client. Clients take turns, one image a turn; one client's windows keep their
    order.

    Attributes:
        images: how many wait.
    """

    def __init__(self) -> None:
        self._by_client: OrderedDict[Hashable, deque[Window]] = OrderedDict()
        self.images = 0

    def __iter__(self) -> Iterator[Window]:
        for windows in self._by_client.values():
            yield from windows

    def __len__(self) -> int:
        return sum(map(len, self._by_client.values()))

    def push(self, window: Window) -> None:
        """Lets a window wait behind those of its client, and a new client behind the others."""
        self._by_client.setdefault(window.client, deque()).append(window)
        self.images += window.remaining

    def remove(self, window: Window) -> None:
        """Takes out what still waits of a window; does nothing when none does."""
        windows = self._by_client.get(window.client)
        if windows is None or window not in windows:
            return
        windows.remove(window)
        self.images -= window.remaining
        if not windows:
            del self._by_client[window.client]

    def take(self, limit: int) -> list[Part]:
        """The next images to run together: at most `limit`, all of the shape whose turn it is.

        The client whose turn it is decides the shape; the others add images of that shape in turn.
        Who got a turn moves behind those who got none. No parts when nothing waits.
        """
        shape = next((window.shape for window in self), None)
        fitting = {
            client: deque(window for window in windows if window.shape == shape)
            for client, windows in self._by_client.items()
        }
        shares: dict[Window, int] = {}
        served: dict[Hashable, None] = {}
        room = min(limit, self.images)
        while room > 0:
            before = room
            for client, windows in fitting.items():
                if not windows or room == 0:
                    continue
                window = windows[0]
                shares[window] = shares.get(window, 0) + 1
                served[client] = None
                room -= 1
                if shares[window] == window.remaining:
                    windows.popleft()
            if room == before:
                break
        parts = []
        for window, count in shares.items():
            parts.append(Part(window, window.taken, window.taken + count))
            if count == window.remaining:
                self._by_client[window.client].remove(window)
            window.taken += count
            self.images -= count
        for client in served:
            if self._by_client[client]:
                self._by_client.move_to_end(client)
            else:
                del self._by_client[client]
        return parts
