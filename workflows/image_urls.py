"""`ImageUrlFetcher`: the bytes behind an http(s) address, for hosts that allow it. Reaches public
addresses only, also after redirects. Decodes nothing.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
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


class ImageUrlFetcher:
    """Fetches one body at a time; safe to call from several threads.

    The name of a host is resolved here, every address it stands for is checked, and the connection
    goes to a checked address: a name that answers differently the second time changes nothing. Each
    redirect is checked in the same way. Proxies, cookies and credentials are not used.

    Args:
        max_bytes: largest body, in bytes.
        timeout: seconds for the whole fetch: looking up names, redirects, the last byte.
        max_redirects: redirects followed.
        permits: which addresses may be reached.
        resolver: addresses of a host and port.
    """

    def __init__(
        self,
        max_bytes: int = 50 * 1024 * 1024,
        timeout: float = 10.0,
        max_redirects: int = 5,
        *,
        permits: Callable[[Address], bool] = is_public,
        resolver: Callable[[str, int], list[Address]] = resolve,
    ) -> None:
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._addresses_of = partial(permitted_addresses, permits=permits, resolver=resolver)

    def __call__(self, url: str) -> bytes:
        """The body behind `url`.

        Raises:
            FetchError: the address is refused, does not answer in time, answers with another
                status than 200, or its body is too large. The text never holds path or query.
        """
        import httpcore

        from workflows.checked_connections import CheckedBackend

        deadline = Deadline(self._timeout)
        backend = CheckedBackend(self._addresses_of, deadline)
        try:
            # One pool a fetch: its connections are those of this deadline.
            with httpcore.ConnectionPool(network_backend=backend) as pool:
                for _ in range(self._max_redirects + 1):
                    answer = self._ask(pool, checked_target(url))
                    if isinstance(answer, bytes):
                        return answer
                    url = answer
        except (DeadlinePassed, httpcore.TimeoutException) as error:
            raise FetchError(f"it did not arrive within {self._timeout:g} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, OSError) as error:
            detail = str(error) or type(error).__name__
            raise FetchError(f"the connection failed: {detail}") from error
        raise FetchError(f"it redirects more than {self._max_redirects} times")

    def _ask(self, pool: httpcore.ConnectionPool, target: HttpTarget) -> bytes | str:
        """The body behind an address, or where it redirects to."""
        headers: dict[bytes | str, bytes | str] = {
            "Host": target.host_header,
            "Accept": "image/*",
            "Accept-Encoding": "identity",
            "User-Agent": "weftlens",
        }
        with pool.stream("GET", target.httpcore_url(), headers=headers) as response:
            found = {name.lower().decode("latin-1"): text for name, text in response.headers}
            if response.status in REDIRECTS:
                return target.redirected(found.get("location", b"").decode("latin-1"))
            if response.status != 200:
                raise FetchError(f"the answer has status {response.status}, expected 200")
            return self._read(found, response.iter_stream())

    def _read(self, headers: dict[str, bytes], parts: Iterable[bytes]) -> bytes:
        encoding = headers.get("content-encoding", b"identity").decode("latin-1")
        if encoding != "identity":
            raise FetchError(f"the body is encoded ({encoding[:20]!r}), which nobody asked for")
        announced = headers.get("content-length", b"")
        if announced.isdigit() and int(announced[:20]) > self._max_bytes:
            raise self._too_large()
        content = bytearray()
        for part in parts:
            content += part
            if len(content) > self._max_bytes:
                raise self._too_large()
        return bytes(content)

    def _too_large(self) -> FetchError:
        return FetchError(f"the body is larger than {self._max_bytes} bytes")
