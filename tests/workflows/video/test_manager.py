"""Pipelines of clients: owners, limits, results, ends."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from execution_engine.errors import WorkflowCompilerError
from tests.workflows.video.video_files import (
    broken_workflow,
    counting_workflow,
    picture,
    scripted_source,
    video_threads,
)
from workflows import Session
from workflows.video.errors import (
    PipelineNotFoundError,
    TooManyPipelinesError,
    VideoOptionError,
    VideoSourceError,
)
from workflows.video.manager import PipelineLimits, PipelineManager, PipelineRequest
from workflows.video.result_buffer import ResultBuffer
from workflows.video.source_policy import SourcePolicy
from workflows.video.sources import VideoSource


def encode(value: Any) -> bytes:
    """JSON text."""
    return json.dumps(value).encode()


class Named(SourcePolicy):
    """A policy under which the names of a table are sources."""

    def __init__(self, **sources: Callable[[], VideoSource]) -> None:
        super().__init__()
        object.__setattr__(self, "table", sources)

    def source(self, reference: Any, properties: Any = None) -> VideoSource:
        """The source of this name; others as usual."""
        if reference in self.table:  # type: ignore[attr-defined]
            return self.table[reference]()  # type: ignore[attr-defined,no-any-return]
        return super().source(reference, properties)


def endless() -> VideoSource:
    """A file that never ends."""
    return scripted_source(picture(n % 16) for n in itertools.count())


@pytest.fixture
def manager(session: Session) -> Iterator[PipelineManager]:
    """A manager with an endless source, a short one and one that is not there."""
    policy = Named(
        endless=endless,
        short=lambda: scripted_source([picture(n) for n in range(3)]),
        gone=lambda: scripted_source(VideoSourceError("not there")),
    )
    made = PipelineManager(
        session,
        policy,
        PipelineLimits(pipelines=3, pipelines_per_owner=2, results=8, result_bytes=10**6),
        encode,
    )
    yield made
    made.close()


def request(*references: Any, **fields: Any) -> PipelineRequest:
    """A request to count squares."""
    fields.setdefault("results", 8)
    return PipelineRequest(
        fields.pop("definition", counting_workflow()), references or ("short",), **fields
    )


def wait_for(condition: Callable[[], Any]) -> None:
    """Returns when a condition holds; fails when it does not within a long time."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


class TestInitialise:
    def test_results_can_be_fetched_one_by_one(self, manager: PipelineManager) -> None:
        """In order, as encoded outputs with the places of the frames; then there is none."""
        pipeline = manager.initialise(request(), "me")
        wait_for(lambda: manager.status(pipeline, "me")["state"] == "ended")
        counts, ids = [], []
        while (result := manager.consume(pipeline, "me", excluded=["picture"])) is not None:
            [row], [place] = result.rows, result.frames
            assert row is not None
            assert set(row) == {"count"}
            counts.append(json.loads(row["count"]))
            ids.append((place["source_id"], place["frame_id"]))
            assert place["frame_timestamp"].startswith("20")
        assert counts == [0, 1, 2]
        assert ids == [(0, 1), (0, 2), (0, 3)]
        status = manager.status(pipeline, "me")
        assert (status["results"], status["results_waiting"], status["error"]) == (3, 0, None)
        assert status["sources_metadata"][0]["source_properties"]["is_file"]
        assert json.dumps(status)

    def test_several_sources_give_a_row_each(self, manager: PipelineManager) -> None:
        """Pictures are base64 text."""
        pipeline = manager.initialise(request("short", "short"), "me")
        wait_for(lambda: manager.status(pipeline, "me")["state"] == "ended")
        result = manager.consume(pipeline, "me")
        assert result is not None
        rows = [row for row in result.rows if row is not None]
        assert [json.loads(row["count"]) for row in rows] == [0, 0]
        assert json.loads(rows[0]["picture"])["type"] == "base64"

    def test_results_nobody_fetches_are_dropped_oldest_first(
        self, manager: PipelineManager
    ) -> None:
        """The newest eight are kept; the count of dropped ones is in the status."""
        pipeline = manager.initialise(request("endless"), "me")
        wait_for(lambda: manager.status(pipeline, "me")["results_dropped"] > 20)
        status = manager.status(pipeline, "me")
        assert status["results_waiting"] <= 8
        result = manager.consume(pipeline, "me")
        assert result is not None
        assert result.frames[0]["frame_id"] > 8

    @pytest.mark.parametrize(
        ("made", "error", "words"),
        [
            (request("gone"), VideoSourceError, "not there"),
            (request("/etc/passwd"), VideoSourceError, "does not let clients read its files"),
            (request(*["short"] * 5), VideoOptionError, "1 to 4 sources"),
            (request(results=9), VideoOptionError, "1 to 8 results"),
            (request(results=0), VideoOptionError, "1 to 8 results"),
            (request(consumption_timeout=0), VideoOptionError, "must be above 0"),
            (request(definition={"version": "1.0"}), WorkflowCompilerError, "inputs"),
            (request(options={"max_fps": -1}), VideoOptionError, "max_fps"),
            (request(options={"image_input_name": "x"}), VideoOptionError, "image input 'x'"),
        ],
    )
    def test_what_cannot_run_leaves_nothing_behind(
        self, manager: PipelineManager, made: PipelineRequest, error: type[Exception], words: str
    ) -> None:
        """The error is raised, the place is free again, no thread is left."""
        for _ in range(4):
            with pytest.raises(error, match=words):
                manager.initialise(made, "me")
        assert manager.ids("me") == []
        assert video_threads() == []
        assert manager.initialise(request(), "me")

    def test_the_number_of_pipelines_is_limited(self, manager: PipelineManager) -> None:
        """Two for one owner, three for all; ended ones do not count."""
        first = [manager.initialise(request("endless"), "me") for _ in range(2)]
        with pytest.raises(TooManyPipelinesError, match="You run 2 pipelines"):
            manager.initialise(request(), "me")
        other = manager.initialise(request("endless"), "you")
        with pytest.raises(TooManyPipelinesError, match="This server runs 3"):
            manager.initialise(request(), "you")
        manager.terminate(other, "you")
        wait_for(lambda: len([name for name in video_threads() if "pipeline" in name]) == 2)
        assert manager.initialise(request(), "you")
        assert manager.ids("me") == first

    def test_ended_pipelines_make_room(self, manager: PipelineManager) -> None:
        """Their results can be fetched until their owner starts more than he may run."""
        made = []
        for _ in range(5):
            made.append(manager.initialise(request(), "me"))
            wait_for(lambda: manager.status(made[-1], "me")["state"] == "ended")
        assert manager.ids("me") == made[-2:]

    def test_an_error_of_the_workflow_is_in_the_status(self, manager: PipelineManager) -> None:
        """Which step, which frame; the pipeline stays to be asked."""
        pipeline = manager.initialise(request(definition=broken_workflow()), "me")
        wait_for(lambda: manager.status(pipeline, "me")["state"] == "failed")
        assert "expects text" in manager.status(pipeline, "me")["error"]


