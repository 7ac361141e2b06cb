"""`HttpVideoFile`: a video behind an http(s) address as a file object for the decoder, for hosts
that do not trust the address. Decodes nothing.
"""

from __future__ import annotations

import io
import os
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import TYPE_CHECKING

from workflows.deadlines import Deadline, DeadlinePassed
from workflows.public_addresses import (
    REDIRECTS,
    Address,
    FetchError,
    HttpTarget,
    checked_target,
    is_public,
    permitted_addresses,
    resolve,
)

if TYPE_CHECKING:
    import httpcore

_MAX_REDIRECTS = 5
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
# Skipping less than this by reading is cheaper than asking again.
_SHORT_SKIP = 256 * 1024


class HttpVideoFile(io.RawIOBase):
    """Reads what is behind an address, in order or, where the server can, from any place.

    Every connection goes to an address that was checked, also after redirects: the decoder would
    follow those by itself, to wherever they lead. Proxies, cookies and credentials are not used.

    Args:
        url: the address.
        timeout: seconds that each step may take: to connect, to wait for more.
        permits: which addresses may be reached.
        resolver: addresses of a host and port.

    Raises:
        FetchError: the address is refused or does not answer; the text holds no path or query.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 10.0,
        *,
        permits: Callable[[Address], bool] = is_public,
        resolver: Callable[[str, int], list[Address]] = resolve,
    ) -> None:
        import httpcore

        from workflows.checked_connections import CheckedBackend

        class EachStep(Deadline):
            """Gives every step the same time: a stream has no end."""

            def left(self) -> float:
                return timeout

        super().__init__()
        self._url = url
        addresses_of = partial(permitted_addresses, permits=permits, resolver=resolver)
        backend = CheckedBackend(addresses_of, EachStep(timeout))
        self._pool = httpcore.ConnectionPool(network_backend=backend)
        self._answer = ExitStack()
        self._parts: Iterator[bytes] = iter(())
        self._rest = b""
        self._position = 0
        self._length: int | None = None
        try:
            self._connect(0)
        except BaseException:
            self.close()
            raise

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Whether the server said how long the content is and that it gives parts of it."""
        return self._length is not None

    def tell(self) -> int:
        """Place of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a place; raises `OSError` where the server gives no parts."""
        if self._length is None:
            raise io.UnsupportedOperation("this source cannot go to another place")
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        place = max(0, base + offset)
        ahead = place - self._position
        if 0 < ahead <= _SHORT_SKIP and place < self._length:
            while ahead > 0 and (skipped := self.read(ahead)):
                ahead -= len(skipped)
        elif ahead:
            try:
                self._connect(place)
            except FetchError as error:
                raise OSError(str(error)) from error
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; empty at the end. A connection that breaks raises `OSError`."""
        if size is None or size < 0:
            raise io.UnsupportedOperation("a video is read in parts")
        while not self._rest:
            try:
                part = next(self._parts, None)
            except _broken() as error:
                raise OSError(f"the connection broke: {_detail(error)}") from error
            if part is None:
                return b""
            self._rest = part
        given, self._rest = self._rest[:size], self._rest[size:]
        self._position += len(given)
        return given

    def close(self) -> None:
        """Ends the connection."""
        if not self.closed:
            self._answer.close()
            self._pool.close()
        super().close()

    def _connect(self, place: int) -> None:
        """Begins to read at a place."""
        self._answer.close()
        self._rest, self._parts, self._position = b"", iter(()), place
        if self._length is not None and place >= self._length:
            return
        url = self._url
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                target = checked_target(url)
                response = self._answer.enter_context(self._ask(target, place))
                found = {name.lower(): text.decode("latin-1") for name, text in response.headers}
                if response.status in REDIRECTS:
                    self._answer.close()
                    url = target.redirected(found.get(b"location", ""))
                    continue
                self._take(response, found, place)
                return
        except _broken() as error:
            raise FetchError(f"the connection failed: {_detail(error)}") from error
        raise FetchError(f"it redirects more than {_MAX_REDIRECTS} times")

    def _ask(self, target: HttpTarget, place: int) -> AbstractContextManager[httpcore.Response]:
        headers: dict[bytes | str, bytes | str] = {
            "Host": target.host_header,
            "Accept-Encoding": "identity",
            "Range": f"bytes={place}-",
            "User-Agent": "weftlens",
        }
        return self._pool.stream("GET", target.httpcore_url(), headers=headers)

    def _take(self, response: httpcore.Response, found: dict[bytes, str], place: int) -> None:
        if found.get(b"content-encoding", "identity") != "identity":
            raise FetchError("the answer is encoded, which nobody asked for")
        span = _RANGE.fullmatch(found.get(b"content-range", ""))
        if response.status == 206 and span is not None and int(span[1]) == place:
            self._length = int(span[2])
        elif response.status != 200 or place:
            raise FetchError(
                f"the answer has status {response.status}, expected {206 if place else 200}"
            )
        self._parts = iter(response.iter_stream())


def _broken() -> tuple[type[Exception], ...]:
    import httpcore

    return (
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
        DeadlinePassed,
        ssl.SSLError,
        OSError,
    )


def _detail(error: BaseException) -> str:
    return str(error) or type(error).__name__
