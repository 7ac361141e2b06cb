"""Routes of pipelines over videos."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

fastapi = pytest.importorskip("fastapi")

from fastapi.testclient import TestClient  # noqa: E402

from tests.workflows.video.video_files import (  # noqa: E402
    counting_workflow,
    picture,
    video_threads,
    write_video,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a short video and one that takes a while."""
    made = tmp_path / "videos"
    made.mkdir()
    write_video(made / "short.mp4", [picture(n) for n in range(4)])
    write_video(made / "long.mp4", [picture(n % 16) for n in range(400)])
    return made


@pytest.fixture
def video_client(make_app: Callable[..., Any], folder: Path) -> Iterator[TestClient]:
    """A client of a server that lets pipelines read the folder; no thread outlives it."""
    with TestClient(make_app(max_concurrency=2, video_folders=(folder,))) as made:
        yield made
    assert video_threads() == []


def body(reference: Any = "short.mp4", **more: Any) -> dict[str, Any]:
    """What clients send to start a pipeline."""
    processing = {
        "type": "WorkflowConfiguration",
        "workflow_specification": counting_workflow(),
        "workspace_name": None,
        "workflow_id": None,
        "image_input_name": "image",
        "workflows_parameters": None,
        "workflows_thread_pool_workers": 4,
        "cancel_thread_pool_tasks_on_exit": True,
        "video_metadata_input_name": "video_metadata",
        **more.pop("processing", {}),
    }
    return {
        "video_configuration": {
            "type": "VideoConfiguration",
            "video_reference": reference,
            "max_fps": None,
            "source_buffer_filling_strategy": "WAIT",
            "source_buffer_consumption_strategy": "LAZY",
            "video_source_properties": None,
            "batch_collection_timeout": None,
            **more.pop("video", {}),
        },
        "processing_configuration": processing,
        "sink_configuration": {"type": "MemorySinkConfiguration", "results_buffer_size": 16},
        "consumption_timeout": None,
        **more,
    }


def start(client: TestClient, **more: Any) -> str:
    """Starts a pipeline and gives its id."""
    answer = client.post("/inference_pipelines/initialise", json=body(**more))
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "success"
    assert answer.json()["context"]["request_id"]
    return str(answer.json()["context"]["pipeline_id"])


def wait_for_state(client: TestClient, pipeline: str, state: str) -> dict[str, Any]:
    """The report when the pipeline is in a state."""
    end = time.monotonic() + 30
    while True:
        answer = client.get(f"/inference_pipelines/{pipeline}/status")
        report: dict[str, Any] = answer.json()["report"]
        if report["state"] == state:
            return report
        assert time.monotonic() < end, report
        time.sleep(0.01)


