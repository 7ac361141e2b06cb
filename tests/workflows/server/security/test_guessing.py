"""How wrong keys slow an address down."""

from __future__ import annotations

from workflows.server.security.guessing import GuessingLimit


class Clock:
    """A clock that stands."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limit(**options: float) -> tuple[GuessingLimit, Clock]:
    clock = Clock()
    return GuessingLimit(free=3, first=1.0, longest=8.0, clock=clock, **options), clock  # type: ignore[arg-type]


class TestGuessingLimit:
    def test_the_bar_doubles_up_to_its_longest(self) -> None:
        """Some failures are free, then each bar is twice the last."""
        guessing, clock = limit()
        bars = []
        for _ in range(8):
            guessing.note_failure("192.0.2.1")
            bars.append(guessing.barred_for("192.0.2.1"))
            clock.now += bars[-1]
        assert bars == [0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]

    def test_a_long_attack(self) -> None:
        """Ten thousand failures overflow nothing."""
        guessing, _ = limit()
        for _ in range(10_000):
            guessing.note_failure("192.0.2.1")
        assert guessing.barred_for("192.0.2.1") == 8.0

    def test_others_are_not_barred(self) -> None:
        """Each address counts for itself; the addresses of one IPv6 network count together."""
        guessing, _ = limit()
        for number in range(3):
            guessing.note_failure(f"2001:db8::{number}")
        assert guessing.barred_for("2001:db8::ffff") > 0
        assert guessing.barred_for("2001:db8:0:1::1") == 0
        assert guessing.barred_for("192.0.2.1") == 0
        for _ in range(3):
            guessing.note_failure("::ffff:192.0.2.7")
        assert guessing.barred_for("192.0.2.7") > 0
        assert guessing.barred_for("192.0.2.8") == 0

    def test_quiet_addresses_are_forgiven(self) -> None:
        """After twice the longest bar an address starts anew."""
        guessing, clock = limit()
        for _ in range(3):
            guessing.note_failure("192.0.2.1")
        clock.now += 17.0
        guessing.note_failure("192.0.2.1")
        assert guessing.barred_for("192.0.2.1") == 0

    def test_its_memory_is_bounded(self) -> None:
        """Of many addresses the oldest are forgotten."""
        guessing, _ = limit(most_addresses=100)
        for number in range(1000):
            guessing.note_failure(f"10.0.{number // 250}.{number % 250}")
        assert len(guessing._seen) == 100
