"""Clients that ask for answers and do not read them."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import cv2
import numpy as np
import pytest

from workflows.server.security.unread_answers import UnreadAnswers

SOON = 20.0
OUTPUTS = 12


@pytest.fixture(scope="module")
def request_bytes() -> bytes:
    """A run whose answer, of about 13 MB, is more than the system buffers for a connection."""
    noise = np.random.default_rng(3).integers(0, 256, (1000, 1000, 3), dtype=np.uint8)
    image = base64.b64encode(cv2.imencode(".jpg", noise)[1]).decode()
    definition = {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [],
        "outputs": [
            {"type": "JsonField", "name": f"copy_{number}", "selector": "$inputs.image"}
            for number in range(OUTPUTS)
        ],
    }
    body = json.dumps(
        {"specification": definition, "inputs": {"image": {"type": "base64", "value": image}}}
    ).encode()
    head = (
        "POST /workflows/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def asking(address: tuple[str, int], sent: bytes) -> Iterator[socket.socket]:
    """A connection with little room for what comes, on which an answer has begun."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(SOON)
        connection.connect(address)
        connection.sendall(sent)
        assert connection.recv(12) == b"HTTP/1.1 200"
        yield connection


def rest_of(connection: socket.socket) -> int:
    """Bytes that come until the connection ends; -1 when it breaks off."""
    count = 0
    try:
        while part := connection.recv(1 << 20):
            count += len(part)
    except ConnectionResetError:
        return -1
    return count


class FakeTransport:
    """A connection with bytes that its client has not taken."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("10.0.0.1", 4000), "socket": self}[name]

    def setsockopt(self, *given: Any) -> None:
        """A socket takes any option."""

    def abort(self) -> None:
        self.aborted = True
        self.unread = 0


class FakeLoop:
    """Keeps what is to be called later."""

    def __init__(self) -> None:
        self.timers: list[Any] = []

    def call_later(self, delay: float, callback: Callable[..., None], *given: Any) -> Any:
        class Timer:
            live = True

            def cancel(self) -> None:
                self.live = False

            def fire(self) -> None:
                if self.live:
                    callback(*given)

        self.timers.append(Timer())
        return self.timers[-1]

    def pass_time(self) -> None:
        """Calls all that is due."""
        due, self.timers = self.timers, []
        for timer in due:
            timer.fire()


class TestUnreadAnswers:
    def test_a_client_that_goes_on_reading(self) -> None:
        """Whoever takes a few bytes each time is left alone; whoever takes none is not."""
        loop, slow, stuck = FakeLoop(), FakeTransport(1000), FakeTransport(1000)
        answers = UnreadAnswers(timeout=5.0, most_bytes=10_000, loop=loop)  # type: ignore[arg-type]
        answers.add(slow)  # type: ignore[arg-type]
        answers.add(stuck)  # type: ignore[arg-type]
        for _ in range(3):
            slow.unread -= 1
            loop.pass_time()
        assert (slow.aborted, stuck.aborted, len(answers)) == (False, True, 1)
        answers.remove(slow)  # type: ignore[arg-type]
        answers.remove(stuck)  # type: ignore[arg-type]  # when its connection is lost
        loop.pass_time()
        assert (slow.aborted, len(answers), loop.timers) == (False, 0, [])

    def test_more_than_may_be_held(self) -> None:
        """Those that wait longest make room; the newest stays, however large."""
        loop = FakeLoop()
        connections = [FakeTransport(400), FakeTransport(400), FakeTransport(400)]
        answers = UnreadAnswers(timeout=5.0, most_bytes=1000, loop=loop)  # type: ignore[arg-type]
        for connection in connections:
            answers.add(connection)  # type: ignore[arg-type]
        assert [one.aborted for one in connections] == [True, False, False]
        huge = FakeTransport(5000)
        answers.add(huge)  # type: ignore[arg-type]
        assert [one.aborted for one in connections] == [True, True, True]
        assert (huge.aborted, len(answers)) == (False, 1)


class TestSlowReaders:
    def test_an_answer_that_nobody_takes(
        self, request_bytes: bytes, live: Callable[..., Any], until: Callable[..., None]
    ) -> None:
        """Its connection breaks off; it would keep answer and connection for ever."""
        with (
            live(answer_timeout=0.3) as server,
            asking(server.address, request_bytes) as connection,
        ):
            until(lambda: not server.server.server_state.connections)
            assert rest_of(connection) == -1

    def test_answers_that_fill_the_memory(
        self, request_bytes: bytes, live: Callable[..., Any], until: Callable[..., None]
    ) -> None:
        """The oldest goes when a further one comes; the newest is sent whole."""
        with live(max_unread_bytes=1_000_000) as server, ExitStack() as stack:
            first, second, third = (
                stack.enter_context(asking(server.address, request_bytes)) for _ in range(3)
            )
            until(lambda: len(server.server.server_state.connections) == 1)
            assert rest_of(first) == -1
            assert rest_of(second) == -1
            assert rest_of(third) > OUTPUTS * 1_000_000
