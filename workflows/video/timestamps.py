"""`TimestampGuard`: finds frames whose timestamp cannot be right, without ever losing the stream.
Knows no frame and no clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

SUSPICIOUS_JUMP = 1.0
_SUSPICIOUS_INTERVALS = 10.0
_SMOOTHING = 0.1


@dataclass(slots=True)
class Verdicts(Generic[T]):
    """What became of frames.

    Attributes:
        accepted: items in order, each with its position: seconds since the first, never falling.
        refused: items with the reason.
    """

    accepted: list[tuple[T, float]] = field(default_factory=list)
    refused: list[tuple[T, str]] = field(default_factory=list)


class TimestampGuard(Generic[T]):
    """Judges the timestamps of one source, frame by frame.

    A frame that jumps far ahead or goes back is held until the next one shows who was right. Goes
    the stream on from before, the held frame is refused; goes it on from the held frame, the jump
    was real (a gap, or a clock that was set) and both are accepted. So one wrong timestamp costs
    one frame, and a clock that was set costs none.

    Args:
        interval: expected seconds between frames, None when the source does not say.
    """

    def __init__(self, interval: float | None = None) -> None:
        self._declared = interval
        self._position: float | None = None
        self.reset()

    def reset(self) -> None:
        """Forgets the time line: the next frame starts a new one. Positions go on, a held frame is
        dropped.
        """
        self._interval = self._declared
        self._last: float | None = None
        self._held: tuple[T, float] | None = None
        self._offset = 0.0

    def add(self, item: T, seconds: float | None) -> Verdicts[T]:
        """Judges the next frame; the answer may also concern the frame before, or be empty.

        Args:
            item: the frame.
            seconds: its timestamp; None when it has none, it then follows the one before.
        """
        verdicts: Verdicts[T] = Verdicts()
        self._add(item, seconds, verdicts)
        return verdicts

    def end(self) -> Verdicts[T]:
        """What becomes of a frame still held when no more frames come: a jump ahead that nothing
        speaks against is accepted.
        """
        verdicts: Verdicts[T] = Verdicts()
        held, self._held = self._held, None
        if held is not None and self._last is not None:
            if held[1] > self._last:
                self._accept(held[0], held[1], verdicts)
            else:
                verdicts.refused.append((held[0], self._goes_back(held[1])))
        return verdicts

    def _add(self, item: T, seconds: float | None, verdicts: Verdicts[T]) -> None:
        if seconds is not None and not math.isfinite(seconds):
            verdicts.refused.append((item, f"its timestamp is {seconds}"))
            return
        if seconds is None:
            self._release(verdicts)
            seconds = 0.0 if self._last is None else self._last + (self._interval or 0.0)
            self._accept(item, seconds, verdicts)
        elif self._last is None:
            self._accept(item, seconds, verdicts)
        elif self._held is not None:
            self._add_after_held(item, seconds, self._held, verdicts)
        elif 0.0 <= seconds - self._last <= self._limit():
            self._accept(item, seconds, verdicts)
        else:
            self._held = (item, seconds)

    def _add_after_held(
        self, item: T, seconds: float, held: tuple[T, float], verdicts: Verdicts[T]
    ) -> None:
        """Decides on the held frame by the next one, then judges that."""
        assert self._last is not None
        self._held = None
        last = self._last
        if held[1] > last:
            if seconds >= held[1]:
                self._accept(held[0], held[1], verdicts)
            else:
                verdicts.refused.append((held[0], self._jumps(held[1], seconds)))
        elif held[1] < seconds < last:
            self._restart(held[1])
            self._accept(held[0], held[1], verdicts)
        else:
            verdicts.refused.append((held[0], self._goes_back(held[1])))
        self._add(item, seconds, verdicts)

    def _release(self, verdicts: Verdicts[T]) -> None:
        ended = self.end()
        verdicts.accepted += ended.accepted
        verdicts.refused += ended.refused

    def _accept(self, item: T, seconds: float, verdicts: Verdicts[T]) -> None:
        if self._last is None:
            self._restart(seconds)
        elif self._declared is None and 0.0 < seconds - self._last <= self._limit():
            step = seconds - self._last
            known = step if self._interval is None else self._interval
            self._interval = known + _SMOOTHING * (step - known)
        self._last = seconds
        self._position = max(seconds + self._offset, self._position or 0.0)
        verdicts.accepted.append((item, self._position))

    def _restart(self, seconds: float) -> None:
        """Places a new time line behind the positions given out so far."""
        start = 0.0 if self._position is None else self._position + (self._interval or 0.0)
        self._offset = start - seconds

    def _limit(self) -> float:
        return max(SUSPICIOUS_JUMP, _SUSPICIOUS_INTERVALS * (self._interval or 0.0))

    def _jumps(self, seconds: float, following: float) -> str:
        return (
            f"its timestamp jumps from {self._last:.3f} s to {seconds:.3f} s, while the next frame "
            f"is at {following:.3f} s"
        )

    def _goes_back(self, seconds: float) -> str:
        return f"its timestamp goes back from {self._last:.3f} s to {seconds:.3f} s"
