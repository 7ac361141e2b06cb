"""How frames wait, how sources come back, how a run is held and ended."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.video.taking import counts, drain, results_of
from tests.workflows.video.video_files import (
    ScriptedStream,
    counting_workflow,
    picture,
    scripted_source,
    video_threads,
    write_video,
)
from workflows import Session
from workflows.video.errors import ConnectionLostError, VideoSourceError
from workflows.video.reader import Reconnection
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoOptions, VideoRun
from workflows.video.sources import VideoSource, source_of


class TestPolicies:
    def test_a_live_source_drops_the_oldest_frames_for_a_slow_taker(self, session: Session) -> None:
        """Memory stays bounded, the newest frames come, every frame is accounted for."""
        source = scripted_source([picture(n % 16) for n in range(200)], live=True)
        report = VideoReport()
        taken: list[FrameResult] = []
        alive: list[int] = []
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions("image", reconnection=Reconnection(attempts=0))
            made = VideoRun(engine, [source], options, report)
            made.start()

            def look() -> None:
                time.sleep(0.005)
                counted = report.sources[0]
                alive.append(counted.frames - counted.results - made._buffers.dropped[0])

            with pytest.raises(VideoSourceError, match="could not be opened again"):
                drain(made, taken, look)
        numbers = [result.frames[0].frame_id for result in taken]
        assert numbers == sorted(numbers)
        assert numbers[-1] == 200
        assert len(numbers) < 200
        assert report.sources[0].dropped == 200 - len(numbers)
        assert (
            max(alive) <= 5
        )  # one in the buffer, in the reader, in the workflow, in the box, in hand

    def test_a_file_waits_for_a_slow_taker_with_bounded_memory(self, session: Session) -> None:
        """The reader never runs further ahead than the buffers allow."""
        opened: list[ScriptedStream] = []
        source = scripted_source([picture(n % 16) for n in range(60)], opened=opened)
        ahead = []
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions("image", buffer_size=2, depth=2, results_size=1)
            made = VideoRun(engine, [source], options)
            made.start()
            for taken, _ in enumerate(made.results(), 1):
                time.sleep(0.002)
                ahead.append(opened[0].reads - taken)
        assert len(ahead) == 60
        # Two decoded, two in the workflow, one in the box, and one in hand at each of the three
        # places that pass frames on.
        assert max(ahead) <= 8

    def test_a_policy_can_be_set_for_every_source(self, session: Session) -> None:
        """A live source can be kept whole, a file can be dropped from."""
        live = scripted_source([picture(1)] * 30, live=True)
        report = VideoReport()
        with pytest.raises(VideoSourceError):
            results_of(
                session, [live], report=report, policy="wait",
                reconnection=Reconnection(attempts=0),
            )  # fmt: skip
        assert report.sources[0].results == 30
        assert VideoOptions("image", policy="drop").buffer_rule(scripted_source([])).drop

    @pytest.mark.parametrize(
        ("fps", "max_fps", "expected"),
        [
            (30, 10.0, [1, 4, 7, 10]),
            (30, 30.0, list(range(1, 13))),
            (30, 100.0, list(range(1, 13))),
            (30, 20.0, [1, 3, 4, 6, 7, 9, 10, 12]),
            (30, 5.0, [1, 7]),
        ],
    )
    def test_max_fps_leaves_out_frames_by_their_time(
        self, session: Session, tmp_path: Path, fps: int, max_fps: float, expected: list[int]
    ) -> None:
        """Twelve frames at 30 a second, in a container that rounds to milliseconds."""
        path = write_video(tmp_path / "a.mkv", [picture(n) for n in range(12)], fps=fps)
        report = VideoReport()
        results = results_of(session, [source_of(path)], report=report, max_fps=max_fps)
        assert [result.frames[0].frame_id for result in results] == expected
        assert report.sources[0].thinned == 12 - len(expected)


class TestReconnection:
    def test_a_source_that_disappears_and_comes_back_goes_on(self, session: Session) -> None:
        """Lost twice, once with failing attempts between: all frames, numbers going on."""
        source = scripted_source(
            [picture(0), picture(1), ConnectionLostError("reset by peer")],
            VideoSourceError("refused"),
            VideoSourceError("refused"),
            [picture(2)],  # ends: a live stream that ends is lost too
            [picture(3), picture(4)],
            live=True,
        )
        report = VideoReport()
        taken: list[FrameResult] = []
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions(
                "image",
                policy="wait",
                reconnection=Reconnection(first_wait=0.001, longest_wait=0.002, attempts=3),
            )
            made = VideoRun(engine, [source], options, report)
            made.start()
            with pytest.raises(VideoSourceError, match="in 3 attempts"):
                drain(made, taken)
        assert counts(taken) == [(n + 1, n) for n in range(5)]
        assert report.sources[0].reconnects == 2
        kinds = {fault.kind for fault in report.faults}
        assert kinds == {"connection"}
        assert "reset by peer" in report.faults[0].message

    def test_timestamps_may_start_again_after_a_reconnection(self, session: Session) -> None:
        """A camera that restarts counts from zero; nothing is refused."""
        source = scripted_source(
            [(picture(0), 1000.0), (picture(1), 1000.03)],
            [(picture(2), 0.0), (picture(3), 0.03)],
            live=True,
        )
        report = VideoReport()
        with pytest.raises(VideoSourceError):
            results_of(
                session, [source], report=report, policy="wait",
                reconnection=Reconnection(first_wait=0.0, attempts=1),
            )  # fmt: skip
        assert report.sources[0].results == 4
        assert "timestamp" not in {fault.kind for fault in report.faults}

    def test_waits_grow_to_a_limit(self) -> None:
        """Half a second, one, two, ... at most thirty, for any attempt."""
        policy = Reconnection()
        assert [policy.wait(n) for n in (0, 1, 2, 3)] == [0.5, 1.0, 2.0, 4.0]
        assert policy.wait(50) == policy.wait(10**6) == 30.0

    @pytest.mark.parametrize(
        "values", [{"first_wait": -1.0}, {"factor": 0.5}, {"longest_wait": -1}, {"attempts": -1}]
    )
    def test_values_that_cannot_be_meant_are_refused(self, values: dict[str, Any]) -> None:
        """The message names what was given."""
        with pytest.raises(ValueError, match=r"at least|negative"):
            Reconnection(**values)


class TestStart:
    def test_one_source_that_cannot_be_opened_closes_the_others(self, session: Session) -> None:
        """No thread is started, what was opened is closed."""
        opened: list[ScriptedStream] = []
        good = scripted_source([picture(1)], opened=opened)
        bad = scripted_source(VideoSourceError("not there"))
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [good, bad], VideoOptions("image"))
            with pytest.raises(VideoSourceError, match="not there"):
                made.start()
        assert opened[0].closed.is_set()
        assert video_threads() == []


class TestStop:
    def test_results_in_flight_are_not_lost(self, session: Session) -> None:
        """After `stop` no frame is taken, those in the workflow come out, all threads end."""
        source = scripted_source(picture(n % 16) for n in itertools.count())
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [source], VideoOptions("image"))
            made.start()
            taken: list[FrameResult] = []
            for result in made.results():
                taken.append(result)
                if len(taken) == 5:
                    made.stop()
        numbers = [frame_id for frame_id, _ in counts(taken)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert 5 <= len(numbers) <= 5 + 2 * 4 + 2  # depth, the box, one at each hand-over
        assert video_threads() == []

    def test_a_taker_that_goes_away_ends_everything(self, session: Session) -> None:
        """Leaving the loop in the middle ends reader, feeder and workers."""
        opened: list[ScriptedStream] = []
        source = scripted_source((picture(1) for _ in itertools.count()), opened=opened)
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [source], VideoOptions("image"))
            made.start()
            results = made.results()
            next(results)
            results.close()
        assert video_threads() == []
        assert opened[0].closed.is_set()

    def test_a_live_source_that_waits_to_be_opened_again_ends_at_once(
        self, session: Session
    ) -> None:
        """A back-off of an hour is broken off."""
        source = scripted_source([picture(1)], live=True)
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions(
                "image", reconnection=Reconnection(first_wait=3600.0, longest_wait=3600.0)
            )
            made = VideoRun(engine, [source], options)
            made.start()
            results = made.results()
            next(results)
            started = time.monotonic()
            made.stop()
            assert list(results) == []
        assert time.monotonic() - started < 20


class TestPause:
    def test_a_file_waits_where_it_is(self, session: Session) -> None:
        """No frame is lost by a pause."""
        opened: list[ScriptedStream] = []
        source = scripted_source([picture(n) for n in range(12)], opened=opened)
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [source], VideoOptions("image", buffer_size=1, depth=1))
            made.start()
            made.pause()
            time.sleep(0.05)
            reads = opened[0].reads
            time.sleep(0.05)
            assert opened[0].reads == reads < 12
            made.resume()
            assert counts(list(made.results())) == [(n + 1, n) for n in range(12)]

    @pytest.mark.parametrize("how", ["pause", "mute"])
    def test_a_live_source_goes_on_and_its_frames_are_dropped(
        self, session: Session, how: str
    ) -> None:
        """While it is held, frames are read and dropped; afterwards the next ones come."""
        gate = threading.Semaphore(0)
        stream = ScriptedStream([picture(n % 16) for n in range(10)], 30.0, gate)
        report = VideoReport()
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions("image", reconnection=Reconnection(attempts=0))
            made = VideoRun(
                engine, [VideoSource("live", lambda: stream, live=True)], options, report
            )
            made.start()
            getattr(made, how)(0)
            gate.release(6)
            deadline = time.monotonic() + 20
            while report.sources[0].frames < 6 and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(0.02)
            made.resume(0)
            gate.release(1)
            results = made.results()
            assert next(results).frames[0].frame_id == 7
            results.close()
        assert report.sources[0].dropped == 6

    def test_a_source_that_is_not_there_is_named(self, session: Session) -> None:
        """The message says how many there are."""
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [scripted_source([])], VideoOptions("image"))
            made.start()
            with pytest.raises(ValueError, match="no source 3; the run has 1"):
                made.pause(3)
            assert list(made.results()) == []


class TestVideoOptions:
    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"depth": 0}, "depth must be at least 1, got 0"),
            ({"buffer_size": -1}, "buffer_size must be at least 1"),
            ({"results_size": 0}, "results_size must be at least 1"),
            ({"max_fps": 0}, "max_fps must be above 0"),
            ({"max_fps": float("nan")}, "max_fps must be above 0"),
            ({"max_age": -1}, "max_age must be above 0"),
            ({"batch_patience": -0.1}, "batch_patience must not be negative"),
            ({"policy": "sometimes"}, "policy is 'wait' or 'drop'"),
            ({"on_error": "ignore"}, "on_error is 'stop' or 'skip'"),
        ],
    )
    def test_values_out_of_range_are_refused(self, values: dict[str, Any], words: str) -> None:
        """The message names option and value."""
        with pytest.raises(ValueError, match=words):
            VideoOptions("image", **values)

    def test_live_sources_have_few_frames_waiting_and_one_in_the_workflow(
        self, session: Session
    ) -> None:
        """A frame that waits grows old."""
        options = VideoOptions("image")
        assert options.buffer_rule(scripted_source([], live=True)).capacity == 1
        assert options.buffer_rule(scripted_source([])).capacity == 4
        report = VideoReport()
        with session.engine(counting_workflow()) as engine:
            VideoRun(engine, [scripted_source([], live=True)], options, report).close()
        assert report.depth == 1
