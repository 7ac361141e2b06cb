"""Requests over real sockets: repetition, time, answers that are none."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.workflows.remote.conftest import FakeMaker, Reply, Request
from workflows.remote.connection import Connection, checked_address
from workflows.remote.errors import (
    ServerAnswerError,
    ServerConnectionError,
    ServerTimeoutError,
)
from workflows.remote.retry import RetryPolicy


class Pauses:
    """Stands in for `time.sleep` and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)


def connected(url: str, retries: int = 2, pauses: Pauses | None = None) -> Connection:
    policy = RetryPolicy(retries, first_pause=0.01, longest_pause=0.02)
    return Connection(url, policy=policy, sleep=pauses or time.sleep)


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


class TestCheckedAddress:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("http://127.0.0.1:9001", "http://127.0.0.1:9001"),
            ("https://host/", "https://host"),
            ("http://münchen.example", "http://münchen.example"),
            ("http://my_service:80", "http://my_service:80"),
            ("http://[::1]:80/base/", "http://[::1]:80/base"),
        ],
    )
    def test_takes(self, given: str, kept: str) -> None:
        """A path in front of the routes is kept, a slash at the end is not."""
        assert checked_address(given) == kept

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ("127.0.0.1:9001", "such as http://127.0.0.1:9001, got '127.0.0.1:9001'"),
            ("ftp://host", "got 'ftp://host'"),
            ("http://", "got 'http://'"),
            ("http://host:99999", "got 'http://host:99999'"),
            ("http://me:secret@host", "holds no credentials"),
            ("http://host/?api_key=x", "without query"),
            (9001, "got int"),
            (" http://host", "got ' http://host'"),
            ("http://host/\n", "such as http"),
            ("http://a\tb", "such as http"),
            ("http://a b", "got 'http://a b'"),
            ("http://a..b", "got 'http://a..b'"),
            ("http://" + "a" * 64, "got 'http://aaaa"),
            ("http://xn--\N{SNOWMAN}", "such as http"),
        ],
    )
    def test_refuses(self, given: object, words: str) -> None:
        """The text says what an address is."""
        with pytest.raises(ValueError, match=words.replace("?", r"\?")) as caught:
            checked_address(given)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)


