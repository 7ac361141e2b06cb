"""What goes wrong while serving: each fault gets a clear answer, and nothing hangs or is lost."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import struct
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from inference_models.shipped import shipped_models


def _post(url: str, body: dict[str, Any]) -> httpx.Response:
    with httpx.Client(timeout=60, trust_env=False) as client:
        return client.post(f"{url}/workflows/run", json=body)


def _send_raw(address: tuple[str, int], body: dict[str, Any]) -> socket.socket:
    """An open connection over which a run was asked for and nothing read."""
    content = json.dumps(body).encode()
    connection = socket.create_connection(address, timeout=60)
    connection.sendall(
        b"POST /workflows/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + f"Content-Length: {len(content)}\r\n\r\n".encode()
        + content
    )
    return connection


class TestClientGone:
    def test_stops_a_run_before_its_next_step(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, until: Any
    ) -> None:
        """When the client leaves, the step under way ends and the next one never begins."""
        with live() as server:
            connection = _send_raw(server.address, run_body(holding, jpeg, inputs={"tag": "x"}))
            gate.wait_for(1)
            connection.close()
            until(lambda: server.host.admission.abandoned == 1)
            gate.open.set()
            until(lambda: server.host.admission.running == 0)
            assert gate.started == ["x"]  # step c never ran

    def test_takes_a_waiting_request_out_of_the_queue(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, until: Any
    ) -> None:
        """A request whose client left while it waited is never begun."""
        with live(max_concurrency=1) as server:
            first = _send_raw(server.address, run_body(holding, jpeg, inputs={"tag": "first"}))
            gate.wait_for(1)
            second = _send_raw(server.address, run_body(holding, jpeg, inputs={"tag": "second"}))
            until(lambda: server.host.admission.queued == 1)
            second.close()
            until(lambda: server.host.admission.queued == 0)
            gate.open.set()
            assert first.recv(12) == b"HTTP/1.1 200"
            first.close()
            assert "second" not in gate.started


class TestFullQueue:
    def test_turns_away_with_a_time_to_come_back(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any, until: Any
    ) -> None:
        """429 with Retry-After when no more may wait; those inside are all served."""
        with live(max_concurrency=1, max_queue=2) as server, ThreadPoolExecutor(3) as pool:
            inside = [pool.submit(_post, server.url, run_body(holding, jpeg)) for _ in range(3)]
            gate.wait_for(1)
            until(lambda: server.host.admission.queued == 2)
            refused = http.post(f"{server.url}/workflows/run", json=run_body(holding, jpeg))
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) >= 1
            assert refused.json()["error_type"] == "QueueFullError"
            assert "2 requests are waiting" in refused.json()["message"]
            gate.open.set()
            assert [one.result().status_code for one in inside] == [200, 200, 200]

    def test_counts_bytes_too(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any, until: Any
    ) -> None:
        """Large bodies fill the queue before their number does."""
        body = run_body(holding, jpeg)
        with (
            live(max_concurrency=1, max_queued_bytes=2 * len(json.dumps(body)) + 100) as server,
            ThreadPoolExecutor(2) as pool,
        ):
            inside = [pool.submit(_post, server.url, body) for _ in range(2)]
            gate.wait_for(1)
            until(lambda: server.host.admission.queued == 1)
            refused = http.post(f"{server.url}/workflows/run", json=body)
            assert refused.status_code == 429
            assert "bytes" in refused.json()["message"]
            gate.open.set()
            assert [one.result().status_code for one in inside] == [200, 200]

    def test_answers_probes_all_the_same(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any
    ) -> None:
        """Health and metrics need no worker."""
        with live(max_concurrency=1) as server, ThreadPoolExecutor(1) as pool:
            inside = pool.submit(_post, server.url, run_body(holding, jpeg))
            gate.wait_for(1)
            assert http.get(f"{server.url}/healthz").json() == {"status": "ok"}
            assert http.get(f"{server.url}/readyz").status_code == 200
            assert "weftlens_workers_busy 1.0" in http.get(f"{server.url}/metrics").text
            gate.open.set()
            assert inside.result().status_code == 200


def _png_header(width: int, height: int) -> str:
    """A PNG of that size, cut off after its header, as base64."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header
    content += struct.pack(">I", zlib.crc32(header))
    return base64.b64encode(content + b"\x00\x00\x00\x00IDAT").decode()


