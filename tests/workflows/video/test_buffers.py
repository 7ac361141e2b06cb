"""How frames and results wait."""

from __future__ import annotations

import threading
import time
from datetime import datetime

import numpy as np
import pytest

from workflows.video.buffers import BufferRule, FrameBuffers, Outbox
from workflows.video.frames import VideoFrame


def frame(source: int, number: int, grabbed_at: float | None = None) -> VideoFrame:
    """A frame without pixels worth a look."""
    return VideoFrame(
        image=np.zeros((2, 2, 3), np.uint8),
        frame_id=number,
        frame_timestamp=datetime(2026, 1, 1),
        source_id=source,
        video_identifier=str(source),
        position=0.0,
        fps=None,
        measured_fps=None,
        comes_from_video_file=True,
        total_frames=None,
        grabbed_at=time.monotonic() if grabbed_at is None else grabbed_at,
    )


def numbers(frames: list[VideoFrame] | None) -> list[tuple[int, int]] | None:
    """(source, frame) of frames."""
    return None if frames is None else [(item.source_id, item.frame_id) for item in frames]


class TestPut:
    def test_a_full_buffer_makes_the_reader_wait(self) -> None:
        """With the wait rule, the third frame enters when the first has left."""
        buffers = FrameBuffers([BufferRule(2)])
        assert buffers.put(0, frame(0, 1))
        assert buffers.put(0, frame(0, 2))
        done = threading.Event()
        thread = threading.Thread(target=lambda: (buffers.put(0, frame(0, 3)), done.set()))
        thread.start()
        assert not done.wait(0.05)
        assert numbers(buffers.take_one()) == [(0, 1)]
        assert done.wait(10)
        thread.join()
        assert buffers.dropped == [0]

    def test_the_oldest_frame_is_dropped_when_the_rule_says_so(self) -> None:
        """Of five frames in a buffer of two, the last two are left and three are counted."""
        buffers = FrameBuffers([BufferRule(2, drop=True)])
        for number in range(1, 6):
            assert buffers.put(0, frame(0, number))
        assert numbers(buffers.take_one()) == [(0, 4)]
        assert numbers(buffers.take_one()) == [(0, 5)]
        assert buffers.dropped == [3]

    def test_closing_lets_a_waiting_reader_go(self) -> None:
        """A reader that waits for room learns that nobody takes frames any more."""
        buffers = FrameBuffers([BufferRule(1)])
        buffers.put(0, frame(0, 1))
        answers: list[bool] = []
        thread = threading.Thread(target=lambda: answers.append(buffers.put(0, frame(0, 2))))
        thread.start()
        buffers.close()
        thread.join(10)
        assert answers == [False]
        assert buffers.take_one() is None


class TestTakeOne:
    def test_sources_take_turns_and_none_waits_for_another(self) -> None:
        """A source with more frames does not starve the other; one without does not block."""
        buffers = FrameBuffers([BufferRule(4), BufferRule(4), BufferRule(4)])
        for number in (1, 2, 3):
            buffers.put(0, frame(0, number))
        buffers.put(2, frame(2, 1))
        taken = [numbers(buffers.take_one()) for _ in range(4)]
        assert taken == [[(0, 1)], [(2, 1)], [(0, 2)], [(0, 3)]]

    def test_the_end_comes_when_every_source_has_ended_and_is_empty(self) -> None:
        """Frames left at the end of a source are still taken."""
        buffers = FrameBuffers([BufferRule(4), BufferRule(4)])
        buffers.put(0, frame(0, 1))
        buffers.end(0)
        buffers.end(1)
        assert numbers(buffers.take_one()) == [(0, 1)]
        assert buffers.take_one() is None

    def test_frames_that_waited_too_long_are_dropped(self) -> None:
        """With a greatest age, only the young frame is handed out."""
        buffers = FrameBuffers([BufferRule(4, drop=True, max_age=30.0)])
        buffers.put(0, frame(0, 1, grabbed_at=time.monotonic() - 60))
        buffers.put(0, frame(0, 2))
        assert numbers(buffers.take_one()) == [(0, 2)]
        assert buffers.dropped == [1]

    def test_the_newest_frame_is_taken_when_the_rule_says_so(self) -> None:
        """Of three waiting frames the last is handed out, the others are counted as dropped."""
        buffers = FrameBuffers([BufferRule(4, drop=True, newest=True)])
        for number in (1, 2, 3):
            buffers.put(0, frame(0, number))
        assert numbers(buffers.take_one()) == [(0, 3)]
        assert buffers.dropped == [2]


class TestTakeBatch:
    def test_a_batch_has_one_frame_of_each_living_source(self) -> None:
        """Without a time limit it waits for all that live, and goes on without those that ended."""
        buffers = FrameBuffers([BufferRule(4), BufferRule(4)])
        buffers.put(0, frame(0, 1))
        buffers.put(0, frame(0, 2))
        batches: list[list[tuple[int, int]] | None] = []
        thread = threading.Thread(
            target=lambda: [batches.append(numbers(buffers.take_batch(None))) for _ in range(2)]
        )
        thread.start()
        time.sleep(0.03)
        assert batches == []
        buffers.put(1, frame(1, 1))
        buffers.end(1)
        thread.join(10)
        assert batches == [[(0, 1), (1, 1)], [(0, 2)]]

    @pytest.mark.parametrize("patience", [0.0, 0.02])
    def test_a_slow_source_is_waited_for_no_longer_than_that(self, patience: float) -> None:
        """With a time limit the batch comes without the source that has nothing."""
        buffers = FrameBuffers([BufferRule(4), BufferRule(4)])
        buffers.put(0, frame(0, 1))
        assert numbers(buffers.take_batch(patience)) == [(0, 1)]


class TestOutbox:
    def test_items_come_in_order_and_the_giver_waits_for_room(self) -> None:
        """A box of two never holds more than two, whatever the giver does."""
        box: Outbox[int] = Outbox(2)
        given: list[int] = []

        def give() -> None:
            for number in range(10):
                box.put(number)
                given.append(number)
            box.end()

        thread = threading.Thread(target=give)
        thread.start()
        time.sleep(0.03)
        assert len(given) == 2
        assert list(box) == list(range(10))
        thread.join(10)

    def test_closing_ends_giver_and_taker(self) -> None:
        """What was left is dropped."""
        box: Outbox[int] = Outbox(1)
        box.put(1)
        answers: list[bool] = []
        thread = threading.Thread(target=lambda: answers.append(box.put(2)))
        thread.start()
        box.close()
        thread.join(10)
        assert answers == [False]
        assert list(box) == []
