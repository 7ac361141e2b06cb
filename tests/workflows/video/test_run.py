"""Sources in, results out: order, overlap, policies, faults, ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import ExecutionEngineNotImplementedError, StepExecutionError
from tests.workflows.video.video_files import (
    ScriptedStream,
    counting_workflow,
    fails_on,
    picture,
    remembering_workflow,
    scripted_source,
    toy_engine,
    video_threads,
    write_video,
)
from workflows import Session
from workflows.video.errors import ConnectionLostError, FrameDecodeError, VideoSourceError
from workflows.video.reader import Reconnection
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoOptions, VideoRun
from workflows.video.sources import VideoSource, source_of

AT_ONCE = Reconnection(first_wait=0.0, longest_wait=0.0)


def results_of(
    session: Session,
    sources: list[VideoSource],
    workflow: dict[str, Any] | None = None,
    report: VideoReport | None = None,
    **options: Any,
) -> list[FrameResult]:
    """All results of a run."""
    with session.engine(workflow or counting_workflow()) as engine:
        made = VideoRun(engine, sources, VideoOptions("image", **options), report)
        made.start()
        with closing(made.results()) as results:
            return list(results)


def counts(results: list[FrameResult], source: int = 0) -> list[tuple[int, int]]:
    """(frame id, count) of a source."""
    return [
        (frame.frame_id, row["count"])
        for result in results
        for frame, row in zip(result.frames, result.rows, strict=True)
        if frame.source_id == source
    ]


def drain(
    run: VideoRun, taken: list[FrameResult], each: Callable[[], object] = lambda: None
) -> None:
    """Takes the results of a started run, and calls something after each."""
    for result in run.results():
        taken.append(result)
        each()


class TestResults:
    @pytest.mark.parametrize("depth", [1, 4, 16])
    def test_frames_that_overlap_keep_their_results(self, session: Session, depth: int) -> None:
        """Twelve frames with i squares give i on every frame, whatever the overlap."""
        source = scripted_source([picture(n) for n in range(12)])
        results = results_of(session, [source], depth=depth)
        assert counts(results) == [(n + 1, n) for n in range(12)]

    def test_a_file_gives_exactly_one_result_a_frame_in_order(
        self, session: Session, tmp_path: Path
    ) -> None:
        """With the wait policy a slow taker loses nothing."""
        path = write_video(tmp_path / "clip.mp4", [picture(n % 16) for n in range(40)])
        report = VideoReport()
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [source_of(path)], VideoOptions("image", buffer_size=2), report)
            made.start()
            taken = []
            for result in made.results():
                taken.append(result)
                if len(taken) % 10 == 0:
                    time.sleep(0.02)
        assert counts(taken) == [(n + 1, n % 16) for n in range(40)]
        assert report.results == 40
        assert report.sources[0].dropped == 0
        assert report.fault_count == 0

    def test_steps_that_keep_state_see_frames_in_order_though_frames_overlap(
        self, session: Session
    ) -> None:
        """A filter on change, behind steps of uneven length, on four frames at a time."""
        shown = [0, 0, 3, 3, 3, 1, 1, 2, 2, 0, 0, 5] * 4
        source = scripted_source([picture(n) for n in shown])
        results = results_of(session, [source], remembering_workflow(), depth=4)
        expected = [
            str(now) if before != now else None
            for before, now in zip([None, *shown], shown, strict=False)
        ]
        assert [result.rows[0]["changed"] for result in results] == expected

    def test_state_is_kept_for_each_source(self, session: Session) -> None:
        """Two sources do not see each other's values."""
        one = scripted_source([picture(1)] * 6, identifier="one")
        two = scripted_source([picture(2)] * 6, identifier="two")
        results = results_of(session, [one, two], remembering_workflow())
        changed = [
            (result.frames[0].video_identifier, result.rows[0]["changed"]) for result in results
        ]
        assert sorted(changed, key=str) == sorted(
            [("one", "1"), ("two", "2"), *[("one", None), ("two", None)] * 5], key=str
        )

    def test_steps_that_share_an_object_run_frame_by_frame(self, session: Session) -> None:
        """A value stored late in one frame is read early in the next; the report says why."""
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/cache_get@v1",
                    "name": "before",
                    "image": "$inputs.image",
                    "key": "count",
                },
                *counting_workflow()["steps"],
                {
                    "type": "roboflow_core/cache_set@v1",
                    "name": "store",
                    "image": "$inputs.image",
                    "key": "count",
                    "value": "$steps.contours.number_contours",
                },
            ],
            "outputs": [
                {"type": "JsonField", "name": "before", "selector": "$steps.before.output"},
            ],
        }
        report = VideoReport()
        source = scripted_source([picture(n) for n in range(12)])
        results = results_of(session, [source], definition, report, depth=4)
        assert [result.rows[0]["before"] for result in results] == [False, *range(11)]
        assert report.depth == 1
        assert "workflow_memory" in report.notes[0]

    def test_frames_bring_their_place_in_the_video(self, session: Session, tmp_path: Path) -> None:
        """Number, time, rate, length and kind of source reach the sink and the blocks."""
        path = write_video(tmp_path / "clip.mp4", [picture(n) for n in range(3)], fps=20)
        definition = counting_workflow()
        definition["inputs"].append({"type": "WorkflowVideoMetadata", "name": "place"})
        definition["outputs"] = [
            {"type": "JsonField", "name": "place", "selector": "$inputs.place"}
        ]
        results = results_of(session, [source_of(path)], definition, metadata_inputs=("place",))
        frames = [result.frames[0] for result in results]
        assert [frame.frame_id for frame in frames] == [1, 2, 3]
        assert [frame.position for frame in frames] == pytest.approx([0.0, 0.05, 0.1])
        step = (frames[1].frame_timestamp - frames[0].frame_timestamp).total_seconds()
        assert step == pytest.approx(0.05)
        first = frames[0]
        assert (first.fps, first.measured_fps, first.total_frames) == (20.0, None, 3)
        assert first.comes_from_video_file
        places = [result.rows[0]["place"] for result in results]
        assert [place.frame_number for place in places] == [1, 2, 3]
        assert places[0] == first.metadata()

    def test_a_live_source_measures_its_rate(self, session: Session) -> None:
        """Frames of a live source are stamped on arrival and their rate is measured."""
        gate = threading.Semaphore(0)
        source = VideoSource(
            "camera", lambda: ScriptedStream([picture(1)] * 5, None, gate), live=True
        )
        with session.engine(counting_workflow()) as engine:
            options = VideoOptions("image", reconnection=Reconnection(attempts=0))
            made = VideoRun(engine, [source], options)
            made.start()
            taken: list[FrameResult] = []
            gate.release()
            with pytest.raises(VideoSourceError):
                drain(made, taken, lambda: (time.sleep(0.01), gate.release()))
        frames = [result.frames[0] for result in taken]
        assert len(frames) == 5
        assert frames[0].measured_fps is None
        measured = frames[4].measured_fps
        assert measured is not None
        assert 0 < measured <= 100
        assert frames[0].fps is None
        assert not frames[0].comes_from_video_file
        assert frames[4].position > 0.03

    def test_two_sources_of_different_length_and_rate_are_both_run_whole(
        self, session: Session, tmp_path: Path
    ) -> None:
        """30 and 10 frames a second: every frame of both, each in its order."""
        fast = write_video(tmp_path / "fast.mp4", [picture(n % 9) for n in range(30)], fps=30)
        slow = write_video(tmp_path / "slow.mp4", [picture(n % 5) for n in range(10)], fps=10)
        report = VideoReport()
        results = results_of(session, [source_of(fast), source_of(slow)], report=report)
        assert counts(results, 0) == [(n + 1, n % 9) for n in range(30)]
        assert counts(results, 1) == [(n + 1, n % 5) for n in range(10)]
        assert [source.results for source in report.sources] == [30, 10]

    def test_batches_hold_one_frame_of_each_source(self, session: Session) -> None:
        """With batches, the shorter source is missing at the end and nothing is lost."""
        one = scripted_source([picture(n) for n in range(6)])
        two = scripted_source([picture(n + 1) for n in range(4)])
        results = results_of(session, [one, two], batch=True)
        assert [len(result.frames) for result in results] == [2] * 4 + [1] * 2
        assert counts(results, 0) == [(n + 1, n) for n in range(6)]
        assert counts(results, 1) == [(n + 1, n + 1) for n in range(4)]

    def test_results_can_be_json(self, session: Session) -> None:
        """The picture of a result is base64 text then."""
        results = results_of(session, [scripted_source([picture(2)])], serialize=True)
        assert results[0].rows[0]["picture"]["type"] == "base64"


