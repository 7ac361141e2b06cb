"""`GuessingLimit`: slows down clients that try API keys. Knows addresses and times, no keys."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_IPV6_NETWORK_BITS = 64


class GuessingLimit:
    """Counts wrong keys an address and bars it for a while after too many.

    The time doubles with each further wrong key. A right key does not clear the count: whoever has
    one could otherwise guess others without limit. While an address is barred, its keys are not
    looked at at all, right ones neither, so that the answer says nothing about them. Safe to use
    from several threads.

    Args:
        free: wrong keys an address may send before it is barred.
        first: seconds of the first bar.
        longest: most seconds of a bar; an address that was good for twice as long starts anew.
        most_addresses: addresses remembered; the one heard of longest ago is forgotten.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        free: int = 10,
        first: float = 1.0,
        longest: float = 300.0,
        most_addresses: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._free = free
        self._first = first
        self._longest = longest
        self._most_addresses = most_addresses
        self._clock = clock
        self._lock = threading.Lock()
        # address -> (wrong keys, time of the last, barred until)
        self._seen: OrderedDict[str, tuple[int, float, float]] = OrderedDict()

    def barred_for(self, address: str) -> float:
        """Seconds for which keys of this address are still refused unseen; 0 when they are not."""
        with self._lock:
            entry = self._seen.get(_network(address))
            return 0.0 if entry is None else max(0.0, entry[2] - self._clock())

    def note_failure(self, address: str) -> None:
        """Counts one wrong key."""
        network, now = _network(address), self._clock()
        with self._lock:
            count, last, _ = self._seen.pop(network, (0, now, 0.0))
            count = 1 if now - last > 2 * self._longest else count + 1
            bar = 0.0
            if count >= self._free:
                # The exponent is bounded: a float cannot hold the powers of a long attack.
                bar = min(self._longest, self._first * 2 ** min(count - self._free, 60))
            self._seen[network] = (count, now, now + bar)
            while len(self._seen) > self._most_addresses:
                self._seen.popitem(last=False)


def _network(address: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one: its holder has all addresses of it."""
    try:
        parsed = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return address[:64]  # a Unix socket or a test client
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    shift = 128 - _IPV6_NETWORK_BITS
    return str(ipaddress.IPv6Address(int(parsed) >> shift << shift))
