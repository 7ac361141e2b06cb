"""`InferencePipeline`: the names and habits of another system."""

from __future__ import annotations

import enum
import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import InvalidInputTypeError, WorkflowEnvironmentConfigurationError
from tests.workflows.video.video_files import (
    broken_workflow,
    counting_workflow,
    picture,
    remembering_workflow,
    scripted_source,
    video_threads,
    write_video,
)
from workflows import InferencePipeline, Session
from workflows.video.errors import VideoSourceError
from workflows.video.pipeline import SinkMode
from workflows.video.pipeline_options import consumption


class Sink:
    """Keeps the arguments of every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any]] = []
        self.threads: set[str] = set()

    def __call__(self, predictions: Any, video_frames: Any) -> None:
        self.calls.append((predictions, video_frames))
        self.threads.add(threading.current_thread().name)


def made(session: Session, reference: Any, sink: Any, **options: Any) -> InferencePipeline:
    """A pipeline that counts squares."""
    return InferencePipeline.init_with_workflow(
        video_reference=reference,
        workflow_specification=options.pop("workflow_specification", counting_workflow()),
        on_prediction=sink,
        session=session,
        **options,
    )


class TestInitWithWorkflow:
    def test_a_file_is_run_from_start_to_end(self, session: Session, tmp_path: Path) -> None:
        """The sink gets one result and one frame a call, with the attributes programs use."""
        path = write_video(tmp_path / "a.mp4", [picture(n) for n in range(6)])
        sink = Sink()
        pipeline = made(session, str(path), sink)
        pipeline.start(use_main_thread=False)
        pipeline.join()
        assert [predictions["count"] for predictions, _ in sink.calls] == list(range(6))
        frame = sink.calls[0][1]
        assert (frame.frame_id, frame.source_id, frame.fps) == (1, 0, 30.0)
        assert frame.image.shape == (64, 64, 3)
        assert frame.comes_from_video_file
        assert sink.threads == {"video-pipeline"}
        assert pipeline.ended
        assert pipeline.report.results == 6

    def test_start_runs_on_this_thread_unless_told_otherwise(self, session: Session) -> None:
        """After `start()` everything has been delivered, and `join` returns at once."""
        sink = Sink()
        pipeline = made(session, scripted_source([picture(1)] * 3), sink)
        pipeline.start()
        assert len(sink.calls) == 3
        assert sink.threads == {threading.current_thread().name}
        pipeline.join()

    @pytest.mark.parametrize(
        ("mode", "expected"),
        [
            ("adaptive", [([1, 2], [0, 1]), ([1, None], [0, None])]),
            (SinkMode.BATCH, [([1, 2], [0, 1]), ([1, None], [0, None])]),
            ("sequential", [(1, 0), (2, 1), (1, 0)]),
        ],
    )
    def test_several_sources_are_run_together(
        self, session: Session, mode: Any, expected: list[Any]
    ) -> None:
        """Lists have a place for every source, None where one has ended."""
        sink = Sink()
        sources = [scripted_source([picture(1)] * 2), scripted_source([picture(2)])]
        made(session, sources, sink, sink_mode=mode).start()

        def shown(value: Any, read: Any) -> Any:
            if isinstance(value, list):
                return [None if item is None else read(item) for item in value]
            return read(value)

        calls = [
            (shown(rows, lambda row: row["count"]), shown(frames, lambda f: f.source_id))
            for rows, frames in sink.calls
        ]
        assert calls == expected

    def test_one_source_in_batch_mode_gives_lists(self, session: Session) -> None:
        """`BATCH` means lists, always."""
        sink = Sink()
        made(session, scripted_source([picture(1)]), sink, sink_mode="batch").start()
        [(rows, frames)] = sink.calls
        assert (len(rows), len(frames)) == (1, 1)

    def test_parameters_and_metadata_reach_the_workflow(self, session: Session) -> None:
        """Inputs by the names that were given."""
        definition = counting_workflow()
        definition["inputs"] = [
            {"type": "WorkflowImage", "name": "camera"},
            {"type": "WorkflowParameter", "name": "level"},
            {"type": "WorkflowParameter", "name": "place"},
        ]
        definition["steps"][0]["image"] = "$inputs.camera"
        definition["steps"][1]["thresh_value"] = "$inputs.level"
        definition["outputs"].append(
            {"type": "JsonField", "name": "place", "selector": "$inputs.place"}
        )
        sink = Sink()
        made(
            session,
            scripted_source([picture(3)]),
            sink,
            workflow_specification=definition,
            image_input_name="camera",
            workflows_parameters={"level": 100},
            video_metadata_input_name="place",
        ).start()
        assert sink.calls[0][0]["count"] == 3
        [place] = sink.calls[0][0]["place"]
        assert (place.frame_number, place.video_identifier) == (1, "0")

    def test_state_lasts_from_frame_to_frame(self, session: Session) -> None:
        """A filter on change sees the frames before."""
        sink = Sink()
        source = scripted_source([picture(n) for n in (1, 1, 2)])
        made(session, source, sink, workflow_specification=remembering_workflow()).start()
        assert [row["changed"] for row, _ in sink.calls] == ["1", None, "2"]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"workspace_name": "w"}, "workspace_name cannot be used: workflows are not fetched"),
            ({"workflow_id": "w"}, "workflow_id cannot be used"),
            ({"workflow_version_id": "1"}, "workflow_version_id cannot be used"),
            ({"use_workflow_definition_cache": False}, "use_workflow_definition_cache cannot"),
            ({"workflow_specification": None}, "workflow_specification is missing"),
            ({"on_prediction": None}, "on_prediction must be a function, got None"),
            ({"model_manager": object()}, "give session or model_manager"),
            ({"sink_mode": "loud"}, "sink_mode is one of adaptive, batch, sequential"),
            ({"image_input_name": "picture"}, "no image input 'picture'"),
            ({"predictions_queue_size": 0}, "results_size must be at least 1"),
            ({"decoding_buffer_size": 0}, "buffer_size must be at least 1"),
            ({"workflows_thread_pool_workers": 0}, "workflows_thread_pool_workers must be"),
            ({"execution_engine_thread_pool_workers": 0}, "depth must be at least 1"),
            ({"max_fps": -1}, "max_fps must be above 0"),
            ({"max_staleness": 1.0}, "belongs to video_processing_mode 'auto'"),
            ({"video_processing_mode": "turbo"}, "is one of legacy, auto, every_frame, freshest"),
            ({"source_buffer_filling_strategy": "DROP_LATEST"}, "is one of WAIT, DROP_OLDEST"),
            ({"video_reference": []}, "an empty list"),
            ({"video_reference": [0, 1], "video_source_properties": [{}]}, "1 entries for 2"),
            ({"workflows_dependencies_pre_init": ["x"]}, "dependencies_pre_init knows"),
        ],
    )
    def test_what_cannot_be_had_is_refused(
        self, session: Session, options: dict[str, Any], words: str
    ) -> None:
        """No option is taken and ignored."""
        arguments: dict[str, Any] = {
            "video_reference": scripted_source([]),
            "workflow_specification": counting_workflow(),
            "on_prediction": Sink(),
            "session": session,
            **options,
        }
        with pytest.raises(WorkflowEnvironmentConfigurationError, match=words):
            InferencePipeline.init_with_workflow(**arguments)

    def test_unknown_options_are_refused(self, session: Session) -> None:
        """Python names them."""
        with pytest.raises(TypeError, match="watchdog"):
            made(session, 0, Sink(), watchdog=object())

    def test_properties_of_files_are_refused(self, session: Session) -> None:
        """They belong to cameras."""
        with pytest.raises(VideoSourceError, match="takes no properties"):
            made(session, "a.mp4", Sink(), video_source_properties={"fps": 30})

    def test_a_trace_of_the_last_frames_is_written(self, session: Session, tmp_path: Path) -> None:
        """A second pipeline does not overwrite the first trace."""
        folder = tmp_path / "traces"
        for _ in range(2):
            source = scripted_source([picture(1)] * 3)
            made(session, source, Sink(), profiling_directory=folder).start()
        assert sorted(path.name for path in folder.iterdir()) == ["trace-1.json", "trace.json"]
        names = {event["name"] for event in json.loads((folder / "trace.json").read_text())}
        assert any("step" in name for name in names)

    def test_sinks_of_the_workflow_can_be_disabled(self, session: Session, tmp_path: Path) -> None:
        """`disable_sinks` reaches the steps that write."""
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "text", "default_value": "{}"},
            ],
            "steps": [
                {
                    "type": "roboflow_core/local_file_sink@v1",
                    "name": "file",
                    "content": "$inputs.text",
                    "file_type": "json",
                    "output_mode": "separate_files",
                    "target_directory": str(tmp_path / "written"),
                    "file_name_prefix": "x",
                    "max_entries_per_file": 1,
                }
            ],
            "outputs": [{"type": "JsonField", "name": "said", "selector": "$steps.file.message"}],
        }
        sink = Sink()
        made(
            session,
            scripted_source([picture(1)]),
            sink,
            workflow_specification=definition,
            disable_sinks=True,
        ).start()
        assert "disabled" in sink.calls[0][0]["said"].lower()
        assert not (tmp_path / "written").exists()


class TestErrors:
    def test_an_error_of_the_sink_is_reported_and_the_pipeline_goes_on(
        self, session: Session
    ) -> None:
        """Every frame reaches the sink."""
        seen: list[int] = []

        def sink(predictions: Any, frame: Any) -> None:
            seen.append(frame.frame_id)
            raise ZeroDivisionError("oops")

        pipeline = made(session, scripted_source([picture(1)] * 3), sink)
        pipeline.start()
        assert seen == [1, 2, 3]
        assert [str(fault) for fault in pipeline.report.faults][:1] == [
            "source 0, frame 1: the sink failed: ZeroDivisionError: oops"
        ]

    @pytest.mark.parametrize("on_this_thread", [True, False])
    def test_an_error_of_the_workflow_is_raised(
        self, session: Session, on_this_thread: bool
    ) -> None:
        """By `start`, or by `join` when it ran in the background; once."""
        source = scripted_source([picture(1)] * 3)
        pipeline = made(session, source, Sink(), workflow_specification=broken_workflow())
        if on_this_thread:
            with pytest.raises(InvalidInputTypeError):
                pipeline.start()
        else:
            pipeline.start(use_main_thread=False)
            with pytest.raises(InvalidInputTypeError):
                pipeline.join()
        pipeline.join()
        assert video_threads() == []

    def test_a_source_that_is_not_there_is_raised_by_start(self, session: Session) -> None:
        """Nothing is left running."""
        pipeline = made(session, "/nowhere/a.mp4", Sink())
        with pytest.raises(VideoSourceError, match=r"/nowhere/a\.mp4"):
            pipeline.start(use_main_thread=False)
        assert pipeline.ended


class TestTerminate:
    def test_an_endless_source_ends(self, session: Session) -> None:
        """After `terminate` and `join` no thread is left and no frame was left out between."""
        sink = Sink()
        source = scripted_source(picture(n % 16) for n in itertools.count())
        pipeline = made(session, source, sink)
        pipeline.start(use_main_thread=False)
        while len(sink.calls) < 5:
            threading.Event().wait(0.005)
        pipeline.terminate()
        pipeline.join()
        numbers = [frame.frame_id for _, frame in sink.calls]
        assert numbers == list(range(1, len(numbers) + 1))
        assert video_threads() == []

    def test_a_pipeline_that_was_never_started_is_closed(self, session: Session) -> None:
        """Starting it afterwards does nothing; starting twice is refused."""
        sink = Sink()
        pipeline = made(session, scripted_source([picture(1)]), sink)
        pipeline.terminate()
        pipeline.start()
        pipeline.join()
        assert sink.calls == []
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="started once"):
            pipeline.start()

    def test_pause_and_resume_lose_no_frame_of_a_file(self, session: Session) -> None:
        """All frames, though it was held in the middle."""
        sink = Sink()
        pipeline = made(session, scripted_source([picture(n % 16) for n in range(60)]), sink)
        pipeline.start(use_main_thread=False)
        pipeline.pause_stream()
        pipeline.resume_stream(source_id=0)
        pipeline.join()
        assert len(sink.calls) == 60


class TestConsumption:
    def _options(self, **given: Any) -> dict[str, Any]:
        names = ("filling_strategy", "consumption_strategy", "processing_mode", "max_staleness",
                 "patience", "buffer_size")  # fmt: skip
        return consumption(**{name: given.get(name) for name in names})

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, {"policy": None, "newest": False, "batch_patience": None}),
            ({"filling_strategy": "WAIT"}, {"policy": "wait"}),
            ({"filling_strategy": "drop_oldest"}, {"policy": "drop"}),
            ({"consumption_strategy": "EAGER"}, {"newest": True}),
            ({"consumption_strategy": "LAZY"}, {"newest": False}),
            ({"processing_mode": "legacy"}, {"policy": None}),
            ({"processing_mode": "every_frame"}, {"policy": "wait", "batch_patience": None}),
            ({"processing_mode": "freshest"}, {"newest": True, "batch_patience": 0.1}),
            ({"processing_mode": "auto"}, {"max_age": 0.5, "batch_patience": 0.1}),
            (
                {"processing_mode": "auto", "max_staleness": 2.0, "patience": 1.0},
                {"max_age": 2.0, "batch_patience": 1.0},
            ),
            ({"buffer_size": 9}, {"buffer_size": 9}),
        ],
    )
    def test_each_value_acts(self, given: dict[str, Any], expected: dict[str, Any]) -> None:
        """What a value means in our terms."""
        found = self._options(**given)
        assert {name: found[name] for name in expected} == expected

    def test_enumerations_of_the_same_names_are_taken(self) -> None:
        """Programs pass the enumerations of the other system."""

        class BufferFillingStrategy(enum.Enum):
            DROP_OLDEST = "DROP_OLDEST"

        found = self._options(filling_strategy=BufferFillingStrategy.DROP_OLDEST)
        assert found["policy"] == "drop"

    def test_two_ways_to_say_the_same_are_refused(self) -> None:
        """Neither wins silently."""
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="give one"):
            self._options(processing_mode="freshest", filling_strategy="WAIT")
