"""Request ids, log lines, metrics and probes."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from workflows.server.observability.json_log import LOGGER_NAMES, log_as_json


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server logs, as text; the loggers are put back afterwards."""
    before = {
        name: (
            logging.getLogger(name).handlers,
            logging.getLogger(name).level,
            logging.getLogger(name).propagate,
        )
        for name in LOGGER_NAMES
    }
    stream = io.StringIO()
    log_as_json("info", stream)
    yield stream
    for name, (handlers, level, propagate) in before.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def _lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


class TestRequestId:
    def test_is_given_back(self, client: TestClient) -> None:
        """The client's id comes back in header and error body."""
        answer = client.post("/workflows/run", content=b"{", headers={"X-Request-Id": "abc-1"})
        assert answer.headers["X-Request-Id"] == "abc-1"
        assert answer.json()["request_id"] == "abc-1"

    @pytest.mark.parametrize("given", ["", "a b", "x" * 200, "<script>"])
    def test_is_made_when_it_is_no_word(self, client: TestClient, given: str) -> None:
        """Anything that could break a log line is replaced."""
        made = client.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"]
        assert re.fullmatch(r"[0-9a-f]{32}", made)

    def test_is_on_every_error(self, client: TestClient) -> None:
        """Also where the framework or the layer in front of the routes refuses."""
        for answer in (
            client.get("/no/such/route"),
            client.get("/workflows/run"),
            client.post("/workflows/run", content=b"[", headers={"Content-Encoding": "gzip"}),
            client.get("/workflows/blocks/describe?air_gapped=maybe"),
        ):
            assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
            assert set(answer.json()) >= {"message", "error_type", "context"}


class TestLog:
    def test_has_one_line_a_request(
        self, log: io.StringIO, client: TestClient, coins: Any, discs: Any, run_body: Any
    ) -> None:
        """Method, path, status, times and id; nothing of the query."""
        client.post(
            "/workflows/run?api_key=very-secret-key",
            json=run_body(coins, discs(1)),
            headers={"X-Request-Id": "one"},
        )
        (line,) = [line for line in _lines(log) if line.get("request_id") == "one"]
        assert (line["method"], line["path"], line["status"]) == ("POST", "/workflows/run", 200)
        assert line["ms"] >= line["work_ms"] > 0
        assert "very-secret-key" not in log.getvalue()

    def test_has_the_cause_of_a_failure(
        self, log: io.StringIO, client: TestClient, failing: Any, jpeg: str, run_body: Any
    ) -> None:
        """A 500 is logged with its traceback under its id."""
        client.post("/workflows/run", json=run_body(failing, jpeg), headers={"X-Request-Id": "two"})
        failure, access = [line for line in _lines(log) if line.get("request_id") == "two"]
        assert failure["level"] == "error"
        assert "ValueError: this block always fails" in failure["traceback"]
        assert access["error"] == "StepExecutionError"

    def test_shows_no_secret(
        self, log: io.StringIO, client: TestClient, failing: Any, jpeg: str, run_body: Any
    ) -> None:
        """Neither the API key nor a secret input is in a log line or an error body."""
        failing["inputs"].append(
            {"type": "WorkflowParameter", "name": "password", "kind": ["secret"]}
        )
        failing["steps"][0]["secret"] = "$inputs.password"
        body = run_body(
            failing, jpeg, inputs={"password": "hunter2-hunter2"}, api_key="my-api-key-77"
        )
        answer = client.post("/workflows/run", json=body)
        assert answer.status_code == 500
        for text in (answer.text, log.getvalue()):
            assert "hunter2" not in text
            assert "my-api-key-77" not in text

    def test_says_nothing_of_probes(self, log: io.StringIO, client: TestClient) -> None:
        """Probes come all the time."""
        client.get("/healthz")
        client.get("/metrics")
        assert [line for line in _lines(log) if line["message"] == "request"] == []


