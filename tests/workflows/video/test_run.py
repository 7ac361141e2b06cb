"""Sources in, results out: order, overlap, policies, faults, ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import ExecutionEngineNotImplementedError, StepExecutionError
from tests.workflows.video.taking import counts, drain, results_of
from tests.workflows.video.video_files import (
    ScriptedStream,
    counting_workflow,
    fails_on,
    picture,
    remembering_workflow,
    scripted_source,
    toy_engine,
    write_video,
)
from workflows import Session
from workflows.video.errors import ConnectionLostError, FrameDecodeError, VideoSourceError
from workflows.video.reader import Reconnection
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoOptions, VideoRun
from workflows.video.sources import VideoSource, source_of


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

    def test_a_tracked_object_is_counted_at_a_line(self, session: Session) -> None:
        """Detector, tracker, line and zone, four frames at a time: one crossing, one id."""
        template = picture(0)[:12, :12].copy()
        template[2:10, 2:10] = 235
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowImage", "name": "template"},
            ],
            "steps": [
                {
                    "type": "roboflow_core/template_matching@v1",
                    "name": "find",
                    "image": "$inputs.image",
                    "template": "$inputs.template",
                    "matching_threshold": 0.9,
                },
                {
                    "type": "roboflow_core/byte_tracker@v3",
                    "name": "track",
                    "image": "$inputs.image",
                    "detections": "$steps.find.predictions",
                },
                {
                    "type": "roboflow_core/line_counter@v2",
                    "name": "line",
                    "image": "$inputs.image",
                    "detections": "$steps.track.tracked_detections",
                    "line_segment": [[32, 64], [32, 0]],
                },
                {
                    "type": "roboflow_core/time_in_zone@v2",
                    "name": "zone",
                    "image": "$inputs.image",
                    "detections": "$steps.track.tracked_detections",
                    "zone": [[32, 0], [63, 0], [63, 63], [32, 63]],
                },
            ],
            "outputs": [
                {"type": "JsonField", "name": "in", "selector": "$steps.line.count_in"},
                {"type": "JsonField", "name": "out", "selector": "$steps.line.count_out"},
                {"type": "JsonField", "name": "new", "selector": "$steps.track.new_instances"},
                {"type": "JsonField", "name": "zone", "selector": "$steps.zone.timed_detections"},
            ],
        }

        def walking(left: int) -> Any:
            pixels = picture(0)
            pixels[26:34, left : left + 8] = 235
            return pixels

        source = scripted_source([walking(left) for left in range(4, 52, 2)], fps=10.0)
        results = results_of(session, [source], definition, depth=4, inputs={"template": template})
        rows = [result.rows[0] for result in results]
        assert (rows[-1]["in"], rows[-1]["out"]) == (0, 1)
        assert sum(len(row["new"]) for row in rows) == 1
        assert rows[-1]["zone"].tracker_id.tolist() == [1]
        inside = [row for row in rows if len(row["zone"])]
        seconds = rows[-1]["zone"].data["time_in_zone"][0]
        assert seconds == pytest.approx((len(inside) - 1) / 10)

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
