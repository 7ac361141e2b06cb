"""`run_on_video`: results, annotated videos, errors, interrupts."""

from __future__ import annotations

import itertools
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workflows
from execution_engine.errors import InvalidInputTypeError, WorkflowEnvironmentConfigurationError
from tests.workflows.video.test_streams import play
from tests.workflows.video.video_files import (
    broken_workflow,
    counting_workflow,
    picture,
    scripted_source,
    turned_mp4,
    video_threads,
    write_video,
)
from workflows import LockDriftError, Session, run_on_video
from workflows.locking.making import make_lock
from workflows.video import VideoFrame, VideoReport
from workflows.video.errors import VideoSourceError, VideoWriterError
from workflows.video.sources import source_of

# 30 frames of people walking, Microsoft MPEG-4, cut without another encoding from vtest.avi of the
# samples of OpenCV (Apache-2.0).
REAL_CLIP = Path(__file__).parent / "people_walking.avi"
REAL_FRAMES = 30


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.frames: list[VideoFrame] = []

    def __call__(self, row: dict[str, Any], frame: VideoFrame) -> None:
        self.rows.append(row)
        self.frames.append(frame)


class TestRunOnVideo:
    def test_is_a_name_of_the_package(self) -> None:
        """`from workflows import run_on_video`."""
        assert "run_on_video" in workflows.__all__
        assert workflows.run_on_video is run_on_video

    def test_every_frame_of_a_file_gives_one_result(self, session: Session, tmp_path: Path) -> None:
        """Counts, frames and report agree; the path may hold any letters."""
        path = write_video(tmp_path / "Straße 東京.mp4", [picture(n) for n in range(12)])
        sink = Collected()
        report = run_on_video(counting_workflow(), path, sink=sink, session=session)
        assert [row["count"] for row in sink.rows] == list(range(12))
        assert [frame.frame_id for frame in sink.frames] == list(range(1, 13))
        assert report.results == 12
        assert report.fps > 0
        assert report.elapsed > 0
        assert report.latency is not None
        assert report.latency.count == 12
        assert 0 < report.latency.p50 <= report.latency.p90 <= report.latency.p99
        assert report.run_time is not None
        assert report.to_dict()["sources"][0]["results"] == 12

    def test_runs_under_its_lock_only(self, session: Session, tmp_path: Path) -> None:
        """A lock of another workflow is refused before the first frame; its own lets it run."""
        path = write_video(tmp_path / "three.mp4", [picture(n) for n in range(3)])
        own = make_lock(session, counting_workflow())
        other = make_lock(session, counting_workflow() | {"outputs": []})
        sink = Collected()
        with pytest.raises(LockDriftError, match="workflow"):
            run_on_video(counting_workflow(), path, sink=sink, session=session, lock=other)
        assert not sink.rows
        report = run_on_video(counting_workflow(), path, sink=sink, session=session, lock=own)
        assert report.results == 3

    def test_a_real_clip_gives_one_result_a_frame(self, session: Session) -> None:
        """As many results as frames, in order, nothing refused."""
        sink = Collected()
        report = run_on_video(counting_workflow(), REAL_CLIP, sink=sink, session=session)
        assert [frame.frame_id for frame in sink.frames] == list(range(1, REAL_FRAMES + 1))
        assert report.fault_count == 0
        differences = [
            np.abs(a.image.astype(int) - b.image).max() for a, b in itertools.pairwise(sink.frames)
        ]
        assert min(differences) > 0  # each is a picture of its own

    def test_the_annotated_video_has_a_frame_for_every_result(
        self, session: Session, tmp_path: Path
    ) -> None:
        """Same number, same times, turned upright, in a file with other letters in its name."""
        flat = write_video(tmp_path / "flat.mp4", [picture(n, 48, 80) for n in range(10)], fps=20)
        path = turned_mp4(flat, tmp_path / "phone.mp4", (0, 1, -1, 0))
        out = tmp_path / "ergebnis ü.mp4"
        report = run_on_video(counting_workflow(), path, out=out, session=session)
        pictures, times, lost = play(source_of(out).open())
        assert lost == []
        assert [pixels.shape for pixels in pictures] == [(80, 48, 3)] * 10
        assert times == pytest.approx([n / 20 for n in range(10)])
        assert report.files == [str(out)]

    def test_frames_without_a_picture_are_written_as_they_came(
        self, session: Session, tmp_path: Path
    ) -> None:
        """A gate lets no picture through: the video shows the frames."""
        definition = counting_workflow()
        definition["steps"].insert(
            0,
            {
                "type": "roboflow_core/rate_limiter@v1",
                "name": "gate",
                "cooldown_seconds": 1000,
                "depends_on": "$inputs.image",
                "video_reference_image": "$inputs.image",
                "next_steps": ["$steps.gray"],
            },
        )
        path = write_video(tmp_path / "a.mp4", [picture(n) for n in range(4)])
        sink = Collected()
        out = tmp_path / "out.mp4"
        run_on_video(definition, path, sink=sink, out=out, session=session)
        assert [row["picture"] is None for row in sink.rows] == [False, True, True, True]
        pictures, _, _ = play(source_of(out).open())
        assert np.abs(pictures[3].astype(int) - picture(3)).mean() < 8

    def test_each_source_gets_a_video_of_its_own(self, session: Session, tmp_path: Path) -> None:
        """Names end with the identifiers; a name that no file can have is changed."""
        sources = [
            scripted_source([picture(1)] * 3, identifier="yard/1"),
            scripted_source([picture(2, 80, 80)] * 5),
        ]
        report = run_on_video(counting_workflow(), sources, out=tmp_path / "o.mp4", session=session)
        assert sorted(Path(file).name for file in report.files) == ["o-1.mp4", "o-yard_1.mp4"]
        assert len(play(source_of(tmp_path / "o-1.mp4").open())[0]) == 5
        assert len(play(source_of(tmp_path / "o-yard_1.mp4").open())[0]) == 3

    def test_frames_that_change_size_are_run_and_written(
        self, session: Session, tmp_path: Path
    ) -> None:
        """The results are those of each size; the video keeps the first, and a note says so."""
        sizes = [(64, 64), (63, 81), (128, 64), (64, 64)]
        sink = Collected()
        report = run_on_video(
            counting_workflow(),
            scripted_source([picture(3, *size) for size in sizes]),
            sink=sink,
            out=tmp_path / "o.mp4",
            session=session,
        )
        assert [row["picture"].size for row in sink.rows] == sizes
        assert [row["count"] for row in sink.rows] == [3] * 4
        assert len(report.notes) == 2
        assert len(play(source_of(tmp_path / "o.mp4").open())[0]) == 4

    @pytest.mark.parametrize(
        ("out", "output", "words"),
        [
            ("o.txt", None, "does not end like a video"),
            ("o.mp4", "nothing", "no output 'nothing'"),
            ("o.mp4", "count", "is int on frame 1"),
            ("in.mp4", None, "is read by this run"),
            ("no/o.mp4", None, "cannot be written"),
        ],
    )
    def test_a_video_that_cannot_be_written_is_an_error(
        self, session: Session, tmp_path: Path, out: str, output: str | None, words: str
    ) -> None:
        """The message says what is wrong with name, output or place; the source is untouched."""
        path = write_video(tmp_path / "in.mp4", [picture(1)] * 2)
        before = path.read_bytes()
        with pytest.raises((VideoWriterError, WorkflowEnvironmentConfigurationError), match=words):
            run_on_video(
                counting_workflow(), path, out=tmp_path / out, video_output=output, session=session
            )
        assert path.read_bytes() == before

    def test_a_workflow_without_a_picture_has_no_video(self, session: Session) -> None:
        """The message lists the outputs."""
        definition = counting_workflow()
        definition["outputs"].pop()
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="its outputs are count"):
            run_on_video(definition, scripted_source([]), out="o.mp4", session=session)

    def test_an_error_of_the_sink_ends_the_run(self, session: Session, tmp_path: Path) -> None:
        """The error itself comes out, with the frame; the video up to there can be played."""

        def sink(row: dict[str, Any], frame: VideoFrame) -> None:
            if frame.frame_id == 3:
                raise KeyError("no such column")

        source = scripted_source(picture(n % 16) for n in itertools.count())
        out = tmp_path / "o.mp4"
        with pytest.raises(KeyError, match="no such column") as caught:
            run_on_video(counting_workflow(), source, sink=sink, out=out, session=session)
        assert caught.value.__notes__ == ["The sink raised this on frame 3 of source 0."]
        assert len(play(source_of(out).open())[0]) == 3
        assert video_threads() == []

    def test_errors_of_the_sink_can_be_skipped(self, session: Session) -> None:
        """Each is reported, the run goes on."""

        def sink(row: dict[str, Any], frame: VideoFrame) -> None:
            raise KeyError(frame.frame_id)

        report = run_on_video(
            counting_workflow(),
            scripted_source([picture(1)] * 4),
            sink=sink,
            on_error="skip",
            session=session,
        )
        assert [(fault.kind, fault.frame_id) for fault in report.faults] == [
            ("sink", number) for number in (1, 2, 3, 4)
        ]
        assert report.faults[0].message == "the sink failed: KeyError: 1"

    def test_an_interrupt_ends_every_thread_and_closes_the_video(
        self, session: Session, tmp_path: Path
    ) -> None:
        """Ctrl-C in the sink: the report has what was done, the video can be played."""

        def sink(row: dict[str, Any], frame: VideoFrame) -> None:
            if frame.frame_id == 4:
                raise KeyboardInterrupt

        report = VideoReport()
        out = tmp_path / "o.mp4"
        source = scripted_source(picture(n % 16) for n in itertools.count())
        with pytest.raises(KeyboardInterrupt):
            run_on_video(
                counting_workflow(), source, sink=sink, out=out, session=session, report=report
            )
        assert video_threads() == []
        assert report.results >= 4
        assert len(play(source_of(out).open())[0]) == 4

    def test_a_run_ends_after_so_many_results(self, session: Session) -> None:
        """An endless source with `max_frames`."""
        sink = Collected()
        source = scripted_source(picture(n % 16) for n in itertools.count())
        report = run_on_video(counting_workflow(), source, sink=sink, max_frames=7, session=session)
        assert [row["count"] for row in sink.rows] == list(range(7))
        assert report.results == 7

    def test_other_inputs_are_given_by_name(self, session: Session) -> None:
        """A parameter reaches its step; a second picture leaves one free for the frames."""
        definition = counting_workflow()
        definition["inputs"].append(
            {"type": "WorkflowParameter", "name": "level", "default_value": 128}
        )
        definition["inputs"].append({"type": "WorkflowImage", "name": "reference"})
        definition["steps"][1]["thresh_value"] = "$inputs.level"
        sink = Collected()
        run_on_video(
            definition,
            scripted_source([picture(4)]),
            sink=sink,
            inputs={"level": 250, "reference": picture(1)},
            session=session,
        )
        assert sink.rows[0]["count"] == 0
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="image, reference"):
            run_on_video(definition, scripted_source([]), session=session)
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="no image input 'level'"):
            run_on_video(definition, scripted_source([]), image_input="level", session=session)

    def test_an_error_of_the_workflow_ends_the_run(self, session: Session) -> None:
        """The first frame says so, and no thread is left."""
        with pytest.raises(InvalidInputTypeError, match="expects text") as caught:
            run_on_video(broken_workflow(), scripted_source([picture(1)] * 5), session=session)
        assert caught.value.__notes__[-1] == "This happened on frame 1 of source 0."
        assert video_threads() == []

    def test_options_that_cannot_go_together_are_refused(self, session: Session) -> None:
        """Text has no pixels for a video; no results are none."""
        with pytest.raises(ValueError, match="serialize=True"):
            run_on_video({}, 0, out="o.mp4", serialize=True, session=session)
        with pytest.raises(ValueError, match="max_frames must be at least 1"):
            run_on_video({}, 0, max_frames=0, session=session)

    def test_a_local_video_needs_no_network(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """roboflow/inference#383: a file and a workflow on this machine open no socket."""

        def refuse(*arguments: object, **named: object) -> None:
            raise AssertionError("a socket was opened")

        monkeypatch.setattr(socket, "socket", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        path = write_video(tmp_path / "a.mp4", [picture(2)] * 2)
        assert run_on_video(counting_workflow(), path, session=session).results == 2
        with pytest.raises(VideoSourceError, match=r"missing\.mp4"):
            run_on_video(counting_workflow(), tmp_path / "missing.mp4", session=session)