class TestPost:
    def test_sends_json_and_the_key(self, fake_server: FakeMaker) -> None:
        """The body is JSON, the key a bearer token."""
        server = fake_server(lambda request: Reply({"ok": True}))
        connection = Connection(server.url, api_key="k-1")
        answer = connection.post("/x", {"a": [1, 2.5, None]}, timeout=10, repeatable=True)
        connection.close()
        assert (answer.status, answer.content) == (200, {"ok": True})
        [request] = server.requests
        assert request.body == {"a": [1, 2.5, None]}
        assert request.headers["content-type"] == "application/json"
        assert request.headers["authorization"] == "Bearer k-1"

    @pytest.mark.parametrize("key", ["", "a b", "a\nb", "schlüssel"])
    def test_refuses_keys_that_no_header_can_hold(self, key: str) -> None:
        """The refusal does not show the key."""
        with pytest.raises(ValueError, match="api_key") as caught:
            Connection("http://host", api_key=key)
        assert not key or key not in str(caught.value)

    def test_waits_as_long_as_the_server_asks(self, fake_server: FakeMaker) -> None:
        """429 with `Retry-After` is repeated, also for a request that must not run twice."""
        replies = [
            Reply({}, 429, {"Retry-After": "1"}),
            Reply({}, 429, {"Retry-After": "2"}),
            Reply({"ok": 1}),
        ]
        server = fake_server(lambda request: replies[len(server.requests) - 1])
        pauses = Pauses()
        answer = connected(server.url, pauses=pauses).post("/x", {}, timeout=30, repeatable=False)
        assert answer.content == {"ok": 1}
        assert pauses.asked == [1.0, 2.0]

    def test_does_not_wait_past_its_time(self, fake_server: FakeMaker) -> None:
        """A pause that would outlast the call is not begun: the answer there is comes at once."""
        server = fake_server(lambda request: Reply({"message": "busy"}, 429, {"Retry-After": "60"}))
        pauses = Pauses()
        answer = connected(server.url, pauses=pauses).post("/x", {}, timeout=5, repeatable=True)
        assert (answer.status, pauses.asked, len(server.requests)) == (429, [], 1)

    @pytest.mark.parametrize(("repeatable", "attempts"), [(True, 3), (False, 1)])
    def test_503_is_repeated_only_where_that_is_harmless(
        self, fake_server: FakeMaker, repeatable: bool, attempts: int
    ) -> None:
        """The last answer is what the caller gets."""
        server = fake_server(lambda request: Reply({"message": "down"}, 503))
        answer = connected(server.url).post("/x", {}, timeout=30, repeatable=repeatable)
        assert (answer.status, len(server.requests)) == (503, attempts)

    @pytest.mark.parametrize(("repeatable", "attempts"), [(True, 3), (False, 1)])
    def test_a_broken_connection_is_repeated_only_where_that_is_harmless(
        self, fake_server: FakeMaker, repeatable: bool, attempts: int
    ) -> None:
        """The error names the server and says that the run may have happened."""
        server = fake_server(lambda request: Reply(hang_up=True))
        with pytest.raises(ServerConnectionError, match="may have happened") as caught:
            connected(server.url).post("/x", {}, timeout=30, repeatable=repeatable)
        assert len(server.requests) == attempts
        assert server.url in str(caught.value)

    @pytest.mark.parametrize("status", [400, 401, 404, 500])
    def test_other_answers_are_final(self, fake_server: FakeMaker, status: int) -> None:
        """A fault of the request stays one."""
        server = fake_server(lambda request: Reply({"message": "no"}, status))
        answer = connected(server.url).post("/x", {}, timeout=30, repeatable=True)
        assert (answer.status, len(server.requests)) == (status, 1)

    def test_a_refused_connection_names_the_server_and_the_way_out(self, free_port: int) -> None:
        """Refused connections are repeated for every request."""
        pauses = Pauses()
        url = f"http://127.0.0.1:{free_port}"
        with pytest.raises(ServerConnectionError) as caught:
            connected(url, pauses=pauses).post("/x", {}, timeout=30, repeatable=False)
        assert len(pauses.asked) == 2
        text = str(caught.value)
        assert text.startswith(f"The server {url} cannot be reached (3 attempts): ")
        assert text.endswith("`weftlens serve` starts one.")
        assert caught.value.server == url

    def test_a_silent_server_takes_no_more_than_the_time_of_the_call(
        self, silent_port: int
    ) -> None:
        """A request that may still be running is not repeated."""
        started = time.monotonic()
        with pytest.raises(ServerTimeoutError, match=r"did not answer within 0\.2 s"):
            connected(f"http://127.0.0.1:{silent_port}").post(
                "/x", {}, timeout=0.2, repeatable=True
            )
        assert time.monotonic() - started < 10

    def test_a_dripping_answer_does_not_outlast_the_call(self, fake_server: FakeMaker) -> None:
        """The time counts for the whole answer, not for each piece of it."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        stop = threading.Event()

        def drip() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not stop.wait(0.05):
                    try:
                        peer.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(ServerTimeoutError):
                connected(f"http://127.0.0.1:{listener.getsockname()[1]}").post(
                    "/x", {}, timeout=0.5, repeatable=True
                )
        finally:
            stop.set()
            thread.join()
            listener.close()

    def test_redirects_are_not_followed(self, fake_server: FakeMaker) -> None:
        """They would carry the key to another address."""
        other = fake_server(lambda request: Reply({}))
        server = fake_server(lambda request: Reply({}, 307, {"Location": f"{other.url}/x"}))
        with pytest.raises(ServerAnswerError, match=f"redirects /x to '{other.url}/x'"):
            connected(server.url).post("/x", {}, timeout=30, repeatable=True)
        assert other.requests == []

    def test_an_answer_that_is_no_json_is_text(self, fake_server: FakeMaker) -> None:
        """Long texts are cut."""
        page = b"<html>" + b"x" * 1000
        server = fake_server(lambda request: Reply(page, 200, {"Content-Type": "text/html"}))
        answer = connected(server.url).post("/x", {}, timeout=30, repeatable=True)
        assert not answer.is_json
        assert answer.content == page.decode()[:200]

    def test_numbers_arrive_as_they_are(self, fake_server: FakeMaker) -> None:
        """Every float32 is exact in JSON."""
        values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 0.30000001192092896]

        def echo(request: Request) -> Reply:
            return Reply(request.body)

        server = fake_server(echo)
        answer = connected(server.url).post("/x", {"v": values}, timeout=30, repeatable=True)
        assert answer.content["v"] == values

    @pytest.mark.parametrize("timeout", [1e300, math.inf])
    def test_a_time_without_end(self, fake_server: FakeMaker, timeout: float) -> None:
        """Longer than any clock of a socket is as long as that."""
        server = fake_server(lambda request: Reply({}))
        answer = connected(server.url).post("/x", {}, timeout=timeout, repeatable=True)
        assert answer.content == {}

    @pytest.mark.parametrize("timeout", [0, -1.0, math.nan, "3", True])
    def test_refuses_a_time_that_is_none(self, timeout: float) -> None:
        """Nothing is sent."""
        with pytest.raises(ValueError, match="seconds above 0"):
            connected("http://127.0.0.1:9").post("/x", {}, timeout=timeout, repeatable=True)
