"""When a request is sent again, and after how long. Sends nothing and reads no clock.

A request may be repeated when it cannot have run: the connection was refused, or the server said
that it is too busy (429). A request that may have run already is repeated only when running twice
does no harm.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

# What became of an attempt, from the point of view of a second one.
Failure = Literal["refused", "busy", "unavailable", "broken"]

TOO_MANY_REQUESTS = 429
_STATUS_FAILURES: dict[int, Failure] = {
    TOO_MANY_REQUESTS: "busy",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
_NEVER_RAN: frozenset[Failure] = frozenset({"refused", "busy"})


def failure_of_status(status: int, content: Any = None) -> Failure | None:
    """What a status means for a second attempt; None when the answer is final.

    502, 503 and 504 often come from a machine in between, which does not know whether the server
    behind it had begun. A 429 that names a step is the limit of a service the step asked, so the
    run had begun as well.

    Args:
        status: HTTP status.
        content: JSON of the answer.
    """
    failure = _STATUS_FAILURES.get(status)
    begun = isinstance(content, Mapping) and bool(content.get("blocks_errors"))
    return "unavailable" if failure == "busy" and begun else failure


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is repeated.

    The pause before the n-th repetition is drawn from 0.5 to 1 times `first_pause * 2 ** (n - 1)`,
    at most `longest_pause`, so that clients that failed together do not come back together.

    Attributes:
        retries: most repetitions of a request.
        first_pause: seconds before the first repetition.
        longest_pause: most seconds of a pause that the server did not ask for.
        draw: gives a number in [0, 1).
    """

    retries: int = 3
    first_pause: float = 0.25
    longest_pause: float = 8.0
    draw: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise ValueError(f"retries must be a whole number from 0, got {self.retries!r}")
        if self.first_pause < 0 or self.longest_pause < 0:
            raise ValueError("pauses must not be negative")

    def allows(self, failure: Failure, attempts: int, repeatable: bool) -> bool:
        """Whether another attempt is made after `attempts` of them.

        Args:
            failure: what became of the last one.
            attempts: how many were made.
            repeatable: whether running the request twice does no harm.
        """
        return attempts <= self.retries and (repeatable or failure in _NEVER_RAN)

    def pause(self, attempts: int, asked: float | None = None) -> float:
        """Seconds to wait after `attempts` attempts, at least what the server `asked` for."""
        # The exponent is bounded so that no number of retries overflows a float.
        limit = min(self.longest_pause, self.first_pause * 2 ** min(attempts - 1, 30))
        drawn = limit * (0.5 + 0.5 * self.draw())
        return drawn if asked is None else max(asked, drawn)


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds of a `Retry-After` header, which is a number or a date; None without a usable one."""
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    return max(0.0, (moment - now).total_seconds())
