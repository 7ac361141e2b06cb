"""Bodies of answers: what they decode to, and the limit on it."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workflows.remote.conftest import FakeMaker, RawMaker, Reply, read_request
from workflows import RemoteServer, Session, WeftlensSettings, run_remotely
from workflows.remote.body import BodyEncodingError, BodyReader, BodyTooLargeError
from workflows.remote.errors import ServerAnswerError


def bare_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKERS = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


def read(body: bytes, encoding: str, limit: int, size: int = 7, announced: str = "") -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return BodyReader(encoding, announced, limit).read(parts)


class TestBodyReader:
    @given(content=st.binary(max_size=3000), size=st.integers(1, 400))
    def test_every_encoding_gives_the_content(self, content: bytes, size: int) -> None:
        """However it is cut, at exactly the limit; one byte less is too small a limit."""
        packed = [(name, pack(content)) for name, pack in PACKERS.items()]
        packed.append(("deflate", bare_deflate(content)))
        packed.append(("X-GZIP ", gzip.compress(content)))
        for encoding, body in packed:
            assert read(body, encoding, max(len(content), 1), size) == content
            if content:
                with pytest.raises(BodyTooLargeError):
                    read(body, encoding, len(content) - 1, size)

    @pytest.mark.parametrize("encoding", ["gzip", "deflate"])
    def test_a_bomb_takes_no_memory(self, encoding: str) -> None:
        """A quarter of a gigabyte in 256 KiB is given up at the limit."""
        packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
        bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(256)) + packer.flush()
        tracemalloc.start()
        try:
            with pytest.raises(BodyTooLargeError):
                read(bomb, encoding, 1_000_000, 65536)
            assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("body", "encoding", "words"),
        [
            (b"{}", "br", "encoded as 'br', which was not asked for"),
            (b"{}", "gzip, gzip", "was not asked for"),
            (b"{}", "gzip", "is no gzip"),
            (gzip.compress(b"{}" * 99)[:-9], "gzip", "ends within its gzip"),
            (gzip.compress(b"{}")[:5], "gzip", "ends within its gzip"),
            (zlib.compress(b"{}" * 99)[:-1], "deflate", "ends within its deflate"),
            (b"\xff\xff\xff", "deflate", "is no deflate"),
        ],
    )
    def test_refuses_what_does_not_decode(self, body: bytes, encoding: str, words: str) -> None:
        """The text says how it was encoded."""
        with pytest.raises(BodyEncodingError, match=words):
            read(body, encoding, 10**6)

    def test_a_size_that_is_announced_is_refused_before_it_comes(self) -> None:
        """For a body that is not encoded; a header that is no number is left alone."""
        with pytest.raises(BodyTooLargeError) as caught:
            read(b"", "identity", 10, announced="11")
        assert caught.value.announced == 11
        assert read(b"{}", "", 10, announced="many") == b"{}"
        assert read(gzip.compress(b""), "gzip", 10, announced="20") == b""


class TestLimit:
    @pytest.mark.parametrize("encoding", ["", "gzip"])
    def test_names_the_limit_and_the_way_out(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], encoding: str
    ) -> None:
        """Plain or compressed, in a run."""
        body = PACKERS[encoding](b'{"outputs": [{"blurred": "' + b"x" * 5000 + b'"}]}')
        headers = {"Content-Encoding": encoding} if encoding else {}
        server = fake_server(lambda request: Reply(body, headers=headers))
        with pytest.raises(ServerAnswerError) as caught:
            run_remotely(
                blur_definition, {"image": _pixel()}, server=server.url, check=False,
                max_answer_bytes=5000,
            )  # fmt: skip
        announced = "" if encoding else f" ({len(body)} bytes announced)"
        assert str(caught.value) == (
            f"The server {server.url} answered /workflows/run with more than 5000 bytes"
            f"{announced}, the limit of this side. Run fewer images at a time, declare fewer "
            "outputs, or give a larger max_answer_bytes (WEFTLENS_REMOTE_MAX_ANSWER_BYTES)."
        )
        assert len(server.requests) == 1

    def test_a_body_without_end(
        self, raw_server: RawMaker, blur_definition: dict[str, Any]
    ) -> None:
        """Nothing announces its size."""

        def talk(peer: Any, stop: Any) -> None:
            read_request(peer)
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not stop.is_set():
                peer.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")

        server = raw_server(talk)
        with pytest.raises(ServerAnswerError, match="more than 100000 bytes"):
            run_remotely(
                blur_definition, {"image": _pixel()}, server=server.url, max_answer_bytes=100_000
            )

    @pytest.mark.parametrize("status", [200, 503])
    def test_holds_for_every_question(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], status: int
    ) -> None:
        """What a server lacks, what a workflow takes, what a model does; and for errors."""
        server = fake_server(lambda request: Reply({"missing": [], "pad": "x" * 2000}, status))
        with RemoteServer(server.url, max_answer_bytes=1000) as remote:
            for ask in (
                lambda: remote.check(blur_definition),
                lambda: remote.describe("shop/count"),
                lambda: remote.models.package("a/1"),
                lambda: remote.run("shop/count", {}),
            ):
                with pytest.raises(ServerAnswerError, match="more than 1000 bytes"):
                    ask()

    def test_comes_from_the_settings(self, fake_server: FakeMaker) -> None:
        """Of the session, unless it is given."""
        server = fake_server(lambda request: Reply({"pad": "x" * 2000}))
        with Session(WeftlensSettings(remote_max_answer_bytes=1500)) as session:
            with (
                RemoteServer(server.url, session=session) as remote,
                pytest.raises(ServerAnswerError, match="more than 1500 bytes"),
            ):
                remote.describe("shop/count")
            with (
                RemoteServer(server.url, session=session, max_answer_bytes=10_000) as remote,
                pytest.raises(ServerAnswerError, match="describes the workflow"),
            ):
                remote.describe("shop/count")

    @pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9"])
    def test_refuses_a_limit_that_is_none(self, limit: Any) -> None:
        """Nothing is sent."""
        with pytest.raises(ValueError, match="max_answer_bytes must be a whole number above 0"):
            RemoteServer("http://127.0.0.1:9", max_answer_bytes=limit)


def _pixel() -> np.ndarray:
    return np.zeros((1, 1, 3), np.uint8)
