"""The time of a call holds for all of it, whatever the server does slowly."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.workflows.remote.conftest import (
    FakeMaker,
    RawMaker,
    Reply,
    Request,
    read_request,
)
from workflows import RemoteServer
from workflows.deadlines import Deadline
from workflows.remote import connection as connection_module
from workflows.remote import pool
from workflows.remote.connection import Connection
from workflows.remote.errors import ServerTimeoutError
from workflows.remote.knowledge import CHECK
from workflows.remote.retry import RetryPolicy

# Far above what a call with a deadline takes here, far below what the servers would go on for.
GENEROUS = 10.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def post(url: str, timeout: float | Deadline = 0.3, body: Any = None, retries: int = 2) -> Any:
    made = Connection(url, policy=RetryPolicy(retries, first_pause=0.01, longest_pause=0.02))
    try:
        return made.post("/x", body or {}, timeout=timeout, repeatable=True)
    finally:
        made.close()


@contextmanager
def ends_in_time() -> Iterator[None]:
    """Fails when the block takes long, or when it leaves a thread behind."""
    before = set(threading.enumerate())
    started = time.monotonic()
    yield
    assert time.monotonic() - started < GENEROUS
    ours = {thread.name for thread in set(threading.enumerate()) - before}
    assert not {name for name in ours if "weftlens" in name}


def drip(peer: socket.socket, stop: threading.Event, data: bytes) -> None:
    """Sends a byte now and then, the last one over and over."""
    end = time.monotonic() + 3 * GENEROUS
    for position in range(10**9):
        if stop.wait(0.01) or time.monotonic() > end:
            return
        peer.sendall(data[min(position, len(data) - 1) :][:1])


class TestEveryStep:
    @pytest.mark.parametrize(
        ("at_once", "slowly", "waited_for"),
        [
            (b"", b"HTTP/1.1 200 OOOO", "the first line and the headers of the answer"),
            (HEAD, b"X-Long: aaaa", "the first line and the headers of the answer"),
            (b"HTTP/1.1 102 Processing\r\nX: ", b"a", "the first line and the headers"),
            (HEAD + b"Content-Length: 99999\r\n\r\n", b"[1", "the rest of the answer, of which "),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n", b"[1", "the rest of the answer"),
            (HEAD + b"\r\n", b"[1", "the rest of the answer"),
            (
                HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 999)[:10],
                gzip.compress(bytes(999))[10:12],
                "the rest of the answer",
            ),
        ],
        ids=["status", "headers", "informational", "body", "chunked", "until-close", "gzip"],
    )
    def test_an_answer_that_drips(
        self, raw_server: RawMaker, at_once: bytes, slowly: bytes, waited_for: str
    ) -> None:
        """No byte that comes prolongs the call; the error says what was waited for."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(at_once)
            drip(peer, stop, slowly)

        server = raw_server(talk)
        with ends_in_time(), pytest.raises(ServerTimeoutError) as caught:
            post(server.url)
        text = str(caught.value)
        assert text.startswith(f"The server {server.url} did not answer within 0.3 s: waited for ")
        assert waited_for in text
        assert "The run may still go on there." in text
        assert server.connections == 1

    def test_informational_answers_without_end(self, raw_server: RawMaker) -> None:
        """Each is complete, none is the answer."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            while not stop.wait(0.01):
                peer.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")

        with ends_in_time(), pytest.raises(ServerTimeoutError, match="waited for the first line"):
            post(raw_server(talk).url)

    def test_a_request_that_is_taken_slowly(self, raw_server: RawMaker) -> None:
        """Each piece that goes out would have a time of its own in the HTTP library."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            while not stop.wait(0.02):
                if not peer.recv(65536):
                    return

        server = raw_server(talk)
        with ends_in_time(), pytest.raises(ServerTimeoutError, match="server to take the request"):
            post(server.url, body={"data": "x" * 120_000_000})

    def test_a_handshake_that_does_not_come(self, raw_server: RawMaker) -> None:
        """Nothing was sent, so nothing goes on there."""
        server = raw_server(lambda peer, stop: drip(peer, stop, b"\x16\x03\x03\x3f\xff\x02\x00"))
        with ends_in_time(), pytest.raises(ServerTimeoutError) as caught:
            post(server.url.replace("http:", "https:"))
        assert "within 0.3 s: waited for the TLS handshake. Give a longer" in str(caught.value)

    def test_a_name_that_is_looked_up_slowly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The resolver of the system knows no time."""
        release, ended = threading.Event(), threading.Event()

        def resolve(host: str, port: int) -> list[str]:
            release.wait(60)
            ended.set()
            return []

        monkeypatch.setattr(pool, "_resolve", resolve)
        started = time.monotonic()
        try:
            with pytest.raises(ServerTimeoutError, match="waited for the connection"):
                post("http://slow.invalid")
            assert time.monotonic() - started < GENEROUS
        finally:
            release.set()
        assert ended.wait(60)

    def test_addresses_share_the_time(
        self, fake_server: FakeMaker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A host whose first address takes no packets is reached by the second."""
        server = fake_server(lambda request: Reply({"ok": True}))
        # Packets to the first of these are dropped or refused at once, as the network has it.
        monkeypatch.setattr(pool, "_resolve", lambda host, port: ["192.0.2.1", "127.0.0.1"])
        answer = post(server.url.replace("127.0.0.1", "two.invalid"), timeout=4.0)
        assert answer.content == {"ok": True}

    def test_no_connection_is_free(
        self, raw_server: RawMaker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Threads that share a server wait no longer than their calls."""
        monkeypatch.setattr(connection_module, "_CONNECTIONS", 1)
        arrived = threading.Event()

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            arrived.set()
            stop.wait(3 * GENEROUS)

        server = raw_server(talk)
        made = Connection(server.url)
        errors: list[Exception] = []

        def first() -> None:
            try:
                made.post("/x", {}, timeout=3.0, repeatable=True)
            except ServerTimeoutError as error:
                errors.append(error)

        thread = threading.Thread(target=first)
        thread.start()
        assert arrived.wait(GENEROUS)
        with pytest.raises(ServerTimeoutError, match="a free connection, of which this side has 1"):
            made.post("/x", {}, timeout=0.2, repeatable=True)
        thread.join()
        made.close()
        assert len(errors) == 1


class TestRepetitions:
    def test_they_share_the_time_with_the_first_attempt(self, raw_server: RawMaker) -> None:
        """The error says in which attempt it was over."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            if server.connections > 1:
                drip(peer, stop, b"H")

        server = raw_server(talk)
        with ends_in_time(), pytest.raises(ServerTimeoutError, match=r"answer, in attempt 2\."):
            post(server.url, timeout=0.6)

    def test_a_deadline_that_has_passed_sends_nothing(self, fake_server: FakeMaker) -> None:
        """What came before took all of it."""
        server = fake_server(lambda request: Reply({}))
        with pytest.raises(ServerTimeoutError, match="time was over before the request was begun"):
            post(server.url, timeout=Deadline(0.0))
        assert server.requests == []


class TestRun:
    def test_questions_before_the_run_count(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """The error names the seconds of the whole call."""
        release = threading.Event()

        def answer(request: Request) -> Reply:
            release.wait(0.2 if request.path == CHECK else 60)
            return Reply({"missing": []})

        server = fake_server(answer)
        with RemoteServer(server.url) as remote:
            try:
                with pytest.raises(ServerTimeoutError, match=r"did not answer within 0\.9 s"):
                    remote.run(blur_definition, {"image": picture}, timeout=0.9)
            finally:
                release.set()

    def test_all_requests_of_a_model_call_count(self, fake_server: FakeMaker) -> None:
        """Forty images are three requests."""
        boxes = {"image": {"width": 4, "height": 4}, "predictions": []}
        model = {"model_id": "a/1", "task_type": "object-detection"}

        def answer(request: Request) -> Reply:
            if request.path == "/model/add":
                return Reply({"models": [model]})
            time.sleep(0.4)
            return Reply([boxes] * len(request.body["image"]))

        server = fake_server(answer)
        with (
            RemoteServer(server.url, timeout=1.0) as remote,
            pytest.raises(ServerTimeoutError, match="within 1 s"),
        ):
            remote.models.infer("a/1", [np.zeros((4, 4, 3), np.uint8)] * 40)
