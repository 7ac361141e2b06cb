"""Attacks on a server in one table: each is refused with a status of 4xx, in bounded time and
memory. Nothing leaves the machine: listeners of its own stand for the targets, a function for DNS.
"""

from __future__ import annotations

import ipaddress
import json
import resource
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from execution_engine.images.codec import ImageCodec
from tests.workflows.server.security.attack_bodies import run_on
from tests.workflows.server.security.attack_table import (
    ATTACKS,
    JSON,
    MAX_BODY,
    REFUSED,
    RUN,
    SURVIVED,
    Attack,
)
from workflows.image_urls import ImageUrlFetcher
from workflows.public_addresses import Address, FetchError
from workflows.server.app import create_app
from workflows.server.settings import ServerSettings
from workflows.session import Session

MOST_SECONDS = 30.0
MOST_MEGABYTES = 700


class Trap:
    """A listener that stands for public servers and for targets; counts who reached a target."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.done = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    outer.answer(self)
                except OSError:
                    self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers as a hostile server does."""
        goals = {
            "/to-inside": f"http://inside.test:{self.port}/secret",
            "/to-file": "file:///etc/passwd",
            "/loop": "/loop",
            "/again": "/secret",
        }
        if handler.path in goals:
            handler.send_response(302)
            handler.send_header("Location", goals[handler.path])
            handler.end_headers()
            return
        if handler.path not in ("/endless", "/packed", "/slow"):
            self.hits.append(handler.path)
        handler.send_response(200)
        if handler.path == "/packed":
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        if handler.path == "/slow":
            self.done.wait(MOST_SECONDS)
        while handler.path == "/endless":
            handler.wfile.write(b"x" * 65_536)

    def close(self) -> None:
        """Ends it."""
        self.done.set()
        self.http.shutdown()
        self.http.server_close()


class FakeNames:
    """DNS of the tests: `public.test` leads to the trap, other names inside."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append(host)
        public, private = ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("10.0.0.1")
        if host == "public.test":
            return [public]
        if host == "mixed.test":
            return [public, private]
        if host == "rebind.test":
            return [public] if self.asked.count(host) == 1 else [private]
        return [private]


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    made = Trap()
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = ServerSettings(
        max_body_bytes=MAX_BODY,
        max_concurrency=2,
        request_timeout=MOST_SECONDS,
        allow_image_urls=True,
        max_request_pixels=20_000_000,
        max_run_bytes=150 * 1024 * 1024,
        workflows=tmp_path_factory.mktemp("workflows"),
    )
    session = Session(settings.session_settings())
    app = create_app(session, settings, close_session=True)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as made:
        yield made


def codec_for(url: str, session: Session) -> ImageCodec:
    """What reads images: addresses as they are for literal ones, through the fake names else."""
    limits: dict[str, Any] = {"max_bytes": 200_000, "timeout": 1.0}
    if ".test" in url:
        local = ipaddress.ip_address("127.0.0.1")
        limits |= {"resolver": FakeNames(), "permits": lambda address: address == local}
    return ImageCodec(allow_urls=True, fetch_url=ImageUrlFetcher(**limits))


class TestAttacks:
    @pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
    def test_refused(self, attack: Attack, client: TestClient, trap: Trap) -> None:
        """The answer is 4xx, says why, comes soon, takes little memory, and reaches no target."""
        body = attack.body
        session = client.app.state.host.session
        if attack.url is not None:
            url = attack.url.format(port=trap.port)
            session.image_codec = codec_for(url, session)
            body = run_on({"type": "url", "value": url})
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        trap.hits.clear()
        before, started = peak_megabytes(), time.monotonic()
        headers = attack.headers if isinstance(body, bytes) else JSON | attack.headers
        answer = client.request(
            attack.method, attack.path, content=None if body is None else content, headers=headers
        )
        assert answer.status_code in attack.statuses, answer.text[:500]
        assert attack.says in answer.text, answer.text[:500]
        assert time.monotonic() - started < MOST_SECONDS
        assert peak_megabytes() - before < MOST_MEGABYTES
        assert trap.hits == []
        assert len(answer.content) < 100_000

    @pytest.mark.parametrize("attack", SURVIVED, ids=lambda attack: attack.name)
    def test_survived(self, attack: Attack, client: TestClient) -> None:
        """What looks harmless until it runs is answered, soon and with little memory."""
        before, started = peak_megabytes(), time.monotonic()
        answer = client.post(attack.path, json=attack.body)
        assert answer.status_code == 200 or answer.status_code in REFUSED, answer.text[:500]
        assert time.monotonic() - started < MOST_SECONDS
        assert peak_megabytes() - before < MOST_MEGABYTES

    def test_there_are_enough(self) -> None:
        """The table does not shrink by accident."""
        assert len(ATTACKS) >= 100
        assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def peak_megabytes() -> float:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_a_url_is_not_fetched_where_that_is_off() -> None:
    """Without the setting, no address is even looked up."""
    settings = ServerSettings()
    with (
        Session(settings.session_settings()) as session,
        TestClient(create_app(session, settings), base_url="http://localhost") as client,
    ):
        answer = client.post(RUN, json=run_on("http://169.254.169.254/"))
    assert answer.status_code == 400
    assert "does not permit loading images from URLs" in answer.json()["message"]


def test_errors_of_fetches_hold_no_query() -> None:
    """What stands behind the host of an address may be a token."""
    with pytest.raises(FetchError) as caught:
        ImageUrlFetcher()("http://127.0.0.1:1/path?token=abc")
    assert "token" not in str(caught.value)
