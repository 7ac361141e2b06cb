"""The body of an answer: decoded piece by piece within a limit on its decoded size. Sends nothing
and parses nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

ENCODINGS = "gzip, deflate"
# Bytes that are decoded at a time: what a small piece can grow to before it is counted.
_PIECE = 1024 * 1024
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class BodyTooLargeError(Exception):
    """The body has more bytes than the limit.

    Args:
        announced: the size the header names, None when it named none.
    """

    def __init__(self, announced: int | None = None) -> None:
        super().__init__(announced)
        self.announced = announced


class BodyEncodingError(Exception):
    """The body is not encoded as its header says, or in a way that nobody asked for."""


class BodyReader:
    """Collects one body.

    Args:
        encoding: the `Content-Encoding` header.
        announced: the `Content-Length` header; the encoded size.
        limit: most bytes, decoded.

    Attributes:
        received: encoded bytes that came so far.

    Raises:
        BodyTooLargeError: the header names more than the limit for a body that is not encoded.
        BodyEncodingError: the encoding is none that was asked for.
    """

    def __init__(self, encoding: str, announced: str, limit: int) -> None:
        self._encoding = encoding.strip().lower()
        self._limit = limit
        self.received = 0
        if self._encoding not in ("", "identity") and self._encoding not in _WINDOWS:
            raise BodyEncodingError(f"it is encoded as {encoding!r:.40}, which was not asked for")
        is_plain = self._encoding not in _WINDOWS
        if is_plain and announced.isascii() and announced.isdecimal():
            size = int(announced[:20])
            if size > limit:
                raise BodyTooLargeError(size)

    def read(self, parts: Iterable[bytes]) -> bytes:
        """The decoded body.

        Raises:
            BodyTooLargeError: it has more bytes than the limit; no more than that were kept.
            BodyEncodingError: it does not decode, or ends too early.
        """
        content = bytearray()
        counted = self._counted(parts)
        for piece in _decoded(counted, self._encoding) if self._encoding in _WINDOWS else counted:
            content += piece
            if len(content) > self._limit:
                raise BodyTooLargeError
        return bytes(content)

    def _counted(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self.received += len(part)
            yield part


def _decoded(parts: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Decoded pieces of at most `_PIECE` bytes; what follows the encoded data is left out."""
    decoder: Any = None
    try:
        for part in parts:
            rest = part
            while rest:
                if decoder is None:
                    bare = encoding == "deflate" and not _has_zlib_header(rest)
                    # Deflate without the header around it is what many servers send instead.
                    decoder = zlib.decompressobj(-zlib.MAX_WBITS if bare else _WINDOWS[encoding])
                yield decoder.decompress(rest, _PIECE)
                if decoder.eof:
                    return
                rest = decoder.unconsumed_tail
        while decoder is not None:
            piece = decoder.decompress(b"", _PIECE)
            if not piece:
                raise BodyEncodingError(f"it ends within its {encoding} encoding")
            yield piece
            if decoder.eof:
                return
    except zlib.error as error:
        raise BodyEncodingError(f"it is no {encoding}: {error}") from error


def _has_zlib_header(start: bytes) -> bool:
    """Whether it begins as zlib data does: method 8, and a check that only this byte pair meets."""
    return start[0] & 0x0F == 8 and (len(start) < 2 or int.from_bytes(start[:2], "big") % 31 == 0)
