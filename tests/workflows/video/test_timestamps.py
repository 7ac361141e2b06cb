"""Which timestamps are believed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.video.timestamps import TimestampGuard


def judged(
    times: list[float | None], interval: float | None = None
) -> tuple[list[int], dict[int, str], list[float]]:
    """Numbers of the accepted frames, reasons by refused frame, positions."""
    guard: TimestampGuard[int] = TimestampGuard(interval)
    accepted, refused, positions = [], {}, []
    for number, seconds in enumerate(times):
        verdicts = guard.add(number, seconds)
        accepted += [item for item, _ in verdicts.accepted]
        positions += [position for _, position in verdicts.accepted]
        refused.update(verdicts.refused)
    last = guard.end()
    accepted += [item for item, _ in last.accepted]
    positions += [position for _, position in last.accepted]
    refused.update(last.refused)
    return accepted, refused, positions


class TestAdd:
    def test_one_wrong_timestamp_costs_one_frame(self) -> None:
        """google-ai-edge/mediapipe#5743: of 0, 33, 99999, 66, 99 ms only 99999 is refused."""
        accepted, refused, positions = judged([0.0, 0.033, 99.999, 0.066, 0.099])
        assert accepted == [0, 1, 3, 4]
        assert positions == pytest.approx([0.0, 0.033, 0.066, 0.099])
        assert refused == {
            2: "its timestamp jumps from 0.033 s to 99.999 s, while the next frame is at 0.066 s"
        }

    @pytest.mark.parametrize(
        ("times", "wrong"),
        [
            ([0.0, 0.033, 0.066, 0.040, 0.099, 0.132], [3]),  # goes back once
            ([0.0, 0.033, 99.999, 99.998, 0.066, 0.099], [2, 3]),  # two wrong ones
            ([0.0, 0.033, -5.0, 0.066], [2]),
            ([0.0, 0.033, math.nan, 0.066], [2]),
            ([0.0, math.inf, 0.033], [1]),
            ([0.0, 0.033, 99.999, -3.0, 0.066], [2, 3]),
            ([0.0, 0.033, 0.020], [2]),  # the last one goes back
        ],
    )
    def test_frames_before_and_behind_wrong_ones_are_accepted(
        self, times: list[float | None], wrong: list[int]
    ) -> None:
        """Whatever is wrong about a timestamp, the frames around it go through."""
        accepted, refused, positions = judged(times)
        assert sorted(refused) == wrong
        assert accepted == [n for n in range(len(times)) if n not in wrong]
        assert positions == sorted(positions)

    @pytest.mark.parametrize(
        ("times", "positions"),
        [
            # A gap: the stream really goes on later.
            ([0.0, 0.04, 60.0, 60.04], [0.0, 0.04, 60.0, 60.04]),
            # A slide show: every step is a gap.
            ([0.0, 0.04, 30.0, 60.0, 90.0], [0.0, 0.04, 30.0, 60.0, 90.0]),
            # A gap before the last frame.
            ([0.0, 0.04, 60.0], [0.0, 0.04, 60.0]),
            # The clock was set back: the time line goes on behind the last position.
            ([10.0, 10.04, 2.0, 2.04, 2.08], [0.0, 0.04, 0.08, 0.12, 0.16]),
            # The first timestamp was wrong.
            ([99.0, 0.0, 0.04, 0.08], [0.0, 0.04, 0.08, 0.12]),
            # No timestamps at all: as declared.
            ([None, None, None], [0.0, 0.04, 0.08]),
            ([0.0, None, 0.08], [0.0, 0.04, 0.08]),
            # The same timestamp twice is what coarse clocks give.
            ([0.0, 0.04, 0.04, 0.08], [0.0, 0.04, 0.04, 0.08]),
        ],
    )
    def test_a_real_jump_costs_no_frame(
        self, times: list[float | None], positions: list[float]
    ) -> None:
        """A gap or a clock that was set is recognised by the frame after it."""
        accepted, refused, given_out = judged(times, interval=0.04)
        assert refused == {}
        assert accepted == list(range(len(times)))
        assert given_out == pytest.approx(positions)

    @given(st.lists(st.floats(0, 1e6) | st.none() | st.just(math.nan), max_size=30))
    def test_every_frame_gets_exactly_one_verdict_in_order(self, times: list[float | None]) -> None:
        """No frame is lost or judged twice; order is kept, positions never fall."""
        accepted, refused, positions = judged(times)
        assert sorted([*accepted, *refused]) == list(range(len(times)))
        assert accepted == sorted(accepted)
        assert positions == sorted(positions)

    @given(st.lists(st.floats(0, 1e6), max_size=8), st.integers(3, 9))
    def test_no_history_makes_a_good_stream_be_refused_for_long(
        self, history: list[float], count: int
    ) -> None:
        """After any timestamps, at most two of the frames of an even stream are refused."""
        even: list[float | None] = [500.0 + n / 30 for n in range(count)]
        _, refused, _ = judged([*history, *even])
        assert len([n for n in refused if n >= len(history)]) <= 2


class TestReset:
    def test_the_next_frame_starts_a_new_time_line(self) -> None:
        """After a reset an earlier timestamp is believed at once and positions go on."""
        guard: TimestampGuard[str] = TimestampGuard(0.04)
        guard.add("a", 10.0)
        guard.add("held", 99.0)
        guard.reset()
        assert guard.add("b", 3.0).accepted == [("b", pytest.approx(0.04))]
        assert guard.add("c", 3.04).accepted == [("c", pytest.approx(0.08))]
        assert guard.end().accepted == []
