"""Connections that lead only where a check permits, and streams that end at one point in time.
Speaks no HTTP and decides about no address.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import httpcore

from workflows.deadlines import DeadlinePassed
from workflows.public_addresses import Address

# (host, port) -> the checked addresses to try, in order
AddressesOf = Callable[[str, int], list[Address]]
# Bytes handed on at a time where a single sending cannot be asked for: one TLS record.
_PIECE = 16 * 1024
T = TypeVar("T")


class TimeLeft(Protocol):
    """What says how long a step may take: a `Deadline`, or what stands for one."""

    def left(self) -> float:
        """Seconds; raises `DeadlinePassed` when there are none."""


class CheckedBackend(httpcore.NetworkBackend):
    """Connects to checked addresses only.

    The name of a host is turned into addresses here, once, and the connection goes to one of them:
    a name that answers differently the second time changes nothing. The TLS certificate is still
    held against the name.

    Args:
        addresses_of: the addresses of a host; raises for hosts that may not be reached.
        deadline: when everything ends: looking up, connecting, each reading and writing.
    """

    def __init__(self, addresses_of: AddressesOf, deadline: TimeLeft) -> None:
        self._addresses_of = addresses_of
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
        """A connection to the first address of the host that takes one."""
        *others, last = within(self._deadline, self._addresses_of, host, port)
        for address in others:
            try:
                return self._connect(address, port, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return self._connect(last, port, local_address, socket_options)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """Never: sockets of this machine are no addresses."""
        raise httpcore.ConnectError("sockets of this machine are not reached")

    def _connect(
        self, address: Address, port: int, local: str | None, options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        stream = self._tcp.connect_tcp(str(address), port, self._deadline.left(), local, options)
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    """A connection whose every step gets only the time that is left: a peer that sends, or takes,
    a byte now and then does not escape the deadline.

    Args:
        stream: the connection.
        deadline: asked anew before each step.
    """

    def __init__(self, stream: httpcore.NetworkStream, deadline: TimeLeft) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes all of it, by single sendings: the stream beneath would give each its own time."""
        rest = memoryview(buffer)
        if isinstance(self._stream.get_extra_info("ssl_object"), ssl.SSLObject):
            # TLS inside TLS, through a proxy: its socket takes no plain text.
            while rest:
                self._stream.write(bytes(rest[:_PIECE]), self._deadline.left())
                rest = rest[_PIECE:]
            return
        socket = self._stream.get_extra_info("socket")
        while rest:
            left = self._deadline.left()
            try:
                socket.settimeout(left)
                sent = socket.send(rest)
            except TimeoutError as error:
                raise httpcore.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error
            rest = rest[sent:]

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def within(
    deadline: TimeLeft, call: Callable[[str, int], list[T]], host: str, port: int
) -> list[T]:
    """What `call(host, port)` returns or raises, if that happens in time.

    The system's resolver cannot be told to hurry: one that takes longer is left to a thread of its
    own, which ends by itself.

    Raises:
        DeadlinePassed: it takes too long.
    """
    results: list[list[T]] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call(host, port))
        except BaseException as error:  # handed over to the waiting thread, whatever it is
            failures.append(error)

    thread = threading.Thread(target=work, name="weftlens-resolve", daemon=True)
    thread.start()
    thread.join(deadline.left())
    if failures:
        raise failures[0]
    if not results:
        raise DeadlinePassed
    return results[0]
