"""Reads the body of a request under limits on size, time and the memory of all requests together.
Looks at no content.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from workflows.server.faults import BodyTooLargeError, ClientGoneError, RequestTooSlowError
from workflows.server.security.refusals import BodyMemoryFullError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class BodyMemory:
    """Counts the bytes of bodies held at the same time.

    Args:
        most: most bytes of all bodies together.
    """

    __slots__ = ("_held", "_lock", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Bytes held now."""
        return self._held

    def take(self, count: int) -> None:
        """Counts bytes as held.

        Raises:
            BodyMemoryFullError: there is no room for them now.
        """
        with self._lock:
            if self._held + count > self._most:
                raise BodyMemoryFullError(
                    "The server holds as many request bodies as it can; try again.",
                    {"Retry-After": "1"},
                )
            self._held += count

    def give_back(self, count: int) -> None:
        """Counts bytes as free again."""
        with self._lock:
            self._held -= count


class Body:
    """The body of one request, read once, and given to the application as often as it asks.

    Args:
        receive: the ASGI function that brings the parts.
        memory: where its bytes are counted until `release`.
    """

    __slots__ = ("_given", "_memory", "_receive", "_taken", "content")

    def __init__(self, receive: Receive, memory: BodyMemory) -> None:
        self._receive = receive
        self._memory = memory
        self._taken = 0
        self._given = False
        self.content = b""

    async def read(self, announced: int | None, max_bytes: int, timeout: float) -> None:
        """Reads all of it.

        Args:
            announced: bytes the headers promise.
            max_bytes: most bytes.
            timeout: seconds until the last byte must have come.

        Raises:
            BodyTooLargeError, RequestTooSlowError, BodyMemoryFullError: it is too large, too
                slow, or there is no room for it now.
            ClientGoneError: the connection was closed.
        """
        if announced is not None and announced > max_bytes:
            raise _too_large(max_bytes)
        try:
            async with asyncio.timeout(timeout):
                await self._read(max_bytes)
        except TimeoutError:
            raise RequestTooSlowError(f"The body did not arrive within {timeout:g} s.") from None

    def release(self) -> None:
        """Counts its bytes as free again."""
        self._memory.give_back(self._taken)
        self._taken = 0

    async def receive(self) -> Message:
        """The body as one ASGI message; afterwards whatever the connection brings."""
        if self._given:
            return await self._receive()
        self._given = True
        return {"type": "http.request", "body": self.content, "more_body": False}

    async def _read(self, max_bytes: int) -> None:
        parts: list[bytes] = []
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError("The client left before its request was complete.")
            part = message.get("body", b"")
            more = message.get("more_body", False)
            if self._taken + len(part) > max_bytes:
                raise _too_large(max_bytes)
            self._memory.take(len(part))
            self._taken += len(part)
            if part:
                parts.append(part)
        self.content = parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(max_bytes: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"A body has at most {max_bytes} bytes.")
