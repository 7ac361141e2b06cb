"""Checks of a request that need only its first line and headers. Reads no body, knows no key."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from workflows.server.faults import (
    ForbiddenError,
    InvalidRequestError,
    UnsupportedMediaTypeError,
)
from workflows.server.security.refusals import (
    AddressTooLongError,
    HeadersTooLargeError,
    MethodNotServedError,
)

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 * 1024
LONGEST_PATH = 2048
LONGEST_QUERY = 8192
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
Headers = Sequence[tuple[bytes, bytes]]


def header(headers: Headers, name: bytes) -> str | None:
    """The value of a header, None when it is not there.

    Raises:
        InvalidRequestError: it is there twice, so that two readers could see two requests.
    """
    found = [value for key, value in headers if key.lower() == name]
    if len(found) > 1:
        raise InvalidRequestError(f"The header {name.decode('ascii')} is there {len(found)} times.")
    return found[0].decode("latin-1").strip() if found else None


def check_sizes(scope: Mapping[str, Any]) -> None:
    """Refuses methods that nobody serves, overlong addresses and overlong headers.

    Raises:
        MethodNotServedError, AddressTooLongError, HeadersTooLargeError: one of these.
    """
    if scope["method"] not in METHODS:
        raise MethodNotServedError(f"The server knows {', '.join(sorted(METHODS))}.")
    if len(scope.get("raw_path") or scope["path"].encode()) > LONGEST_PATH:
        raise AddressTooLongError(f"A path has at most {LONGEST_PATH} bytes.")
    if len(scope["query_string"]) > LONGEST_QUERY:
        raise AddressTooLongError(f"A query has at most {LONGEST_QUERY} bytes.")
    headers: Headers = scope["headers"]
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MOST_HEADERS or size > MOST_HEADER_BYTES:
        raise HeadersTooLargeError(
            f"A request has at most {MOST_HEADERS} headers of {MOST_HEADER_BYTES} bytes together.",
        )


def check_path(path: str) -> None:
    """Refuses paths that name other places than they seem to.

    Raises:
        InvalidRequestError: the path, percent signs decoded, holds `..`, `.`, a backslash or a
            control character.
    """
    odd = any(ord(character) < 0x20 or ord(character) == 0x7F for character in path)
    if odd or "\\" in path or any(part in (".", "..") for part in path.split("/")):
        raise InvalidRequestError(
            "A path holds no '.' or '..' parts, backslashes or control characters."
        )


def check_encoding(headers: Headers) -> None:
    """Refuses packed bodies: what they unpack to has no limit.

    Raises:
        UnsupportedMediaTypeError: the body is encoded.
    """
    encoding = header(headers, b"content-encoding")
    if encoding is not None and encoding.lower() not in ("", "identity"):
        raise UnsupportedMediaTypeError("Bodies are taken as they are, without a Content-Encoding.")


def announced_length(headers: Headers) -> int | None:
    """The length of the body in bytes as the headers state it, None when they do not.

    Raises:
        InvalidRequestError: the header is no number, or there is a second way to tell the length.
    """
    text = header(headers, b"content-length")
    if text is None:
        return None
    if header(headers, b"transfer-encoding") is not None:
        # Another reader on the way could take the other one for the end of the body.
        raise InvalidRequestError("A body has a Content-Length or a Transfer-Encoding, not both.")
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise InvalidRequestError("Content-Length is no number of bytes.")
    return int(text)


class HostCheck:
    """Keeps web pages of others away from a server that trusts whoever can reach it.

    A page may make a browser send requests to this machine; a name of its own that resolves to this
    machine (DNS rebinding) even lets it read the answers. Both show in headers that pages cannot
    choose.

    Args:
        allowed_hosts: names a `Host` header may have, beside addresses and names that no page of
            the internet can have; None for any name.
        allowed_origins: pages that may call, as `https://host:port`, beside the server's own.
    """

    __slots__ = ("_hosts", "_origins")

    def __init__(
        self, allowed_hosts: Collection[str] | None, allowed_origins: Collection[str]
    ) -> None:
        self._hosts = None if allowed_hosts is None else {host.lower() for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}

    def check(self, headers: Headers) -> None:
        """Refuses requests to a foreign name and those of foreign pages.

        Raises:
            ForbiddenError: one of these.
        """
        host = header(headers, b"host")
        if self._hosts is not None and host is not None and not self._is_allowed(host):
            raise ForbiddenError("The name in the Host header is none of this server's names.")
        origin = header(headers, b"origin")
        if origin is None or origin.lower() in self._origins:
            return
        own = urlsplit(origin.lower()).netloc if _is_origin(origin) else ""
        if host is None or own != host.lower():
            raise ForbiddenError("Pages of this origin may not call the server.")

    def _is_allowed(self, host: str) -> bool:
        assert self._hosts is not None
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._hosts or not _can_belong_to_a_page(name)


def _can_belong_to_a_page(name: str) -> bool:
    """Whether a page of the internet can have this name: those have dots and are no addresses."""
    if "." not in name or name.endswith(".localhost"):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return True
    return False


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_origin(text: str) -> bool:
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:
        return False
