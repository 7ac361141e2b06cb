"""POST /workflows/run and the route for stored workflows: what goes in and what comes out."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastapi.testclient import TestClient

from execution_engine.images.image_data import WorkflowImageData
from workflows import run_locally


class TestRunSpecification:
    def test_answers_as_the_engine_does(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """The outputs are those of a run in this process."""
        for count in (0, 1, 5):
            answer = client.post("/workflows/run", json=run_body(coins, discs(count)))
            assert answer.status_code == 200
            (row,) = answer.json()["outputs"]
            (expected,) = run_locally(coins, {"image": discs(count)}, serialize=True)
            assert row["n"] == expected["n"] == count
            assert row["im"]["value"] == expected["im"]["value"]

    def test_sends_pictures_as_base64_jpeg(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """An image output is an object with type, value and video metadata."""
        answer = client.post("/workflows/run", json=run_body(coins, discs(2)))
        picture = answer.json()["outputs"][0]["im"]
        assert picture["type"] == "base64"
        pixels = cv2.imdecode(
            np.frombuffer(base64.b64decode(picture["value"]), np.uint8), cv2.IMREAD_COLOR
        )
        assert pixels.shape == (120, 400, 3)

    def test_serialises_no_excluded_output(
        self,
        client: TestClient,
        coins: Any,
        discs: Any,
        run_body: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An excluded image is never encoded; names that are no output change nothing."""

        def refuse(image: WorkflowImageData) -> str:
            raise AssertionError("it was encoded")

        monkeypatch.setattr(WorkflowImageData, "base64_image", property(refuse))
        body = run_body(coins, discs(3), excluded_fields=["im", "no_such_output"])
        answer = client.post("/workflows/run", json=body)
        assert answer.json()["outputs"] == [{"n": 3}]
        assert client.post("/workflows/run", json=run_body(coins, discs(3))).status_code == 500

    def test_keeps_the_rows_when_batch_outputs_are_excluded(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """Two images give two rows, also when nothing of them is left."""
        body = run_body(coins, discs(1), excluded_fields=["n", "im"])
        body["inputs"]["image"] = [{"type": "base64", "value": discs(n)} for n in (1, 2)]
        assert client.post("/workflows/run", json=body).json()["outputs"] == [{}, {}]

    def test_leaves_out_members_that_were_not_asked_for(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """The trace of a run comes only with `enable_profiling`."""
        plain = client.post("/workflows/run", json=run_body(coins, discs(1))).json()
        assert list(plain) == ["outputs"]
        body = run_body(coins, discs(1), enable_profiling=True, is_preview=True)
        traced = client.post("/workflows/run", json=body).json()
        steps = [
            event["args"]["step"]
            for event in traced["profiler_trace"]
            if event["name"] == "step_execution"
        ]
        assert steps == ["g", "t", "c"]
        assert any(
            event.get("args", {}).get("is_preview") is True for event in traced["profiler_trace"]
        )

    def test_takes_what_clients_of_other_servers_send(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """Members the route has no use for are left alone; the older path answers the same."""
        body = run_body(coins, discs(2), api_key="k", use_cache=True, source="sdk", debug=True)
        for path in ("/workflows/run", "/infer/workflows"):
            assert client.post(path, json=body).json()["outputs"][0]["n"] == 2

    def test_compiles_a_workflow_once(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """All requests share one plan."""
        for count in (1, 2, 3):
            client.post("/workflows/run", json=run_body(coins, discs(count)))
        plans = client.app.state.host.session.plans  # type: ignore[attr-defined]
        assert (plans.misses, plans.hits) == (1, 2)

    def test_keeps_nulls_inside_outputs(self, client: TestClient, jpeg: str, run_body: Any) -> None:
        """Only top-level members are left out when they are null."""
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "nothing"},
            ],
            "steps": [],
            "outputs": [{"type": "JsonField", "name": "n", "selector": "$inputs.nothing"}],
        }
        answer = client.post("/workflows/run", json=run_body(definition, jpeg))
        assert answer.json()["outputs"] == [{"n": None}]

    def test_refuses_dispatch_from_other_servers(
        self, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """What is not built says so, with 501."""
        body = run_body(coins, discs(1), inner_workflow_dispatch_depth=1)
        answer = client.post("/workflows/run", json=body)
        assert answer.status_code == 501
        assert answer.json()["error_type"] == "NotBuiltError"


class TestDisableSinks:
    def test_keeps_steps_from_writing(
        self, make_app: Any, jpeg: str, run_body: Any, tmp_path: Path, monkeypatch: Any
    ) -> None:
        """With `disable_sinks` a sink does nothing although the host lets it write."""
        monkeypatch.setenv("WEFTLENS_ALLOW_ACCESS_TO_FILE_SYSTEM", "true")
        monkeypatch.setenv("WEFTLENS_ALLOWED_WRITE_DIRECTORY", str(tmp_path))
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "text"},
            ],
            "steps": [
                {
                    "type": "roboflow_core/local_file_sink@v1",
                    "name": "sink",
                    "content": "$inputs.text",
                    "file_type": "txt",
                    "output_mode": "separate_files",
                    "target_directory": str(tmp_path),
                    "file_name_prefix": "note",
                }
            ],
            "outputs": [{"type": "JsonField", "name": "out", "selector": "$steps.sink.*"}],
        }
        body = run_body(definition, jpeg, inputs={"text": "hello"}, disable_sinks=True)
        with TestClient(make_app()) as client:
            assert client.post("/workflows/run", json=body).status_code == 200
            assert list(tmp_path.iterdir()) == []
            body["disable_sinks"] = False
            answer = client.post("/workflows/run", json=body)
            assert answer.status_code == 200, answer.text
            assert len(list(tmp_path.iterdir())) == 1