class TestFaults:
    def test_one_wrong_timestamp_costs_one_frame(self, session: Session) -> None:
        """google-ai-edge/mediapipe#5743: 0, 33, 99999, 66, 99 ms; four results, one fault."""
        times = [0.0, 0.033, 99.999, 0.066, 0.099]
        source = scripted_source([(picture(n), t) for n, t in enumerate(times)])
        report = VideoReport()
        results = results_of(session, [source], report=report)
        assert counts(results) == [(1, 0), (2, 1), (4, 3), (5, 4)]
        [fault] = report.faults
        assert (fault.kind, fault.frame_id) == ("timestamp", 3)
        assert str(fault) == (
            "source 0, frame 3: the frame is refused: its timestamp jumps from 0.033 s to "
            "99.999 s, while the next frame is at 0.066 s"
        )

    def test_a_reset_lets_the_next_frame_start_a_new_time_line(self, session: Session) -> None:
        """After `reset` an earlier timestamp is no fault; the positions go on."""
        gate = threading.Semaphore(0)
        script = [(picture(1), t) for t in (50.0, 50.033, 3.0)]
        source = VideoSource("scripted", lambda: ScriptedStream(script, 30.0, gate))
        report = VideoReport()
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [source], VideoOptions("image"), report)
            made.start()
            gate.release(2)
            results = made.results()
            frames = [next(results).frames[0], next(results).frames[0]]
            time.sleep(0.06)  # the reader waits in `read` now; it looks at the reset after it
            made.reset(0)
            gate.release(2)
            frames += [result.frames[0] for result in results]
        assert len(frames) == 3
        assert frames[2].position >= frames[1].position

    def test_a_frame_that_cannot_be_decoded_is_reported_and_counted(self, session: Session) -> None:
        """The others keep their numbers, so that number over rate stays the time."""
        script = [picture(0), FrameDecodeError("noise"), picture(2), picture(3)]
        report = VideoReport()
        results = results_of(session, [scripted_source(script)], report=report)
        assert counts(results) == [(1, 0), (3, 2), (4, 3)]
        assert [(fault.kind, fault.frame_id) for fault in report.faults] == [("decode", 2)]
        assert report.sources[0].frames == 4

    def test_a_file_cut_off_is_reported_with_its_declared_length(
        self, session: Session, tmp_path: Path
    ) -> None:
        """What is there is run; the report says how much was promised."""
        path = write_video(
            tmp_path / "clip.avi", [picture(n % 16) for n in range(40)], codec="mjpeg"
        )
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * 7 // 10])
        report = VideoReport()
        results = results_of(session, [source_of(path)], report=report)
        assert 5 < len(results) < 40
        assert report.faults[-1].kind == "length"
        assert "of 40 declared frames" in report.faults[-1].message

    def test_a_file_that_cannot_be_read_further_ends_with_a_fault(self, session: Session) -> None:
        """A disk error in the middle: the frames before it, and a fault."""
        script = [picture(0), picture(1), ConnectionLostError("input/output error")]
        report = VideoReport()
        results = results_of(session, [scripted_source(script)], report=report)
        assert counts(results) == [(1, 0), (2, 1)]
        assert "input/output error" in report.faults[0].message

    def test_a_file_without_frames_gives_no_result(self, session: Session) -> None:
        """Nothing is not an error."""
        report = VideoReport()
        assert results_of(session, [scripted_source([])], report=report) == []
        assert (report.results, report.fps, report.latency) == (0, 0.0, None)

    def test_an_error_of_the_workflow_ends_the_run_and_names_the_frame(
        self, session: Session
    ) -> None:
        """What was before the failing frame has been delivered."""
        taken: list[FrameResult] = []
        with toy_engine(fails_on(3)) as engine:
            made = VideoRun(
                engine, [scripted_source([picture(n) for n in range(9)])], VideoOptions("image")
            )
            made.start()
            with pytest.raises(StepExecutionError, match="unlucky") as caught:
                drain(made, taken)
        assert [result.rows[0]["value"] for result in taken] == [1, 2]
        assert caught.value.__notes__[-1:] == ["This happened on frame 3 of source 0."]

    def test_an_error_of_the_workflow_can_be_skipped(self) -> None:
        """The frame is reported, the others go on."""
        report = VideoReport()
        with toy_engine(fails_on(3)) as engine:
            made = VideoRun(
                engine,
                [scripted_source([picture(n) for n in range(6)])],
                VideoOptions("image", on_error="skip"),
                report,
            )
            made.start()
            values = [result.rows[0]["value"] for result in made.results()]
        assert values == [1, 2, 4, 5, 6]
        assert [(fault.kind, fault.frame_id) for fault in report.faults] == [("run", 3)]

    def test_a_source_that_breaks_its_contract_ends_the_run_with_its_error(
        self, session: Session
    ) -> None:
        """An unexpected exception is not swallowed; results before it come first."""
        script = [picture(0), ZeroDivisionError("a bug of the source")]
        taken: list[FrameResult] = []
        with session.engine(counting_workflow()) as engine:
            made = VideoRun(engine, [scripted_source(script)], VideoOptions("image"))
            made.start()
            with pytest.raises(ZeroDivisionError):
                drain(made, taken)
        assert counts(taken) == [(1, 0)]

    def test_blocks_that_answer_for_earlier_frames_are_refused_at_once(self) -> None:
        """They would keep the last results for ever; nothing is lost silently."""
        pipelined = toy_engine(lambda image: {"value": 1}, is_stream_pipelined=lambda block: True)
        with pipelined as engine, pytest.raises(ExecutionEngineNotImplementedError):
            VideoRun(engine, [scripted_source([])], VideoOptions("image"))


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
