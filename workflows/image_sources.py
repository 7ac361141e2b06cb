"""`ImageUrlFetcher`: the bytes behind an http(s) address, for hosts that allow it. Reaches public
addresses only, also after redirects. Decodes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

if TYPE_CHECKING:
    import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Addresses of networks that reach IPv4 only through translation; the last four bytes are IPv4.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ImageFetchError(Exception):
    """An address is refused or does not answer as it should; the text is fit for users."""


def resolve(host: str, port: int) -> list[Address]:
    """Every address a host name stands for.

    Raises:
        ImageFetchError: the name is not known.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ImageFetchError(f"the host name '{host}' cannot be resolved") from error
    # An IPv6 address may bring a zone ("fe80::1%eth0"), which is never public.
    return [ipaddress.ip_address(str(entry[4][0]).split("%")[0]) for entry in found]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, and not to this machine, its networks or a
    reserved range. IPv4 addresses inside IPv6 ones count as what they are.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if address.sixtofour is not None and not is_public(address.sixtofour):
            return False
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


class ImageUrlFetcher:
    """Fetches one body at a time; safe to call from several threads.

    The name of a host is resolved here, every address it stands for is checked, and the connection
    goes to a checked address: a name that answers differently the second time changes nothing. Each
    redirect is checked in the same way. Proxies, cookies and credentials are not used.

    Args:
        max_bytes: largest body, in bytes.
        timeout: seconds for the whole fetch, redirects among it (resolving a name takes the time
            of the system's resolver).
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
        self._permits = permits
        self._resolver = resolver

    def __call__(self, url: str) -> bytes:
        """The body behind `url`.

        Raises:
            ImageFetchError: the address is refused, does not answer in time, answers with another
                status than 200, or its body is too large. The text never holds path or query.
        """
        import httpx

        deadline = time.monotonic() + self._timeout
        try:
            with httpx.Client(trust_env=False, follow_redirects=False) as client:
                for _ in range(self._max_redirects + 1):
                    answer = self._ask(client, url, deadline)
                    if isinstance(answer, bytes):
                        return answer
                    url = answer
        except httpx.TimeoutException as error:
            raise self._too_slow() from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            detail = str(error) or type(error).__name__
            raise ImageFetchError(f"the connection failed: {detail}") from error
        raise ImageFetchError(f"it redirects more than {self._max_redirects} times")

    def _ask(self, client: httpx.Client, url: str, deadline: float) -> bytes | str:
        """The body behind an address, or where it redirects to."""
        import httpx

        target = _checked_target(url)
        *others, last = self._checked_addresses(target)
        for address in others:
            try:
                return self._ask_at(client, target, address, deadline)
            except httpx.ConnectError:
                continue
        return self._ask_at(client, target, last, deadline)

    def _ask_at(
        self, client: httpx.Client, target: _Target, address: Address, deadline: float
    ) -> bytes | str:
        request = client.build_request(
            "GET",
            target.url_at(address),
            headers={
                "Host": target.host_header,
                "Accept": "image/*",
                "Accept-Encoding": "identity",
                "User-Agent": "weftlens",
            },
            extensions={"sni_hostname": target.host},
            timeout=self._time_left(deadline),
        )
        response = client.send(request, stream=True)
        try:
            if response.status_code in _REDIRECTS:
                return target.redirected(response.headers.get("location"))
            if response.status_code != 200:
                raise ImageFetchError(f"the answer has status {response.status_code}, expected 200")
            return self._read(response, deadline)
        finally:
            response.close()

    def _checked_addresses(self, target: _Target) -> list[Address]:
        addresses = self._resolver(target.host, target.port)
        # One private address among public ones is enough to refuse: such a name is a trap.
        if not addresses or not all(self._permits(address) for address in addresses):
            raise ImageFetchError(
                f"the host '{target.host}' does not lie in the public internet; only public "
                "addresses are fetched"
            )
        return addresses

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise ImageFetchError(f"the body is {encoding}-encoded, which was not asked for")
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._max_bytes:
            raise self._too_large()
        content = bytearray()
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > self._max_bytes:
                raise self._too_large()
            self._time_left(deadline)
        return bytes(content)

    def _time_left(self, deadline: float) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._too_slow()
        return left

    def _too_slow(self) -> ImageFetchError:
        return ImageFetchError(f"it did not arrive within {self._timeout:g} s")

    def _too_large(self) -> ImageFetchError:
        return ImageFetchError(f"the body is larger than {self._max_bytes} bytes")


class _Target(NamedTuple):
    """One address to ask: its parts, with the host in ASCII."""

    url: str
    parts: SplitResult
    host: str
    port: int

    @property
    def host_header(self) -> str:
        named = f"[{self.host}]" if ":" in self.host else self.host
        default = self.port == _DEFAULT_PORTS[self.parts.scheme]
        return named if default else f"{named}:{self.port}"

    def url_at(self, address: Address) -> str:
        """The same resource at one address of the host."""
        literal = f"[{address}]" if address.version == 6 else str(address)
        return self.parts._replace(netloc=f"{literal}:{self.port}", fragment="").geturl()

    def redirected(self, location: str | None) -> str:
        """Where a redirect leads to."""
        if not location:
            raise ImageFetchError("it redirects without saying where to")
        goal = urljoin(self.url, location)
        if self.parts.scheme == "https" and not goal.lower().startswith("https:"):
            raise ImageFetchError("it redirects from https to an unprotected address")
        return goal


def _checked_target(url: str) -> _Target:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".").encode("idna").decode("ascii")
    except ValueError as error:  # UnicodeError among it
        raise ImageFetchError("the address cannot be read") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise ImageFetchError(f"the scheme '{parts.scheme}' is not supported, only http and https")
    if not host:
        raise ImageFetchError("the address has no host")
    if parts.username is not None or parts.password is not None:
        raise ImageFetchError("the address holds credentials, which are not sent")
    return _Target(url, parts, host, _DEFAULT_PORTS[parts.scheme] if port is None else port)