class TestRoutes:
    def test_a_pipeline_from_start_to_end(self, video_client: TestClient) -> None:
        """Start, list, status, fetch each result, terminate."""
        pipeline = start(video_client)
        listed = video_client.get("/inference_pipelines/list").json()
        assert listed["pipelines"] == [pipeline]
        report = wait_for_state(video_client, pipeline, "ended")
        assert report["results"] == 4
        counts = []
        while True:
            # Clients send a body with a GET.
            answer = video_client.request(
                "GET",
                f"/inference_pipelines/{pipeline}/consume",
                json={"excluded_fields": ["picture"], "api_key": None},
            ).json()
            assert answer["status"] == "success"
            if not answer["outputs"]:
                assert answer["frames_metadata"] == []
                break
            [output], [place] = answer["outputs"], answer["frames_metadata"]
            assert set(output) == {"count"}
            assert set(place) == {"frame_timestamp", "frame_id", "source_id"}
            counts.append((place["frame_id"], output["count"]))
        assert counts == [(1, 0), (2, 1), (3, 2), (4, 3)]
        answer = video_client.post(f"/inference_pipelines/{pipeline}/terminate", json={})
        assert answer.json()["context"]["pipeline_id"] == pipeline
        assert video_client.get("/inference_pipelines/list").json()["pipelines"] == []

    def test_pictures_come_as_base64(self, video_client: TestClient) -> None:
        """Without a body nothing is left out."""
        pipeline = start(video_client)
        wait_for_state(video_client, pipeline, "ended")
        answer = video_client.get(f"/inference_pipelines/{pipeline}/consume").json()
        assert answer["outputs"][0]["picture"]["type"] == "base64"

    def test_a_pipeline_can_be_held(self, video_client: TestClient) -> None:
        """Paused, resumed, and everything arrives."""
        pipeline = start(video_client, reference="long.mp4")
        for verb, state in (("pause", "paused"), ("resume", "running")):
            answer = video_client.post(f"/inference_pipelines/{pipeline}/{verb}")
            assert answer.status_code == 200
            report = video_client.get(f"/inference_pipelines/{pipeline}/status").json()["report"]
            assert report["state"] == state or (state == "running" and report["state"] == "ended")
        assert wait_for_state(video_client, pipeline, "ended")["results"] == 400

    def test_several_sources(self, video_client: TestClient) -> None:
        """An output for each, null where one has ended."""
        pipeline = start(video_client, reference=["short.mp4", "long.mp4"])
        wait_for_state(video_client, pipeline, "ended")
        answer = video_client.get(f"/inference_pipelines/{pipeline}/consume").json()
        assert answer["outputs"][0] is None
        assert answer["outputs"][1]["count"] is not None

    @pytest.mark.parametrize(
        ("more", "status", "words"),
        [
            ({"reference": "missing.mp4"}, 400, "no such video"),
            ({"reference": "../x.mp4"}, 400, "no such video"),
            ({"reference": 0}, 400, "does not let clients use its cameras"),
            ({"reference": "rtsp://10.0.0.1/x"}, 400, "operator names"),
            ({"reference": "http://127.0.0.1/x.mp4"}, 400, "does not fetch videos"),
            ({"reference": []}, 400, "1 to 4 sources"),
            ({"video": {"max_fps": 0}}, 400, "max_fps must be above 0"),
            ({"video": {"quality": 1}}, 400, "video_configuration.*quality"),
            ({"video": {"source_buffer_filling_strategy": "X"}}, 400, "WAIT, DROP_OLDEST"),
            ({"processing": {"image_input_name": "x"}}, 400, "image input 'x'"),
            ({"processing": {"workflow_specification": None}}, 400, "workspace_name and"),
            ({"processing": {"workflow_id": "a"}}, 400, "give one"),
            ({"processing": {"workflow_version_id": "1"}}, 400, "no versions here"),
            (
                {"processing": {"workflow_specification": None, "workflow_id": "a",
                                "workspace_name": "w"}}, 404, "no folder of workflows",
            ),
            ({"processing": {"workflow_specification": {"version": "1.0"}}}, 400, "inputs"),
            ({"sink_configuration": {"results_buffer_size": 65}}, 400, "1 to 64 results"),
            ({"consumption_timeout": -1}, 400, "consumption_timeout"),
            ({"video_configuration": 3}, 400, "video_configuration"),
        ],
    )  # fmt: skip
    def test_what_cannot_run_is_refused(
        self, video_client: TestClient, more: dict[str, Any], status: int, words: str
    ) -> None:
        """With the form of all errors, and no pipeline."""
        import re

        answer = video_client.post("/inference_pipelines/initialise", json=body(**more))
        assert answer.status_code == status, answer.text
        assert re.search(words, answer.json()["message"]), answer.json()
        assert video_client.get("/inference_pipelines/list").json()["pipelines"] == []

    @pytest.mark.parametrize(
        ("method", "verb"),
        [
            ("GET", "status"),
            ("GET", "consume"),
            ("POST", "pause"),
            ("POST", "resume"),
            ("POST", "terminate"),
        ],
    )
    def test_an_unknown_pipeline_is_not_found(
        self, video_client: TestClient, method: str, verb: str
    ) -> None:
        """404, by the id that was asked for."""
        answer = video_client.request(method, f"/inference_pipelines/nobody/{verb}")
        assert answer.status_code == 404
        assert answer.json()["message"] == "There is no pipeline 'nobody'."
        assert answer.json()["error_type"] == "PipelineNotFoundError"

    def test_more_than_may_run_are_refused_for_now(
        self, make_app: Callable[..., Any], folder: Path
    ) -> None:
        """429 when the client runs as many as it may."""
        app = make_app(max_concurrency=2, video_folders=(folder,), max_pipelines_per_key=1)
        with TestClient(app) as client:
            pipeline = start(client, reference="long.mp4")
            client.post(f"/inference_pipelines/{pipeline}/pause")
            answer = client.post("/inference_pipelines/initialise", json=body())
            assert answer.status_code == 429
        assert video_threads() == []

    def test_webrtc_is_named_as_not_built(self, video_client: TestClient) -> None:
        """501 for each of its routes."""
        for path in ("/inference_pipelines/initialise_webrtc", "/initialise_webrtc_worker"):
            answer = video_client.post(path, json={})
            assert answer.status_code == 501
            assert path in answer.json()["message"]

    def test_stored_workflows_run_too(
        self, make_app: Callable[..., Any], folder: Path, tmp_path: Path
    ) -> None:
        """By workspace and id."""
        stored = tmp_path / "workflows"
        stored.mkdir()
        (stored / "count.json").write_text(json.dumps(counting_workflow()))
        named = {"workflow_specification": None, "workspace_name": "w", "workflow_id": "count"}
        app = make_app(max_concurrency=2, video_folders=(folder,), workflows=stored)
        with TestClient(app) as client:
            pipeline = start(client, processing=named)
            assert wait_for_state(client, pipeline, "ended")["results"] == 4

    def test_everything_ends_with_the_server(
        self, make_app: Callable[..., Any], folder: Path
    ) -> None:
        """A pipeline that nobody terminates does not outlive the server."""
        with TestClient(make_app(max_concurrency=2, video_folders=(folder,))) as client:
            pipeline = start(client, reference="long.mp4")
            client.post(f"/inference_pipelines/{pipeline}/pause")
            assert video_threads() != []
        assert video_threads() == []