class TestRunStored:
    @pytest.fixture
    def stored(self, make_app: Any, tmp_path: Path, coins: Any) -> Any:
        """A client of a server with `shop/count` and `everywhere`."""
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "count.json").write_text(json.dumps(coins), encoding="utf-8")
        (tmp_path / "everywhere.json").write_text(json.dumps(coins), encoding="utf-8")
        with TestClient(make_app(workflows=tmp_path)) as client:
            yield client

    def test_runs_by_workspace_and_id(self, stored: TestClient, discs: Any) -> None:
        """Both paths find it; a workflow at the top of the folder serves any workspace."""
        body = {"inputs": {"image": {"type": "base64", "value": discs(4)}}, "use_cache": True}
        for path in (
            "/shop/workflows/count",
            "/infer/workflows/shop/count",
            "/any/workflows/everywhere",
        ):
            answer = stored.post(path, json=body)
            assert answer.status_code == 200, answer.text
            assert answer.json()["outputs"][0]["n"] == 4

    def test_names_what_is_not_there(self, stored: TestClient) -> None:
        """404 with the id; not the folder."""
        answer = stored.post("/shop/workflows/missing", json={"inputs": {}})
        assert answer.status_code == 404
        assert answer.json()["message"] == "There is no workflow 'missing' in workspace 'shop'."

    def test_has_no_versions(self, stored: TestClient) -> None:
        """A version that is asked for cannot be served."""
        body = {"inputs": {}, "workflow_version_id": "7"}
        answer = stored.post("/shop/workflows/count", json=body)
        assert answer.status_code == 400
        assert "workflow_version_id is '7'" in answer.json()["message"]

    def test_describes_without_a_body(self, stored: TestClient) -> None:
        """The describe routes of stored workflows take an empty body."""
        interface = stored.post("/shop/workflows/count/describe_interface").json()
        assert interface["inputs"] == {"image": ["image"]}
        workload = stored.post("/shop/workflows/count/describe_workload", json={}).json()
        assert list(workload["steps"]) == ["g", "t", "c"]

    def test_says_that_there_is_no_folder(self, client: TestClient) -> None:
        """A server without stored workflows has none of any name."""
        answer = client.post("/shop/workflows/count", json={"inputs": {}})
        assert answer.status_code == 404
        assert "no folder of workflows" in answer.json()["message"]
