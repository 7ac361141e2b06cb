"""Clients for load on `POST /workflows/run`. Nothing here measures or asserts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import orjson

ROUTE = "/workflows/run"
TIMEOUT = 120.0

Post = Callable[[int], Awaitable[tuple[int, Any]]]
"""Sends the body of a number and gives the status and the JSON of the answer."""
Bodies = list[dict[str, Any]]


class _Connection:
    """HTTP by hand on one connection, opened anew when the server closes it."""

    def __init__(self, host: str, port: int, messages: list[bytes]) -> None:
        self._address = host, port
        self._messages = messages
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, number: int) -> tuple[int, Any]:
        """See `Post`."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*self._address, limit=2**24)
        try:
            self._writer.write(self._messages[number])
            return await asyncio.wait_for(self._answer(), TIMEOUT)
        except (OSError, EOFError, TimeoutError):
            self.close()
            raise

    async def _answer(self) -> tuple[int, Any]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: *(\d+)", head)
        if length is None:
            raise EOFError("an answer without a length")
        body = await self._reader.readexactly(int(length[1]))
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), orjson.loads(body)

    def close(self) -> None:
        """Closes the connection."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@asynccontextmanager
async def raw_clients(url: str, bodies: Bodies, count: int) -> AsyncIterator[list[Post]]:
    """Clients that cost little of the cores they share with the server: a connection each, HTTP by
    hand, bodies made once.
    """
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    messages = [_message(body, f"{host}:{port}") for body in bodies]
    connections = [_Connection(host, int(port), messages) for _ in range(count)]
    try:
        yield [connection.post for connection in connections]
    finally:
        for connection in connections:
            connection.close()


@asynccontextmanager
async def httpx_clients(url: str, bodies: Bodies, count: int) -> AsyncIterator[list[Post]]:
    """Clients that share one `httpx.AsyncClient`, as programs use it."""
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT, limits=limits) as client:

        async def post(number: int) -> tuple[int, Any]:
            response = await client.post(ROUTE, json=bodies[number])
            return response.status_code, response.json()

        yield [post] * count


CLIENTS: dict[str, Callable[[str, Bodies, int], AbstractAsyncContextManager[list[Post]]]] = {
    "raw": raw_clients,
    "httpx": httpx_clients,
}


def _message(body: dict[str, Any], host: str) -> bytes:
    content = orjson.dumps(body)
    head = (
        f"POST {ROUTE} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content
