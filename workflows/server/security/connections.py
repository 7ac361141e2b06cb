"""Connections on which no request comes. `uvicorn` waits for the headers of a request for ever, and
keeps every connection open after an answer: a client could hold all connections with a few bytes on
each. Says when such a connection ends; looks into no request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from workflows.server.faults import ShuttingDownError
from workflows.server.security.unread_answers import UnreadAnswers

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_CLOSE = (b"connection", b"close")


class IdleConnections:
    """Counts, for each host, the connections that were answered and wait for a further request.

    More of them than a few serve nobody: the client pays for each, as HTTP clients look through
    their whole pool for every request (`httpx` asks the system about each idle connection in it,
    and a pool of 64 makes it several times slower). For use on the thread of one event loop.

    Args:
        most: connections of one host that may wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: Counter[str] = Counter()

    def add(self, host: str) -> None:
        """A connection was answered and stays open."""
        self._waiting[host] += 1

    def remove(self, host: str) -> None:
        """A connection that was added brings a request, or is closed."""
        self._waiting[host] -= 1
        if not self._waiting[host]:
            del self._waiting[host]  # hosts come and go

    def is_full(self, host: str) -> bool:
        """Whether no more connections of this host should wait."""
        return self._waiting[host] >= self._most

    def __len__(self) -> int:
        """Connections that wait, of all hosts."""
        return self._waiting.total()


def server_protocol(
    header_timeout: float, idle_connections: IdleConnections, unread_answers: UnreadAnswers
) -> type[H11Protocol]:
    """The HTTP/1.1 protocol of uvicorn with limits on connections that bring no request, or take
    no answer, and an end to bodies that still come when the server is stopped.

    Args:
        header_timeout: seconds from the opening of a connection, or from the first byte of a
            further request on it, to the end of the headers.
        idle_connections: decides which connections may wait for a further request; an answer says
            to the client that its connection closes where that may not wait.
        unread_answers: ends connections whose clients do not take what they asked for.
    """

    class ServerProtocol(H11Protocol):
        """Closes a connection whose headers do not come in time, or that is one too many."""

        _header_timer: asyncio.TimerHandle | None = None
        _is_idle = False
        _is_stopping = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._application = self.app
            self.app = self._answer

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # Through a Unix socket there are no addresses: all is one host.
            self._host = self.client[0] if self.client else ""
            # Writing pauses as soon as a byte is left over, so that each of them is counted.
            transport.set_write_buffer_limits(high=0)
            self._watch_headers()

        def data_received(self, data: bytes) -> None:
            self._leave_idle()
            super().data_received(data)
            self._watch_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watching()
            self._leave_idle()
            unread_answers.remove(self.transport)
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            unread_answers.add(self.transport)

        def resume_writing(self) -> None:
            unread_answers.remove(self.transport)
            super().resume_writing()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            # A request that came ahead of its turn is under way by now.
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self._is_idle = True
                idle_connections.add(self._host)

        def shutdown(self) -> None:
            super().shutdown()
            self._is_stopping = True
            if self.cycle is not None and self.cycle.more_body:
                self.cycle.message_event.set()

        async def _answer(self, scope: Any, receive: Receive, send: Send) -> None:
            async def ending_receive() -> Message:
                message = await receive()
                if self._is_stopping and message.get("more_body"):
                    # It would be refused when it is complete, which may take long.
                    raise ShuttingDownError(
                        "The server is being stopped and takes no new requests.",
                        {"Retry-After": "1"},
                    )
                return message

            async def closing_send(message: Message) -> None:
                if message["type"] == "http.response.start" and self._must_close():
                    headers = [*message.get("headers", ())]
                    message["headers"] = headers if _CLOSE in headers else [*headers, _CLOSE]
                await send(message)

            await self._application(scope, ending_receive, closing_send)

        def _must_close(self) -> bool:
            # A request that came ahead of its turn is answered, not thrown away.
            return idle_connections.is_full(self._host) and not self.conn.trailing_data[0]

        def _leave_idle(self) -> None:
            if self._is_idle:
                self._is_idle = False
                idle_connections.remove(self._host)

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

    return ServerProtocol
