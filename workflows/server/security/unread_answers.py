"""Answers that clients do not take. `uvicorn` holds the rest of an answer, and the connection, for
as long as the client reads nothing: a few requests for large pictures could take all the memory.
Looks at no answer.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from dataclasses import dataclass

_LOG = logging.getLogger("weftlens.server")
# Without it the system itself would go on holding what it has taken over.
_DROP_ALL = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class _Unread:
    size: int
    timer: asyncio.TimerHandle


class UnreadAnswers:
    """Breaks off connections whose clients take nothing, and the oldest where all together hold too
    much. For use on the thread of one event loop.

    Args:
        timeout: seconds in which a client must take some of what waits for it.
        most_bytes: bytes that may wait on all connections; those of a single one always may.
        loop: runs the timers; the running one when not given.
    """

    def __init__(
        self, timeout: float, most_bytes: int, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._loop = loop
        self._waiting: dict[asyncio.Transport, _Unread] = {}  # the oldest first

    def add(self, connection: asyncio.Transport) -> None:
        """The client did not take all that was written."""
        size = connection.get_write_buffer_size()
        self._waiting[connection] = _Unread(size, self._watch(connection))
        held = sum(one.get_write_buffer_size() for one in self._waiting)
        for oldest in list(self._waiting):
            if held <= self._most_bytes or oldest is connection:
                return
            held -= oldest.get_write_buffer_size()
            self._break_off(oldest, "the answers that clients have not taken hold too much memory")

    def remove(self, connection: asyncio.Transport) -> None:
        """The client has taken all, or the connection is lost; nothing where none waited."""
        unread = self._waiting.pop(connection, None)
        if unread is not None:
            unread.timer.cancel()

    def __len__(self) -> int:
        """Connections with bytes that wait."""
        return len(self._waiting)

    def _watch(self, connection: asyncio.Transport) -> asyncio.TimerHandle:
        loop = self._loop or asyncio.get_running_loop()
        return loop.call_later(self._timeout, self._check, connection)

    def _check(self, connection: asyncio.Transport) -> None:
        unread, size = self._waiting[connection], connection.get_write_buffer_size()
        if size >= unread.size:
            self._break_off(connection, f"its client took nothing of it for {self._timeout:g} s")
        else:
            unread.size, unread.timer = size, self._watch(connection)

    def _break_off(self, connection: asyncio.Transport, why: str) -> None:
        self.remove(connection)
        peer = connection.get_extra_info("peername")
        _LOG.warning(f"an answer to {peer[0] if peer else 'a local client'} was broken off: {why}")
        connection.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _DROP_ALL
        )
        connection.abort()