class TestMetrics:
    def test_counts_requests_steps_and_models(
        self, client: TestClient, coins: Any, failing: Any, discs: Any, run_body: Any
    ) -> None:
        """Requests by route and status, steps by block, models by id."""
        client.post("/workflows/run", json=run_body(coins, discs(1)))
        client.post("/workflows/run", json=run_body(failing, discs(1)))
        client.post(
            "/infer/instance_segmentation",
            json={"model_id": "parts-seg/1", "image": {"type": "base64", "value": discs(1)}},
        )
        text = client.get("/metrics").text
        for line in (
            'weftlens_requests_total{method="POST",route="/workflows/run",status="200"} 1.0',
            'weftlens_requests_total{method="POST",route="/workflows/run",status="500"} 1.0',
            'weftlens_step_seconds_count{block="roboflow_core/threshold@v1"} 1.0',
            'weftlens_step_failures_total{block="test/fail@v1"} 1.0',
            'weftlens_workflow_runs_total{outcome="ok"} 1.0',
            'weftlens_workflow_runs_total{outcome="failed"} 1.0',
            'weftlens_model_seconds_count{model="parts-seg/1"} 1.0',
            'weftlens_model_call_images_sum{model="parts-seg/1"} 1.0',
            "weftlens_queue_seconds_count 3.0",
            "weftlens_workers 2.0",
        ):
            assert line in text

    def test_gives_paths_no_labels_of_their_own(self, client: TestClient) -> None:
        """A client cannot make labels by asking for many paths."""
        for name in ("x", "y"):
            client.get(f"/{name}/{name}/{name}")
            client.post(f"/{name}/workflows/{name}", json={})
        text = client.get("/metrics").text
        assert 'route="(no route)"' in text
        assert 'route="/{workspace}/workflows/{workflow_id}"' in text
        assert "/x" not in text

    @pytest.mark.parametrize(
        ("method", "path", "route"),
        [
            ("POST", "/workflows/run", "/workflows/run"),
            ("POST", "/shop/workflows/count", "/{workspace}/workflows/{workflow_id}"),
            ("POST", "/infer/object_detection", "/infer/object_detection"),
            ("PUT", "/workflows/run", "/workflows/run"),
            ("POST", "/no/such/route/here", "(no route)"),
        ],
    )
    def test_counts_what_is_refused_before_routing(
        self, client: TestClient, method: str, path: str, route: str
    ) -> None:
        """A body that is no JSON counts under the route that its path belongs to."""
        headers = {"content-type": "application/json"}
        assert client.request(method, path, content=b"{", headers=headers).status_code == 400
        counted = f'weftlens_requests_total{{method="{method}",route="{route}",status="400"}} 1.0'
        text = client.get("/metrics").text
        assert counted in text
        assert text.count('status="400"') == 2  # the counter, and when it was made

    def test_belongs_to_one_application(self, make_app: Any) -> None:
        """Two applications in one process count apart."""
        with TestClient(make_app()) as one, TestClient(make_app()) as two:
            one.get("/info")
            assert 'route="/info"' in one.get("/metrics").text
            assert 'route="/info"' not in two.get("/metrics").text

    def test_may_be_off(self, make_app: Any) -> None:
        """`metrics=False` takes the route away."""
        with TestClient(make_app(metrics=False)) as client:
            assert client.get("/metrics").status_code == 404


class TestReadyz:
    def test_waits_for_models(self, make_app: Any, until: Any) -> None:
        """Ready when the models to warm are in memory."""
        app = make_app(warm_up=("parts-seg/1",))
        with TestClient(app) as client:
            until(lambda: client.get("/readyz").status_code == 200)
            assert app.state.host.session.model_manager.list_models()[0].loaded

    def test_says_which_model_is_missing(self, make_app: Any, until: Any) -> None:
        """A model that does not load keeps the server from being ready; it serves all the same."""
        app = make_app(warm_up=("nobody/1",))
        with TestClient(app) as client:
            until(lambda: "nobody/1" in client.get("/readyz").text)
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200


class TestProbes:
    @pytest.mark.parametrize("path", ["/healthz", "/readyz"])
    def test_head(self, client: TestClient, path: str) -> None:
        """Load balancers that ask for the head alone get the status of the whole."""
        assert client.head(path).status_code == client.get(path).status_code


class TestModelMetrics:
    def test_count_batches_of_the_network(self, make_app: Any, discs: Any) -> None:
        """With dynamic batching, runs of the network are counted by their size."""
        with TestClient(make_app(dynamic_batching=True, dynamic_batch_size=4)) as client:
            image = {"type": "base64", "value": discs(1)}
            body = {"model_id": "parts-seg/1", "image": [image] * 3}
            assert client.post("/infer/instance_segmentation", json=body).status_code == 200
            text = client.get("/metrics").text
        assert 'weftlens_model_forwards_total{images="3",model="parts-seg/1"} 1.0' in text
        assert 'weftlens_model_bytes{model="parts-seg/1"}' in text
        assert 'weftlens_model_waiting{model="parts-seg/1"} 0.0' in text
