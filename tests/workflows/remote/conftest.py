"""A server of our own making on a free port, whose answers the tests write."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from workflows import Session, WeftlensSettings
from workflows.running import run_locally


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What to answer; `hang_up` closes the connection without an answer."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


class FakeServer:
    """Answers with what `answer` gives for a request and keeps all requests."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def paths(self) -> list[str]:
        """Paths of all requests in order."""
        return [request.path for request in self.requests]

    def start(self) -> None:
        """Listens, after `stop` on the same port as before."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._handle()

            def do_POST(self) -> None:
                self._handle()

            def _handle(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Request(
                    self.command,
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(content) if content else None,
                )
                outer.requests.append(request)
                reply = outer.answer(request)
                if reply.hang_up:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                data = reply.content
                if not isinstance(data, bytes):
                    data = json.dumps(data).encode()
                self.send_response(reply.status)
                headers = {"Content-Type": "application/json", **reply.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                try:
                    self.end_headers()
                    self.wfile.write(data)
                except ConnectionError:
                    self.close_connection = True  # the client has gone

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        """Closes the socket; connections are refused afterwards."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None


FakeMaker = Callable[[Callable[[Request], Reply]], FakeServer]


@pytest.fixture
def fake_server() -> Iterator[FakeMaker]:
    """Makes fake servers and stops them after the test."""
    made: list[FakeServer] = []

    def make(answer: Callable[[Request], Reply]) -> FakeServer:
        made.append(FakeServer(answer))
        return made[-1]

    yield make
    for server in made:
        server.stop()


class RawServer:
    """Hands each connection to `talk`, which gets the socket and an event that says when to stop;
    for what no HTTP server does.
    """

    def __init__(self, talk: Callable[[socket.socket, threading.Event], None]) -> None:
        self._talk = talk
        self._stopping = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.02)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def stop(self) -> None:
        """Ends all talking and closes the port."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                peer, _ = self._listener.accept()
            except TimeoutError:
                continue
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(peer,)))
            self._threads[-1].start()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            peer.settimeout(30)
            try:
                self._talk(peer, self._stopping)
            except OSError:
                return  # the client has gone, which is what most tests are about


def read_request(peer: socket.socket) -> bytes:
    """The head of one request; its body is read and left out."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = peer.recv(65536)
        if not piece:
            raise ConnectionResetError
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        body += peer.recv(65536)
    return head


RawMaker = Callable[[Callable[[socket.socket, threading.Event], None]], RawServer]


@pytest.fixture
def raw_server() -> Iterator[RawMaker]:
    """Makes raw servers and stops them after the test."""
    made: list[RawServer] = []

    def make(talk: Callable[[socket.socket, threading.Event], None]) -> RawServer:
        made.append(RawServer(talk))
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def engine_answer() -> Iterator[Callable[[Request], Reply]]:
    """Answers runs of definitions as other servers of this interface do: nothing but the routes of
    the public interface, no question of what is there.
    """
    session = Session(WeftlensSettings(allow_local_images=False))

    def answer(request: Request) -> Reply:
        if request.path != "/workflows/run":
            return Reply({"detail": "Not Found"}, 404)
        rows = run_locally(
            request.body["specification"],
            request.body["inputs"],
            session=session,
            serialize=True,
        )
        return Reply({"outputs": rows})

    with session:
        yield answer
