"""Connections on which no request comes: `uvicorn` waits for the headers of a request for ever, and
a client could hold all connections with a few bytes on each. Looks at no request.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def timed_protocol(header_timeout: float) -> type[H11Protocol]:
    """The HTTP/1.1 protocol of uvicorn with a limit on how long headers may take.

    Args:
        header_timeout: seconds from the opening of a connection, or from the first byte of a
            further request on it, to the end of the headers.
    """

    class TimedProtocol(H11Protocol):
        """Closes a connection whose headers do not come in time."""

        _header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watching()
            super().connection_lost(exc)

        def _watch_headers(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._stop_watching()
            elif self._header_timer is None:
                self._header_timer = self.loop.call_later(header_timeout, self._give_up)

        def _stop_watching(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def _give_up(self) -> None:
            self._header_timer = None
            if self.conn.their_state is h11.IDLE and self.transport is not None:
                self.transport.close()

    return TimedProtocol
