"""Attacks that need a real connection: bytes that come slowly, without end, or mean two things."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("fastapi")

from workflows.server.security.connections import IdleConnections

SOON = 20.0
HEAD = b"POST /workflows/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def exchange(address: tuple[str, int], *parts: bytes, pause: float = 0.0) -> bytes:
    """What comes back for bytes sent in parts, until the server closes the connection."""
    answer = bytearray()
    with socket.create_connection(address, timeout=SOON) as connection:
        connection.settimeout(SOON)
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        except OSError:
            pass  # the server has closed it, as some tests want
        try:
            while part := connection.recv(65_536):
                answer += part
        except ConnectionResetError:
            pass
    return bytes(answer)


class TestSlowClients:
    def test_headers_that_do_not_come(self, live: Callable[..., Any]) -> None:
        """A connection on which headers drip, or nothing comes, is closed."""
        with live(header_timeout=0.4) as server:
            for parts in ([b""], [b"GET / HT", b"TP/1.1\r\n", b"X-A: 1\r\n"]):
                started = time.monotonic()
                assert exchange(server.address, *parts, pause=0.1) == b""
                assert time.monotonic() - started < SOON / 2

    def test_headers_of_a_second_request(self, live: Callable[..., Any]) -> None:
        """The limit holds on a connection that has been used."""
        with live(header_timeout=0.4) as server:
            first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            answer = exchange(server.address, first, b"GET /healthz HTTP/1.1\r\nX-", pause=0.1)
            assert answer.count(b"HTTP/1.1 200") == 1

    def test_a_slow_body(self, live: Callable[..., Any]) -> None:
        """A body that drips is refused when its time is over."""
        with live(body_timeout=0.5) as server:
            head = HEAD + b"Content-Length: 1000\r\n\r\n"
            answer = exchange(server.address, head, b"{", b" ", b" ", pause=0.05)
            assert answer.startswith(b"HTTP/1.1 408")
            assert b"RequestTooSlowError" in answer

    def test_requests_within_the_limits(self, live: Callable[..., Any]) -> None:
        """Whoever sends in parts, but in time, is served."""
        with live(header_timeout=SOON, body_timeout=SOON) as server:
            request = (b"GET /heal", b"thz HTTP/1.1\r\nHost: localhost\r\n", b"Connection: close",
                       b"\r\n\r\n")  # fmt: skip
            assert exchange(server.address, *request, pause=0.02).startswith(b"HTTP/1.1 200")


class TestLargeBodies:
    def test_chunks_without_end(self, live: Callable[..., Any]) -> None:
        """A body without a length is cut off at the limit, and the connection with it."""
        with live(max_body_bytes=10_000) as server:
            head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
            chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
            answer = exchange(server.address, head, *[chunk] * 5, pause=0.01)
            assert answer.startswith(b"HTTP/1.1 413")
            assert b"connection: close" in answer.lower()

    def test_an_announced_length(self, live: Callable[..., Any]) -> None:
        """A length over the limit is refused before a byte of it is sent."""
        with live(max_body_bytes=10_000) as server:
            head = HEAD + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
            answer = exchange(server.address, head)
            assert answer.startswith(b"HTTP/1.1 413")
            assert b"100 Continue" not in answer

    def test_headers_without_end(self, live: Callable[..., Any]) -> None:
        """Headers are cut off while they come."""
        with live() as server:
            answer = exchange(
                server.address, b"GET / HTTP/1.1\r\nX-A: ", *[b"a" * 20_000] * 5, pause=0.01
            )
            assert answer == b"" or answer.split(b" ")[1] in (b"400", b"431")


class TestSmuggling:
    @pytest.mark.parametrize(
        "headers",
        [
            b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            b"Content-Length: 4\r\nContent-Length: 5\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Content-Length: +4\r\n",
            b"Content-Length: 4\r\nHost: evil.example\r\n",
            b"X-A: 1\r\n Content-Length: 9\r\n",
            b"X-A : 1\r\nContent-Length: 4\r\n",
            b"X-A: a\0b\r\nContent-Length: 4\r\n",
        ],
        ids=["length and chunks", "two lengths", "packed transfer", "signed length", "two hosts",
             "folded", "space before colon", "NUL"],
    )  # fmt: skip
    def test_two_meanings(self, headers: bytes, live: Callable[..., Any]) -> None:
        """A request that two readers could read differently is refused; what follows is not read
        as a request.
        """
        smuggled = b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with live(header_timeout=1.0, body_timeout=1.0) as server:
            answer = exchange(server.address, HEAD + headers + b"\r\n" + b"0\r\n\r\n" + smuggled)
            assert b"HTTP/1.1 200" not in answer
            assert answer.split(b" ")[1].startswith(b"4")


class TestIdleConnections:
    """Connections that bring no request: a few of a host may wait for one."""

    def test_answers_beyond_the_most_close_their_connection(
        self, live: Callable[..., Any], until: Callable[[Callable[[], bool]], None]
    ) -> None:
        """The connections up to the limit stay open; the next answer says that it closes."""
        with live(max_idle_connections=2) as server, ExitStack() as stack:
            connections = [
                stack.enter_context(closing(HTTPConnection(*server.address, timeout=SOON)))
                for _ in range(4)
            ]
            stays = []
            for connection in connections:
                connection.request("GET", "/healthz")
                answer = connection.getresponse()
                assert answer.status == 200
                assert answer.read()
                stays.append(answer.getheader("connection") != "close")
            assert stays == [True, True, False, False]
            connections[0].close()
            until(lambda: len(server.server.server_state.connections) == 1)
            connections[1].request("GET", "/healthz")  # itself it does not count
            answer = connections[1].getresponse()
            assert answer.getheader("connection") is None
            assert answer.read()

    def test_none_may_wait(self, live: Callable[..., Any]) -> None:
        """With a limit of 0 every answer closes its connection, an error as well."""
        with live(max_idle_connections=0) as server:
            for path in (b"/healthz", b"/no/such/route"):
                answer = exchange(
                    server.address, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
                )
                assert answer.lower().count(b"connection: close") == 1

    def test_requests_sent_ahead(self, live: Callable[..., Any]) -> None:
        """Requests that were sent together are all answered, though one connection may wait."""
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        with live(max_idle_connections=1) as server:
            for _ in range(3):
                answer = exchange(
                    server.address, (request + b"\r\n") * 3 + request + b"Connection: close\r\n\r\n"
                )
                assert answer.count(b"HTTP/1.1 200") == 4

    def test_a_request_sent_ahead_where_none_may_wait(self, live: Callable[..., Any]) -> None:
        """An answer does not close its connection while the next request of it is here."""
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with live(max_idle_connections=0) as server:
            answer = exchange(server.address, request * 3)
            assert answer.count(b"HTTP/1.1 200") == 3
            assert answer.lower().count(b"connection: close") == 1

    def test_a_refusal_says_once_that_it_closes(self, live: Callable[..., Any]) -> None:
        """An answer that closes its connection anyway gets no second header for it."""
        with live(max_idle_connections=0, max_body_bytes=10) as server:
            answer = exchange(server.address, HEAD + b"Content-Length: 11\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 413")
            assert answer.lower().count(b"connection: close") == 1

    def test_a_closed_pool(
        self, live: Callable[..., Any], until: Callable[[Callable[[], bool]], None]
    ) -> None:
        """Connections that break off in any state leave nothing behind in the count."""
        with live(max_idle_connections=3) as server:
            for ending in (b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                for _ in range(3):
                    with socket.create_connection(server.address, timeout=SOON) as connection:
                        connection.sendall(
                            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + ending
                        )
                        assert connection.recv(1)
            until(lambda: not server.server.server_state.connections)
            with closing(HTTPConnection(*server.address, timeout=SOON)) as connection:
                connection.request("GET", "/healthz")
                assert connection.getresponse().getheader("connection") is None

    def test_hosts_do_not_share(self) -> None:
        """What one host keeps open takes nothing from another."""
        idle = IdleConnections(1)
        idle.add("10.0.0.1")
        assert idle.is_full("10.0.0.1")
        assert not idle.is_full("10.0.0.2")
        idle.remove("10.0.0.1")
        assert not idle.is_full("10.0.0.1")
        assert len(idle) == 0