class TestBadImages:
    @pytest.mark.parametrize(
        ("image", "words"),
        [
            pytest.param(_png_header(20_000, 20_000), "20000x20000 px", id="huge header"),
            pytest.param(base64.b64encode(b"no picture at all").decode(), "no image", id="corrupt"),
            pytest.param("/9j/4AAQSkZJRgAB*", "not base64", id="no base64"),
            pytest.param("", "no image of a known format", id="empty"),
            pytest.param("http://127.0.0.1/x.jpg", "does not permit", id="address"),
            pytest.param("/etc/passwd", "`image`", id="path"),
        ],
    )
    def test_says_what_is_wrong(
        self, client: TestClient, coins: Any, run_body: Any, image: str, words: str
    ) -> None:
        """400 that names the input and what came instead of an image."""
        answer = client.post("/workflows/run", json=run_body(coins, image))
        assert answer.status_code == 400, answer.text
        body = answer.json()
        assert body["error_type"] == "RuntimeInputError"
        assert "image" in body["message"]
        assert words in body["message"]

    def test_refuses_a_truncated_picture(
        self, client: TestClient, coins: Any, jpeg: str, run_body: Any
    ) -> None:
        """Base64 that ends in the middle of a group is no base64."""
        answer = client.post("/workflows/run", json=run_body(coins, jpeg[:101]))
        assert answer.status_code == 400
        assert "text of 101 characters that is not base64" in answer.json()["message"]


class TestModelDeletedWhileServing:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A folder of models with a copy of the shipped one."""
        shutil.copytree(shipped_models() / "parts-seg" / "1", tmp_path / "mine" / "7")
        return tmp_path

    def test_serves_from_memory_then_says_that_it_is_gone(
        self, make_app: Any, folder: Path, jpeg: str
    ) -> None:
        """A loaded model goes on; once unloaded, it is an error that names it, not the folder."""
        body = {"model_id": "mine/7", "image": {"type": "base64", "value": jpeg}}
        with TestClient(make_app(models=(folder,))) as client:
            assert client.post("/infer/instance_segmentation", json=body).status_code == 200
            (folder / "mine" / "7" / "weights.onnx").unlink()
            (folder / "mine" / "7" / "weights.safetensors").unlink()
            assert client.post("/infer/instance_segmentation", json=body).status_code == 200
            client.post("/model/remove", json={"model_id": "mine/7"})
            gone = client.post("/infer/instance_segmentation", json=body)
            assert gone.status_code in (404, 500)
            assert "mine/7" in gone.json()["message"]
            assert str(folder) not in gone.text
            shutil.rmtree(folder / "mine")
            missing = client.post("/infer/instance_segmentation", json=body)
            assert missing.status_code == 404
            assert missing.json()["error_type"] == "ModelNotFoundError"

    def test_names_the_step_in_a_workflow(
        self, client: TestClient, jpeg: str, run_body: Any
    ) -> None:
        """A model that is not there is the client's doing: 404 that names step and model."""
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/roboflow_instance_segmentation_model@v3",
                    "name": "parts",
                    "images": "$inputs.image",
                    "model_id": "parts-seg/99",
                }
            ],
            "outputs": [{"type": "JsonField", "name": "p", "selector": "$steps.parts.predictions"}],
        }
        answer = client.post("/workflows/run", json=run_body(definition, jpeg))
        assert answer.status_code == 404
        assert answer.json()["error_type"] == "ClientCausedStepExecutionError"
        assert answer.json()["blocks_errors"][0]["block_id"] == "parts"
        assert "parts-seg/99" in answer.json()["message"]


