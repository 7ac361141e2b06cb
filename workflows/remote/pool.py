"""The pool of connections to one server: proxies and certificates as the environment says, and
every step inside the time of the call it belongs to. Knows no request.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from workflows.checked_connections import TimedStream, within
from workflows.deadlines import Deadline

# Shorter than what servers keep idle connections open for (5 s and more), so that a connection is
# not given up by the server at the moment a request is written to it.
_KEEP_ALIVE = 2.0


class CallDeadline:
    """The deadline of the call that a thread is in: connections outlast calls, and the pool does
    all reading and writing on the thread of the call.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @contextmanager
    def holding(self, deadline: Deadline) -> Iterator[None]:
        """Makes it the deadline of this thread for the time of the block."""
        self._of_thread.deadline = deadline
        try:
            yield
        finally:
            del self._of_thread.deadline

    def left(self) -> float:
        """Seconds that the call of this thread has left.

        Raises:
            DeadlinePassed: there are none.
        """
        deadline: Deadline = self._of_thread.deadline
        return deadline.left()


@dataclass(frozen=True, slots=True)
class Pools:
    """Two pools for one server.

    Attributes:
        kept: its connections stay open for further requests.
        fresh: each request has a connection of its own. One that waited in a pool may be closed by
            the server at the moment a request is written to it, and nobody knows whether that
            request ran.
    """

    kept: httpcore.ConnectionPool
    fresh: httpcore.ConnectionPool

    def close(self) -> None:
        """Closes all connections."""
        self.kept.close()
        self.fresh.close()


def make_pools(url: httpx.URL, deadline: CallDeadline, connections: int) -> Pools:
    """Pools for one server.

    Args:
        url: its address; `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say whether it is
            reached through a proxy, `SSL_CERT_FILE` and `SSL_CERT_DIR` whom to trust.
        deadline: asked before each step for the time it may take.
        connections: most at a time, in each.

    Raises:
        ValueError: the environment names a proxy that cannot be used.
    """
    proxy = _proxy_of(url)
    options: dict[str, Any] = {
        "ssl_context": httpx.create_ssl_context() if url.scheme == "https" else None,
        "max_connections": connections,
        "keepalive_expiry": _KEEP_ALIVE,
        "network_backend": _Backend(deadline),
    }
    return Pools(
        kept=_pool(proxy, {**options, "max_keepalive_connections": connections}),
        fresh=_pool(proxy, {**options, "max_keepalive_connections": 0}),
    )


def _pool(proxy: httpx.Proxy | None, options: dict[str, Any]) -> httpcore.ConnectionPool:
    if proxy is None:
        return httpcore.ConnectionPool(**options)
    address, auth = target_of(proxy.url), proxy.raw_auth
    if not proxy.url.scheme.startswith("socks"):
        return httpcore.HTTPProxy(proxy_url=address, proxy_auth=auth, **options)
    try:
        return httpcore.SOCKSProxy(proxy_url=address, proxy_auth=auth, **options)
    except RuntimeError as error:  # the package for SOCKS is not installed
        raise ValueError(f"the proxy of the environment cannot be used: {error}") from error


def _proxy_of(url: httpx.URL) -> httpx.Proxy | None:
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or proxy_bypass(url.host if url.port is None else f"{url.host}:{url.port}"):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (ValueError, httpx.InvalidURL) as error:
        # Not its text: it may hold a password.
        raise ValueError("the environment names a proxy whose address cannot be used") from error


def target_of(url: httpx.URL) -> httpcore.URL:
    """An address as the pools take it."""
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


class _Backend(httpcore.NetworkBackend):
    """TCP connections whose every step ends with the call."""

    def __init__(self, deadline: CallDeadline) -> None:
        self._deadline = deadline
        self._tcp = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first address of the host that takes one; each but the last gets an
        equal share of the time that is left.
        """
        addresses = self._addresses(host, port)
        failure: Exception | None = None
        for position, address in enumerate(addresses):
            share = self._deadline.left() / (len(addresses) - position)
            try:
                stream = self._tcp.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return TimedStream(stream, self._deadline)
        assert failure is not None
        raise failure

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """Never: addresses of servers name hosts."""
        raise httpcore.ConnectError("a server is reached by the name of its host")

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return within(self._deadline, _resolve, host, port)
        return [host]


def _resolve(host: str, port: int) -> list[str]:
    """The addresses a name stands for, in the order of the system."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
