"""Forms with a file, against what an HTTP client writes."""

from __future__ import annotations

import httpx
import pytest

from workflows.server.faults import InvalidRequestError
from workflows.server.multipart import first_file


def _form(**parts: object) -> tuple[bytes, str]:
    request = httpx.Request("POST", "http://x", **parts)  # type: ignore[arg-type]
    return request.read(), request.headers["content-type"]


class TestFirstFile:
    @pytest.mark.parametrize(
        "content", [b"", b"\r\n", b"--", b"\xff\xd8\r\n--x\r\n", bytes(70_000)]
    )
    def test_gives_the_bytes(self, content: bytes) -> None:
        """Every byte of the file, fields left alone, names with quotes no trouble."""
        form = _form(files={"file": ('a "b".jpg', content)}, data={"note": "hello"})
        assert first_file(*form) == content

    @pytest.mark.parametrize(
        ("content", "kind", "words"),
        [
            (b"x", "multipart/form-data", "no valid boundary"),
            (b"x", "multipart/form-data; boundary=" + "b" * 71, "no valid boundary"),
            (b"--b\r\n", "multipart/form-data; boundary=b", "cut off"),
            (b"--b\r\nabc\r\n--b--\r\n", "multipart/form-data; boundary=b", "end of its headers"),
            (b"--b\r\n" * 40, "multipart/form-data; boundary=b", "more than 32 parts"),
        ],
    )
    def test_says_what_is_wrong(self, content: bytes, kind: str, words: str) -> None:
        """Forms that are no forms."""
        with pytest.raises(InvalidRequestError, match=words):
            first_file(content, kind)

    def test_wants_a_file(self) -> None:
        """A form of fields has none."""
        form = _form(files={"a": (None, b"1")})
        with pytest.raises(InvalidRequestError, match="no file"):
            first_file(*form)