class TestWorkerDies:
    def test_answers_and_replaces_the_worker(
        self, client: TestClient, failing: Any, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """A block that ends its thread fails its own request only, as often as it happens."""
        body = run_body(failing, discs(1), inputs={"tag": "exit"})
        for _ in range(5):  # more often than there are workers
            answer = client.post("/workflows/run", json=body)
            assert answer.status_code == 500
            assert answer.json()["error_type"] == "WorkerDiedError"
            assert "SystemExit" in answer.json()["message"]
        assert (
            client.post("/workflows/run", json=run_body(coins, discs(3))).json()["outputs"][0]["n"]
            == 3
        )


class TestDeadline:
    def test_names_the_step_that_was_running(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any, until: Any
    ) -> None:
        """504 in step 2 of 4: the answer comes at the deadline, although the step still runs."""
        with live(request_timeout=0.7) as server:
            answer = http.post(f"{server.url}/workflows/run", json=run_body(holding, jpeg))
            assert answer.status_code == 504
            body = answer.json()
            assert body["error_type"] == "DeadlineExceededError"
            assert "step 'b' was running" in body["message"]
            assert body["blocks_errors"][0]["block_id"] == "b"
            assert not gate.finished
            gate.open.set()
            until(lambda: server.host.admission.running == 0)
            assert "after" not in gate.started

    def test_counts_the_time_in_the_queue(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any
    ) -> None:
        """A request that never got a worker is given up in time as well, and says so."""
        with live(max_concurrency=1, request_timeout=1.5) as server, ThreadPoolExecutor(1) as pool:
            first = pool.submit(_post, server.url, run_body(holding, jpeg))
            gate.wait_for(1)
            second = http.post(f"{server.url}/workflows/run", json=run_body(holding, jpeg))
            assert second.status_code == 504
            assert "still waiting for a worker" in second.json()["message"]
            assert first.result().status_code == 504

    def test_is_not_ready_while_all_workers_are_held(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, http: Any, until: Any
    ) -> None:
        """A server whose workers are all inside runs that were given up asks for no requests."""
        with live(max_concurrency=1, request_timeout=0.5) as server:
            http.post(f"{server.url}/workflows/run", json=run_body(holding, jpeg))
            probe = http.get(f"{server.url}/readyz")
            assert probe.status_code == 503
            assert "every worker" in probe.json()["reason"]
            gate.open.set()
            until(lambda: http.get(f"{server.url}/readyz").status_code == 200)


class TestShutdown:
    def test_finishes_fifty_requests_in_flight(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, until: Any
    ) -> None:
        """Those that run and those that wait are all answered before the server ends."""
        with live(max_queue=100) as server, ThreadPoolExecutor(50) as pool:
            bodies = [run_body(holding, jpeg, inputs={"tag": str(n)}) for n in range(50)]
            answers = [pool.submit(_post, server.url, body) for body in bodies]
            gate.wait_for(2)
            until(lambda: server.host.admission.queued == 48)
            server.begin_stop()
            until(lambda: server.host.admission.draining)
            gate.open.set()
            server.stop()
            assert [one.result().status_code for one in answers] == [200] * 50
            rows = [one.result().json()["outputs"][0]["tag"] for one in answers]
            assert rows == [str(n) for n in range(50)]

    def test_refuses_the_rest_when_time_is_up(
        self, live: Any, gate: Any, holding: Any, jpeg: str, run_body: Any, until: Any
    ) -> None:
        """After `shutdown_timeout` every request left is answered with 503; none is dropped."""
        with live(max_concurrency=1, shutdown_timeout=0.3) as server, ThreadPoolExecutor(5) as pool:
            answers: list[Future[httpx.Response]] = [
                pool.submit(_post, server.url, run_body(holding, jpeg)) for _ in range(5)
            ]
            gate.wait_for(1)
            until(lambda: server.host.admission.queued == 4)
            server.begin_stop()
            statuses = [one.result().status_code for one in answers]
            messages = {one.result().json()["message"] for one in answers}
            gate.open.set()
            assert statuses == [503] * 5
            assert messages == {
                "The server was stopped before it was begun; try again.",
                "The server was stopped before it was finished; try again.",
            }

    def test_takes_no_new_requests(
        self, make_app: Any, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """While it drains, 503 with Retry-After, and probes say that it is not ready."""
        app = make_app()
        with TestClient(app) as client:
            app.state.host.admission._draining = True
            answer = client.post("/workflows/run", json=run_body(coins, discs(1)))
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
            assert answer.headers["Connection"] == "close"
            assert client.get("/readyz").json()["reason"] == "the server is being stopped"


class TestFailingBlock:
    def test_gives_step_and_place_without_paths_of_the_host(
        self, client: TestClient, failing: Any, jpeg: str, run_body: Any
    ) -> None:
        """500 with the step, its type and a traceback whose files begin at a package."""
        answer = client.post("/workflows/run", json=run_body(failing, jpeg))
        assert answer.status_code == 500
        body = answer.json()
        assert body["error_type"] == "StepExecutionError"
        assert body["message"] == "this block always fails"
        assert body["inner_error_type"] == "ValueError"
        (entry,) = body["blocks_errors"]
        assert (entry["block_id"], entry["block_type"]) == ("bad", "test/fail@v1")
        trace = entry["block_traceback"]["traceback"]
        assert "ValueError: this block always fails" in trace
        assert 'File "execution_engine/executor/step_runner.py"' in trace
        assert 'File "/' not in trace
        assert body["request_id"] == answer.headers["X-Request-Id"]

    def test_keeps_the_traceback_when_told_to(
        self, make_app: Any, failing: Any, jpeg: str, run_body: Any
    ) -> None:
        """`expose_tracebacks=False` leaves the step and the message."""
        with TestClient(make_app(expose_tracebacks=False)) as client:
            answer = client.post("/workflows/run", json=run_body(failing, jpeg))
        assert answer.json()["blocks_errors"][0]["block_traceback"] is None
        assert "Traceback" not in answer.text


class TestManyAtOnce:
    def test_mixes_up_no_answers(self, live: Any, coins: Any, discs: Any, run_body: Any) -> None:
        """Forty requests from eight clients: each gets its own answer."""
        counts = [n % 8 for n in range(40)]
        with live() as server, ThreadPoolExecutor(8) as pool:
            bodies = [run_body(coins, discs(n), excluded_fields=["im"]) for n in counts]
            answers = list(pool.map(lambda body: _post(server.url, body), bodies))
        assert [one.json()["outputs"][0]["n"] for one in answers] == counts

    def test_batches_images_of_several_requests(
        self, live: Any, discs: Any, http: httpx.Client
    ) -> None:
        """With dynamic batching each request gets the answer it gets alone."""
        bodies = [
            {"model_id": "parts-seg/1", "image": {"type": "base64", "value": discs(n)}}
            for n in (1, 3, 6)
        ]
        with (
            live(dynamic_batching=True, max_concurrency=6) as server,
            ThreadPoolExecutor(6) as pool,
        ):
            url = f"{server.url}/infer/instance_segmentation"
            alone = [http.post(url, json=body).json() for body in bodies]
            together = list(pool.map(lambda n: http.post(url, json=bodies[n % 3]), range(18)))
        for number, answer in enumerate(together):
            expected = alone[number % 3]["predictions"]
            rows = answer.json()["predictions"]
            assert len(rows) == len(expected)
            for row, known in zip(rows, expected, strict=True):
                assert row["class"] == known["class"]
                assert row["x"] == pytest.approx(known["x"], abs=1.0)
                assert row["width"] == pytest.approx(known["width"], abs=1.0)
                assert row["confidence"] == pytest.approx(known["confidence"], abs=1e-4)
