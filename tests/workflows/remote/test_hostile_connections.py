"""Servers that break off, close connections or speak something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from execution_engine.errors import WorkflowError
from tests.workflows.remote.conftest import FakeMaker, RawMaker, Reply, read_request
from workflows import RemoteServer, run_remotely
from workflows.remote.connection import Connection
from workflows.remote.errors import (
    ServerAnswerError,
    ServerConnectionError,
)
from workflows.remote.retry import RetryPolicy

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
KEY = "rf_verysecret"
Talk = Callable[[socket.socket, threading.Event], None]


def connected(url: str, retries: int = 2) -> Connection:
    return Connection(url, policy=RetryPolicy(retries, first_pause=0.01, longest_pause=0.02))


def answering(*, answers: int, close_header: bool = False) -> Talk:
    """Answers so many requests on a connection, then closes it, with or without saying so."""

    def talk(peer: socket.socket, stop: threading.Event) -> None:
        for number in range(answers):
            read_request(peer)
            closing = close_header and number == answers - 1
            head = OK + (b"Connection: close\r\n" if closing else b"")
            peer.sendall(head + b"Content-Length: 2\r\n\r\n{}")

    return talk


class TestConnections:
    @pytest.mark.parametrize("repeatable", [True, False])
    @pytest.mark.parametrize("close_header", [True, False])
    def test_a_server_that_closes_after_each_answer(
        self, raw_server: RawMaker, repeatable: bool, close_header: bool
    ) -> None:
        """Announced or not, the next request goes out on a new connection, and runs once."""
        server = raw_server(answering(answers=1, close_header=close_header))
        made = connected(server.url)
        for _ in range(5):
            answer = made.post("/x", {}, timeout=30, repeatable=repeatable)
            assert answer.content == {}
        made.close()

    def test_a_kept_connection_that_dies_under_a_request_is_replaced(
        self, raw_server: RawMaker
    ) -> None:
        """Where running twice does no harm; that is no repetition, so it needs none allowed."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(OK + b"Content-Length: 2\r\n\r\n{}")
            read_request(peer)  # and closes: the request came too late

        server = raw_server(talk)
        made = connected(server.url, retries=0)
        for _ in range(3):
            assert made.post("/x", {}, timeout=30, repeatable=True).content == {}
        made.close()

    def test_what_must_not_run_twice_does_not_go_out_on_a_kept_connection(
        self, raw_server: RawMaker
    ) -> None:
        """It could die under the request, and nobody would know whether that ran."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(OK + b"Content-Length: 2\r\n\r\n{}")
            read_request(peer)

        server = raw_server(talk)
        made = connected(server.url)
        for _ in range(3):
            made.post("/x", {}, timeout=30, repeatable=True)
            assert made.post("/x", {}, timeout=30, repeatable=False).content == {}
        made.close()

    def test_threads_share_one_while_connections_are_closed(self, raw_server: RawMaker) -> None:
        """Forty threads, two requests a connection, every request answered once."""
        server = raw_server(answering(answers=2, close_header=True))
        made = connected(server.url, retries=0)
        failures: list[BaseException] = []

        def work(repeatable: bool) -> None:
            try:
                for _ in range(5):
                    made.post("/x", {"n": 1}, timeout=60, repeatable=repeatable)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n % 2 == 0,)) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made.close()
        assert failures == []

    @pytest.mark.parametrize(
        "cut",
        [
            OK + b"Content-Length: 100\r\n\r\n{",
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
            OK[:20],
            OK + b"Content-Len",
        ],
    )
    def test_an_answer_that_breaks_off(self, raw_server: RawMaker, cut: bytes) -> None:
        """Is a broken connection, never half an answer."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(cut)

        server = raw_server(talk)
        made = connected(server.url)
        for repeatable, connections in ((True, 3), (False, 4)):
            with pytest.raises(ServerConnectionError, match="broke before it answered"):
                made.post("/x", {}, timeout=30, repeatable=repeatable)
            assert server.connections == connections
        made.close()

    @pytest.mark.parametrize(
        "greeting",
        [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02\x46", OK + b"no header\r\n\r\n"],
    )
    def test_a_server_of_another_protocol(self, raw_server: RawMaker, greeting: bytes) -> None:
        """Is not asked again."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(greeting + b"\r\n\r\n")
            stop.wait(20)

        server = raw_server(talk)
        made = connected(server.url)
        with pytest.raises(ServerAnswerError, match="does not answer as an HTTP server"):
            made.post("/x", {}, timeout=30, repeatable=True)
        made.close()
        assert server.connections == 1

    def test_headers_without_end(self, raw_server: RawMaker) -> None:
        """Are given up long before memory is."""

        def talk(peer: socket.socket, stop: threading.Event) -> None:
            read_request(peer)
            peer.sendall(OK)
            while not stop.is_set():
                peer.sendall(b"X-Padding: " + b"x" * 4000 + b"\r\n")

        made = connected(raw_server(talk).url)
        with pytest.raises(ServerAnswerError, match="does not answer as an HTTP server"):
            made.post("/x", {}, timeout=60, repeatable=True)
        made.close()

    def test_a_closed_server_sends_nothing(self, fake_server: FakeMaker) -> None:
        """It is a fault of the program."""
        server = fake_server(lambda request: Reply({}))
        remote = RemoteServer(server.url)
        remote.close()
        with pytest.raises(RuntimeError, match=f"the connections to {server.url} are closed"):
            remote.run("shop/count", {})
        assert server.requests == []

    def test_a_proxy_of_the_environment(
        self, fake_server: FakeMaker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Is used, and not for hosts that `no_proxy` names."""
        proxy = fake_server(lambda request: Reply({"by": "proxy"}))
        server = fake_server(lambda request: Reply({"by": "server"}))
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for url, by in (("http://far.invalid:81/base", "proxy"), (server.url, "server")):
            for repeatable in (True, False):
                made = connected(url)
                answer = made.post("/x", {}, timeout=30, repeatable=repeatable)
                assert answer.content == {"by": by}
                made.close()
        assert proxy.paths == ["http://far.invalid:81/base/x"] * 2
        assert proxy.requests[0].headers["host"] == "far.invalid:81"


class TestKey:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_does_not_follow_a_redirect(self, fake_server: FakeMaker, status: int) -> None:
        """To another host or another port, nor does it stand in the error."""
        other = fake_server(lambda request: Reply({}))
        target = f"{other.url}/x?api_key={KEY}"
        server = fake_server(lambda request: Reply({}, status, {"Location": target}))
        with pytest.raises(ServerAnswerError, match="redirects are not followed") as caught:
            run_remotely("shop/count", {}, server=server.url, api_key=KEY)
        assert other.requests == []
        assert KEY not in str(caught.value)
        assert "api_key=***" in str(caught.value)

    @pytest.mark.parametrize(
        "reply",
        [
            Reply({"message": f"no such key: {KEY}"}, 401),
            Reply({"detail": [{"input": {"api_key": KEY}}]}, 422),
            Reply({"message": f"m {KEY}", "error_type": "RuntimeInputError"}, 400),
            Reply(f"<p>{KEY}</p>".encode(), 500),
            Reply(f"<p>{KEY}</p>".encode()),
            Reply(KEY),
            Reply([KEY]),
        ],
    )
    def test_is_hidden_where_a_server_repeats_it(
        self, fake_server: FakeMaker, reply: Reply
    ) -> None:
        """In errors and in what is no JSON object."""
        server = fake_server(lambda request: reply)
        with pytest.raises(WorkflowError) as caught:
            run_remotely("shop/count", {}, server=server.url, api_key=KEY)
        assert KEY not in f"{caught.value} {caught.value!r} {vars(caught.value)!r}"

    def test_is_hidden_where_json_writes_it_in_another_way(self, fake_server: FakeMaker) -> None:
        """With its quotes and backslashes."""
        key = 'a"b\\c'
        server = fake_server(lambda request: Reply({"message": f"no {key}"}, 401))
        with pytest.raises(WorkflowError, match=r"no \*\*\*"):
            run_remotely("shop/count", {}, server=server.url, api_key=key)

    def test_cookies_are_not_kept(self, fake_server: FakeMaker) -> None:
        """No answer changes the next request."""
        server = fake_server(lambda request: Reply({}, headers={"Set-Cookie": "a=b"}))
        made = connected(server.url)
        for _ in range(2):
            made.post("/x", {}, timeout=30, repeatable=True)
        made.close()
        assert "cookie" not in server.requests[1].headers