class TestOwnership:
    def test_keys_see_their_own_pipelines_only(
        self, make_app: Callable[..., Any], folder: Path, tmp_path: Path
    ) -> None:
        """A key can neither list, read nor end what another one started."""
        from workflows.server.security.key_file import add_key
        from workflows.server.security.keys import new_key

        file = tmp_path / "keys.json"
        secrets = []
        for name in ("one", "two"):
            secret, key = new_key(name, (), True)
            add_key(file, key)
            secrets.append(secret)
        app = make_app(max_concurrency=2, video_folders=(folder,), api_keys=file)
        with TestClient(app) as client:
            headers = [{"Authorization": f"Bearer {secret}"} for secret in secrets]
            answer = client.post(
                "/inference_pipelines/initialise", json=body("long.mp4"), headers=headers[0]
            )
            assert answer.status_code == 200, answer.text
            pipeline = answer.json()["context"]["pipeline_id"]
            path = f"/inference_pipelines/{pipeline}"
            assert client.get("/inference_pipelines/list").status_code == 401
            own, other = (
                client.get("/inference_pipelines/list", headers=one).json()["pipelines"]
                for one in headers
            )
            assert (own, other) == ([pipeline], [])
            assert client.get(f"{path}/status", headers=headers[1]).status_code == 404
            assert client.post(f"{path}/terminate", headers=headers[1]).status_code == 404
            # Clients of this interface send the key in the body.
            answer = client.post(f"{path}/terminate", json={"api_key": secrets[0]})
            assert answer.status_code == 200
        assert video_threads() == []
