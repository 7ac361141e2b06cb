"""Checks of what stands in the first line and the headers of a request."""

from __future__ import annotations

from typing import Any

import pytest

from workflows.server.faults import ForbiddenError, InvalidRequestError, RequestFault
from workflows.server.security.headers import (
    HostCheck,
    announced_length,
    check_encoding,
    check_path,
    check_sizes,
    is_loopback,
)


def headers(**values: str) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), text.encode()) for name, text in values.items()]


def passes(check: Any, *arguments: Any) -> bool:
    """Whether a check lets something through; what comes out else has a status of 4xx."""
    status = 200
    try:
        check(*arguments)
    except RequestFault as fault:
        status = fault.status
    assert status == 200 or 400 <= status < 500
    return status == 200


class TestHostCheck:
    @pytest.mark.parametrize(
        ("host", "expected"),
        [
            ("localhost:9001", True),
            ("127.0.0.1:9001", True),
            ("[::1]:9001", True),
            ("192.168.1.5", True),
            ("inference:9001", True),
            ("app.localhost", True),
            ("evil.example:9001", False),
            ("127.0.0.1.evil.example", False),
            ("localhost.evil.example", False),
            ("[::1", False),
            ("evil.example#localhost", False),
        ],
    )
    def test_a_server_of_this_machine(self, host: str, expected: bool) -> None:
        """Names that a page of the internet can have are refused."""
        assert passes(HostCheck((), ()).check, headers(host=host)) is expected

    def test_named_hosts(self) -> None:
        """The operator's own names are let in; without a list, all names are."""
        assert passes(HostCheck(["cam.example"], ()).check, headers(host="CAM.example:1"))
        assert not passes(HostCheck(["cam.example"], ()).check, headers(host="other.example"))
        assert passes(HostCheck(None, ()).check, headers(host="other.example"))

    @pytest.mark.parametrize(
        ("origin", "expected"),
        [
            ("http://localhost:9001", True),
            ("https://ok.example", True),
            ("https://OK.example", True),
            ("http://localhost:1", False),
            ("https://evil.example", False),
            ("https://ok.example.evil.example", False),
            ("null", False),
            ("", False),
            ("file://localhost:9001", False),
            ("http://[::1", False),
        ],
    )
    def test_origins(self, origin: str, expected: bool) -> None:
        """The server's own pages and named ones may call, others not."""
        check = HostCheck(None, ["https://ok.example/"])
        given = headers(host="localhost:9001", origin=origin)
        assert passes(check.check, given) is expected

    def test_two_hosts(self) -> None:
        """A second Host header is a trick."""
        with pytest.raises(InvalidRequestError, match="2 times"):
            HostCheck((), ()).check(headers(host="localhost") * 2)

    def test_the_message(self) -> None:
        """It does not repeat what was sent."""
        with pytest.raises(ForbiddenError) as caught:
            HostCheck((), ()).check(headers(host="evil.example"))
        assert "evil" not in str(caught.value)


class TestSizes:
    def scope(self, **changed: Any) -> dict[str, Any]:
        return {"method": "GET", "path": "/", "query_string": b"", "headers": [], **changed}

    @pytest.mark.parametrize(
        ("changed", "expected"),
        [
            ({}, True),
            ({"headers": [(b"a", b"b")] * 100}, True),
            ({"headers": [(b"a", b"b")] * 101}, False),
            ({"headers": [(b"a", b"b" * 16_384)]}, False),
            ({"path": "/" + "a" * 2_048}, False),
            ({"raw_path": b"/" + b"%20" * 700}, False),
            ({"query_string": b"a" * 8_193}, False),
            ({"method": "CONNECT"}, False),
        ],
    )
    def test_limits(self, changed: dict[str, Any], expected: bool) -> None:
        """Each limit holds to the byte."""
        assert passes(check_sizes, self.scope(**changed)) is expected


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/shop/workflows/a.b", True),
            ("/shop/workflows/...", True),
            ("/é/1", True),
            ("/a/../b", False),
            ("/..", False),
            ("/a/./b", False),
            ("/a\\b", False),
            ("/a\0b", False),
            ("/a\r\nb", False),
            ("/a\x7fb", False),
        ],
    )
    def test_paths(self, path: str, expected: bool) -> None:
        """Parts that lead elsewhere and control characters are refused."""
        assert passes(check_path, path) is expected


class TestBodies:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [("identity", True), ("", True), ("gzip", False), ("GZIP", False), ("br, gzip", False)],
    )
    def test_encodings(self, text: str, expected: bool) -> None:
        """Packed bodies are refused."""
        assert passes(check_encoding, headers(content_encoding=text)) is expected

    @pytest.mark.parametrize("text", ["-1", "+1", "1e3", "0x10", "1 2", "١", "9" * 16, ""])
    def test_lengths(self, text: str) -> None:
        """A length is a plain number."""
        assert not passes(announced_length, headers(content_length=text))
        assert announced_length(headers(content_length="12")) == 12
        assert announced_length([]) is None

    def test_two_ways_to_tell_the_length(self) -> None:
        """They could be read differently."""
        given = headers(content_length="4", transfer_encoding="chunked")
        assert not passes(announced_length, given)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_is_loopback(host: str, expected: bool) -> None:
    """Which addresses only this machine reaches."""
    assert is_loopback(host) is expected
