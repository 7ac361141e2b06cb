"""Fetching images from addresses: what is refused, and what arrives."""

from __future__ import annotations

import gzip
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from workflows.image_urls import ImageUrlFetcher
from workflows.public_addresses import Address, FetchError

LOCAL = ipaddress.ip_address("127.0.0.1")
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """An HTTP server of this machine whose paths are answered by functions."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.requests.append((self.path, headers))
                try:
                    outer.answers[self.path](self)
                except OSError:
                    self.close_connection = True  # the client left, as some tests want

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # clients that leave early, as some tests want
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str, host: str = "pictures.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def fetcher(self, **options: Any) -> ImageUrlFetcher:
        """A fetcher for which every name is this machine, which it may reach."""
        options.setdefault("resolver", lambda host, port: [LOCAL])
        options.setdefault("permits", lambda address: True)
        return ImageUrlFetcher(**options)


def body(content: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    return body(b"", status, Location=location)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


class TestImageUrlFetcher:
    def test_the_body_arrives(self, server: Server) -> None:
        """The bytes are given as they are; the host is named, path and query are kept."""
        server.answers["/a%20b.png?size=2"] = body(b"\x89PNG...")
        fetched = server.fetcher()(server.url("/a%20b.png?size=2#part"))
        assert fetched == b"\x89PNG..."
        ((path, headers),) = server.requests
        assert path == "/a%20b.png?size=2"
        assert headers["host"] == f"pictures.example:{server.port}"
        assert headers["accept-encoding"] == "identity"
        assert "cookie" not in headers
        assert "authorization" not in headers

    @pytest.mark.parametrize(
        ("url", "text"),
        [
            ("ftp://pictures.example/a.png", "the scheme 'ftp' is not supported"),
            ("file:///etc/passwd", "the scheme 'file' is not supported"),
            ("http:///a.png", "the address has no host"),
            ("http://user:secret@pictures.example/a.png", "the address holds credentials"),
            ("http://pictures.example:99999/a.png", "the address cannot be read"),
            ("http://[::1/a.png", "the address cannot be read"),
            (f"http://{'a' * 70}.example/", "the address cannot be read"),
            (f"http://pictures.example/{'a' * 9000}", "longer than 8192 characters"),
            ("http://pictures.example/\r\nX-Token: 1", "the address holds control characters"),
            ("http://127.0.0.1\\@pictures.example/", "the address holds credentials"),
            ("http://pictures.example\\.evil.example/", "characters that no name has"),
            ("http://pictures.example%2e127.0.0.1/", "characters that no name has"),
            ("http://pictures.example:22/a.png", "port 22 is not asked"),
            ("http://pictures.example:25/a.png", "port 25 is not asked"),
        ],
    )
    def test_addresses_that_are_refused_unasked(self, url: str, text: str) -> None:
        """Other schemes, credentials and unreadable addresses are refused before any look-up."""

        def never(host: str, port: int) -> list[Address]:
            raise AssertionError("the name was looked up")

        with pytest.raises(FetchError, match=text) as caught:
            ImageUrlFetcher(resolver=never)(url)
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "addresses", [["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"], []], ids=str
    )
    def test_private_addresses_are_refused(self, addresses: list[str]) -> None:
        """A name with one private address, or none at all, is refused and no request is sent."""
        found = [ipaddress.ip_address(text) for text in addresses]
        fetch = ImageUrlFetcher(resolver=lambda host, port: found)
        with pytest.raises(FetchError, match=r"'inside\.example' does not lie in the public"):
            fetch("http://inside.example/latest/meta-data?token=abc")

    @pytest.mark.parametrize(
        "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "127.1"]
    )
    def test_ways_to_write_this_machine(self, host: str, server: Server) -> None:
        """However this machine is written, it is refused."""
        with pytest.raises(FetchError):
            ImageUrlFetcher()(server.url("/a.png", host))
        assert server.requests == []

    def test_the_checked_address_is_the_one_asked(self, server: Server) -> None:
        """A name is looked up once: a second answer cannot lead elsewhere."""
        lookups: list[str] = []

        def once(host: str, port: int) -> list[Address]:
            lookups.append(host)
            return [LOCAL]

        server.answers["/a.png"] = body(b"x")
        assert server.fetcher(resolver=once)(server.url("/a.png")) == b"x"
        assert lookups == ["pictures.example"]

    def test_the_next_address_is_tried(self, server: Server) -> None:
        """When the first address of a name takes no connection, the next one is asked."""
        unbound = ipaddress.ip_address("127.0.0.2")
        server.answers["/a.png"] = body(b"x")
        fetch = server.fetcher(resolver=lambda host, port: [unbound, LOCAL])
        assert fetch(server.url("/a.png")) == b"x"

    def test_redirects_are_followed(self, server: Server) -> None:
        """A redirect, also a relative one, leads to the body."""
        server.answers["/a"] = redirect("/b?x=1", 301)
        server.answers["/b?x=1"] = redirect(server.url("/c", "other.example"), 307)
        server.answers["/c"] = body(b"found")
        assert server.fetcher()(server.url("/a")) == b"found"
        assert server.requests[-1][1]["host"] == f"other.example:{server.port}"

    def test_a_redirect_inside_is_refused(self, server: Server) -> None:
        """A public address that redirects to a private one is refused; the goal is never asked."""
        server.answers["/a"] = redirect(server.url("/secret", "inside.example"))
        server.answers["/secret"] = body(b"secret")
        private = ipaddress.ip_address("10.0.0.1")
        fetch = server.fetcher(
            resolver=lambda host, port: [private if host.startswith("inside") else LOCAL],
            permits=lambda address: address == LOCAL,
        )
        with pytest.raises(FetchError, match=r"'inside\.example' does not lie"):
            fetch(server.url("/a"))
        assert [path for path, _ in server.requests] == ["/a"]

    def test_a_redirect_to_another_scheme_is_refused(self, server: Server) -> None:
        """A redirect to a file is refused."""
        server.answers["/a"] = redirect("file:///etc/passwd")
        with pytest.raises(FetchError, match="the scheme 'file' is not supported"):
            server.fetcher()(server.url("/a"))

    def test_a_redirect_to_nowhere(self, server: Server) -> None:
        """A redirect without a goal is a fault of the server."""
        server.answers["/a"] = body(b"", 302)
        with pytest.raises(FetchError, match="redirects without saying where to"):
            server.fetcher()(server.url("/a"))

    def test_endless_redirects(self, server: Server) -> None:
        """A circle of redirects ends."""
        server.answers["/a"] = redirect("/a")
        with pytest.raises(FetchError, match="redirects more than 3 times"):
            server.fetcher(max_redirects=3)(server.url("/a"))
        assert len(server.requests) == 4

    def test_another_status(self, server: Server) -> None:
        """Anything but 200 is named by its number."""
        server.answers["/a"] = body(b"not here", 404)
        with pytest.raises(FetchError, match="status 404, expected 200"):
            server.fetcher()(server.url("/a"))

    def test_an_announced_body_that_is_too_large(self, server: Server) -> None:
        """A body announced as larger than the limit is not read."""
        server.answers["/a"] = body(b"x" * 1001)
        with pytest.raises(FetchError, match="larger than 1000 bytes"):
            server.fetcher(max_bytes=1000)(server.url("/a"))
        server.answers["/b"] = body(b"x" * 1000)
        assert len(server.fetcher(max_bytes=1000)(server.url("/b"))) == 1000

    def test_an_unannounced_body_that_is_too_large(self, server: Server) -> None:
        """A body without a length is cut off at the limit."""

        def endless(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            while True:
                handler.wfile.write(b"x" * 10_000)

        server.answers["/a"] = endless
        with pytest.raises(FetchError, match="larger than 100000 bytes"):
            server.fetcher(max_bytes=100_000)(server.url("/a"))

    def test_a_packed_body_is_refused(self, server: Server) -> None:
        """A compressed body, which could unpack to any size, is refused: none was asked for."""
        server.answers["/a"] = body(gzip.compress(b"x" * 100_000), Content_Encoding="gzip")
        with pytest.raises(FetchError, match=r"encoded \('gzip'\)"):
            server.fetcher()(server.url("/a"))

    def test_a_slow_answer(self, server: Server) -> None:
        """A server that says nothing is given up on."""
        server.answers["/a"] = lambda handler: time.sleep(1.0)
        started = time.monotonic()
        with pytest.raises(FetchError, match=r"did not arrive within 0\.2 s"):
            server.fetcher(timeout=0.2)(server.url("/a"))
        assert time.monotonic() - started < 0.9

    def test_a_dripping_answer(self, server: Server) -> None:
        """The limit is on the whole fetch: a body that comes drop by drop does not escape it."""

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", "100")
            handler.end_headers()
            for _ in range(100):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.05)

        server.answers["/a"] = drip
        with pytest.raises(FetchError, match=r"did not arrive within 0\.3 s"):
            server.fetcher(timeout=0.3)(server.url("/a"))

    def test_dripping_headers(self, server: Server) -> None:
        """Headers that come byte by byte do not escape the limit either."""

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            for _ in range(100):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.05)

        server.answers["/a"] = drip
        started = time.monotonic()
        with pytest.raises(FetchError, match=r"did not arrive within 0\.3 s"):
            server.fetcher(timeout=0.3)(server.url("/a"))
        assert time.monotonic() - started < 3.0

    def test_a_slow_resolver(self) -> None:
        """A resolver that does not answer takes no more time than the whole fetch may."""
        done = threading.Event()

        def never(host: str, port: int) -> list[Address]:
            done.wait(30.0)
            return [LOCAL]

        try:
            with pytest.raises(FetchError, match=r"did not arrive within 0\.2 s"):
                ImageUrlFetcher(timeout=0.2, resolver=never)("http://slow.example/a.png")
        finally:
            done.set()

    def test_an_endless_header(self, server: Server) -> None:
        """A header without an end is cut off."""

        def endless(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while True:
                handler.wfile.write(b"x" * 65_536)

        server.answers["/a"] = endless
        with pytest.raises(FetchError, match="the connection failed"):
            server.fetcher()(server.url("/a"))

    def test_proxies_of_the_environment_are_not_used(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A proxy would look names up itself, past the check."""
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        server.answers["/a"] = body(b"x")
        assert server.fetcher()(server.url("/a")) == b"x"

    def test_a_name_that_changes_its_mind(self, server: Server) -> None:
        """Each redirect is looked up and checked anew: a name that turns private is refused."""
        answers = iter([LOCAL, ipaddress.ip_address("10.0.0.1")])
        server.answers["/a"] = body(b"", 302, Location="/b", Connection="close")
        server.answers["/b"] = body(b"secret")
        fetch = server.fetcher(
            resolver=lambda host, port: [next(answers)], permits=lambda one: one == LOCAL
        )
        with pytest.raises(FetchError, match="does not lie in the public internet"):
            fetch(server.url("/a"))
        assert [path for path, _ in server.requests] == ["/a"]

    def test_a_closed_port(self) -> None:
        """A refused connection is an error with words."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        fetch = ImageUrlFetcher(resolver=lambda *_: [LOCAL], permits=lambda _: True)
        with pytest.raises(FetchError, match="the connection failed: "):
            fetch(f"http://pictures.example:{port}/a.png")
