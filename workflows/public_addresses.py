"""Which addresses of the network may be asked: public ones, over http(s), also after redirects.
Opens no connection.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit

if TYPE_CHECKING:
    import httpcore

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Lower ports belong to other services, which must not be spoken to in HTTP.
_FIRST_FREE_PORT = 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_URL = 8192
_HOST_NAME = re.compile(r"[a-z0-9._:\-]+")
_TARGET_CHARACTERS = "/%:@!$&'()*+,;=~-._?"
# Addresses of networks that reach IPv4 only through translation; the last four bytes are IPv4.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# All that is handed out of IPv6; the rest is reserved for purposes of its own.
_IPV6_UNICAST = ipaddress.ip_network("2000::/3")
# Reserved since this Python was made, or never taken up by it.
_RESERVED = (ipaddress.ip_network("192.88.99.0/24"), ipaddress.ip_network("3fff::/20"))
# Interface parts of IPv6 addresses that stand for IPv4 (ISATAP).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


class FetchError(Exception):
    """An address is refused or does not answer as it should; the text is fit for users."""


def resolve(host: str, port: int) -> list[Address]:
    """Every address a host name stands for.

    Raises:
        FetchError: the name is not known.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(f"the host name '{host}' cannot be resolved") from error
    # An IPv6 address may bring a zone ("fe80::1%eth0"), which is never public.
    return [ipaddress.ip_address(str(entry[4][0]).split("%")[0]) for entry in found]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, and not to this machine, its networks or a
    reserved range. IPv4 addresses inside IPv6 ones count as what they are.
    """
    if isinstance(address, ipaddress.IPv6Address):
        last_four = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if address.ipv4_mapped is not None or address in _NAT64:
            return is_public(last_four)
        if address not in _IPV6_UNICAST:
            return False
        if address.sixtofour is not None and not is_public(address.sixtofour):
            return False
        if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP and not is_public(last_four):
            return False
    if any(address in network for network in _RESERVED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def permitted_addresses(
    host: str,
    port: int,
    permits: Callable[[Address], bool] = is_public,
    resolver: Callable[[str, int], list[Address]] = resolve,
) -> list[Address]:
    """Every address a host name stands for, if all of them may be reached.

    Args:
        host: name or address.
        port: the port.
        permits: which addresses may be reached.
        resolver: addresses of a host and port.

    Raises:
        FetchError: the name is not known, or one of its addresses may not be reached.
    """
    addresses = resolver(host, port)
    # One private address among public ones is enough to refuse: such a name is a trap.
    if not addresses or not all(permits(address) for address in addresses):
        raise FetchError(
            f"the host '{host}' does not lie in the public internet; only public addresses are "
            "fetched"
        )
    return addresses


class HttpTarget(NamedTuple):
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

    def httpcore_url(self) -> httpcore.URL:
        """The address in parts, so that nobody reads it a second time and differently."""
        import httpcore

        path = quote(self.parts.path or "/", safe=_TARGET_CHARACTERS)
        query = quote(self.parts.query, safe=_TARGET_CHARACTERS)
        return httpcore.URL(
            scheme=self.parts.scheme.encode("ascii"),
            host=self.host.encode("ascii"),
            port=self.port,
            target=f"{path}?{query}" if query else path,
        )

    def redirected(self, location: str) -> str:
        """Where a redirect leads to."""
        if not location:
            raise FetchError("it redirects without saying where to")
        try:
            goal = urljoin(self.url, location)
        except ValueError as error:
            raise FetchError("it redirects to an address that cannot be read") from error
        if self.parts.scheme == "https" and not goal.lower().startswith("https:"):
            raise FetchError("it redirects from https to an unprotected address")
        return goal


def checked_target(url: str) -> HttpTarget:
    """The parts of an http(s) address.

    Raises:
        FetchError: it cannot be read, has another scheme, no host, or credentials.
    """
    if len(url) > _LONGEST_URL:
        raise FetchError(f"the address is longer than {_LONGEST_URL} characters")
    # urlsplit drops line ends and tabs without a word; an address that holds them is a trick.
    if any(character < " " or character == "\x7f" for character in url):
        raise FetchError("the address holds control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".").encode("idna").decode("ascii").lower()
    except ValueError as error:  # UnicodeError among it
        raise FetchError("the address cannot be read") from error
    if parts.scheme not in _DEFAULT_PORTS:
        shown = parts.scheme[:20]
        raise FetchError(f"the scheme '{shown}' is not supported, only http and https")
    if not host:
        raise FetchError("the address has no host")
    if parts.username is not None or parts.password is not None:
        raise FetchError("the address holds credentials, which are not sent")
    if not _HOST_NAME.fullmatch(host):
        raise FetchError("the host name holds characters that no name has")
    port = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if port < _FIRST_FREE_PORT and port not in _DEFAULT_PORTS.values():
        raise FetchError(f"port {port} is not asked: it belongs to another service")
    return HttpTarget(url, parts, host, port)