class TestOwners:
    def test_nobody_sees_the_pipelines_of_others(self, manager: PipelineManager) -> None:
        """The same answer as for an id that was never given out."""
        pipeline = manager.initialise(request("endless"), "me")
        assert manager.ids("you") == []
        for call in (manager.status, manager.pause, manager.resume, manager.consume,
                     manager.terminate):  # fmt: skip
            with pytest.raises(PipelineNotFoundError) as caught:
                call(pipeline, "you")
            assert str(caught.value) == f"There is no pipeline '{pipeline}'."
        assert manager.status(pipeline, "me")["state"] == "running"


class TestPause:
    def test_a_paused_pipeline_stands_still(self, manager: PipelineManager) -> None:
        """No new results until it is resumed."""
        pipeline = manager.initialise(request("endless"), "me")
        manager.pause(pipeline, "me")
        assert manager.status(pipeline, "me")["state"] == "paused"
        time.sleep(0.1)
        before = manager.status(pipeline, "me")["results"]
        time.sleep(0.1)
        assert manager.status(pipeline, "me")["results"] == before
        manager.resume(pipeline, "me")
        wait_for(lambda: manager.status(pipeline, "me")["results"] > before)


class TestTerminate:
    def test_a_terminated_pipeline_is_gone(self, manager: PipelineManager) -> None:
        """Its threads end, its id is unknown."""
        pipeline = manager.initialise(request("endless"), "me")
        manager.terminate(pipeline, "me")
        assert manager.ids("me") == []
        with pytest.raises(PipelineNotFoundError):
            manager.terminate(pipeline, "me")
        wait_for(lambda: video_threads() == [])

    def test_nobody_fetching_ends_a_pipeline(self, manager: PipelineManager) -> None:
        """After the time that was asked for; fetching puts it off."""
        pipeline = manager.initialise(request("endless", consumption_timeout=0.4), "me")
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            manager.consume(pipeline, "me")
            time.sleep(0.02)
        assert manager.status(pipeline, "me")["state"] == "running"
        wait_for(lambda: manager.status(pipeline, "me")["state"] == "ended")


class TestClose:
    def test_everything_ends_and_nothing_starts_any_more(self, manager: PipelineManager) -> None:
        """All threads of all owners."""
        manager.initialise(request("endless"), "me")
        manager.terminate(manager.initialise(request("endless"), "me"), "me")
        manager.initialise(request("endless"), "you")
        manager.close()
        assert video_threads() == []
        with pytest.raises(TooManyPipelinesError, match="being stopped"):
            manager.initialise(request(), "me")


class TestResultBuffer:
    def test_bytes_are_limited_too(self) -> None:
        """The oldest go; one result alone is kept however large it is."""
        buffer = ResultBuffer(100, 50, encode)
        for number in range(5):
            buffer.put([{"x": "y" * 18, "n": number}], [{"frame_id": number}])  # 21 bytes
        assert len(buffer) == 2
        assert buffer.dropped == 3
        buffer.put([{"x": "y" * 500}], [{"frame_id": 5}])
        assert len(buffer) == 1
        kept = buffer.take()
        assert kept is not None
        assert kept.frames == [{"frame_id": 5}]
        assert buffer.take() is None

    def test_sources_without_a_frame_have_no_row(self) -> None:
        """None stays None."""
        buffer = ResultBuffer(2, 50, encode)
        buffer.put([None, {"a": 1, "b": 2}], [])
        kept = buffer.take({"b"})
        assert kept is not None
        assert kept.rows == [None, {"a": b"1"}]
