"""The published client of the ecosystem runs workflows on our server as it is: both routes, every
form of an image, every way to send a key, repetition, errors.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.models.colour_models import DETECTOR
from tests.examples.people_models import have_people_models
from tests.examples.test_examples import RUNS
from tests.sdk.conftest import COINS, EXAMPLES, Client
from tests.workflows.remote.conftest import FakeServer, Reply, Request
from tests.workflows.remote.live import LiveServer
from tests.workflows.remote.masking import masked
from workflows import Session, run_locally

pytestmark = pytest.mark.sdk

PICTURES = RUNS | ({"people": ["astronaut", "coffee"]} if have_people_models() else {})


def load(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def as_client_gives(rows: Any) -> Any:
    """Images as the client gives them by default: the text alone."""
    if isinstance(rows, dict):
        if rows.get("type") == "base64":
            return rows["value"]
        return {key: as_client_gives(item) for key, item in rows.items()}
    return [as_client_gives(item) for item in rows] if isinstance(rows, list) else rows


def base64_of(path: str) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


class TestServer:
    def test_info(self, client: Client, live: LiveServer) -> None:
        """Name, version and an id of this server."""
        info = client("server_info", url=live.url)
        assert info["name"] == "weftlens"
        assert info["version"]
        assert info["uuid"]


class TestRunWorkflow:
    @pytest.mark.parametrize("legacy", [False, True])
    @pytest.mark.parametrize("form", ["path", "base64"])
    def test_a_specification(
        self, client: Client, live: LiveServer, local: Session, form: str, legacy: bool
    ) -> None:
        """The bytes of a file travel as they are: the results are those of a local run."""
        found = client(
            "run_workflow",
            url=live.url,
            legacy=legacy,
            images={"image": [form, COINS]},
            call={"specification": load("find_parts")},
        )
        here = run_locally(
            load("find_parts"), {"image": base64_of(COINS)}, session=local, serialize=True
        )
        assert masked(found) == masked(as_client_gives(here))

    @pytest.mark.parametrize("count", [1, 3])
    @pytest.mark.parametrize("name", sorted(PICTURES))
    def test_every_example(
        self, client: Client, live: LiveServer, local: Session, name: str, count: int
    ) -> None:
        """Each example gives what a local run gives, alone and as a batch."""
        names = PICTURES[name]
        paths = [str(EXAMPLES / "images" / f"{names[i % len(names)]}.png") for i in range(count)]
        found = client(
            "run_workflow",
            url=live.url,
            images={"image": [["path", path] for path in paths]},
            call={"specification": load(name)},
        )
        texts = [base64_of(path) for path in paths]
        here = run_locally(load(name), {"image": texts}, session=local, serialize=True)
        assert masked(found) == masked(as_client_gives(here))

    @pytest.mark.parametrize("form", ["numpy", "pillow"])
    def test_pixels(self, client: Client, live: LiveServer, form: str) -> None:
        """The client sends them as JPEG, so counts agree, not pixels."""
        [row] = client(
            "run_workflow",
            url=live.url,
            images={"image": [form, COINS]},
            call={"specification": load("count_coins")},
        )
        assert row["count"] == 24

    def test_a_batch(self, client: Client, live: LiveServer) -> None:
        """A list of images in several forms gives a row each."""
        images = [["path", COINS], ["numpy", COINS], ["base64", COINS]]
        rows = client(
            "run_workflow",
            url=live.url,
            images={"image": images},
            call={"specification": load("count_coins")},
        )
        assert [row["count"] for row in rows] == [24, 24, 24]

    def test_nested_batches(self, client: Client, live: LiveServer) -> None:
        """Lists of lists keep their shape."""
        workflow = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowBatchInput", "name": "image", "kind": ["image"],
                 "dimensionality": 2}
            ],
            "steps": [
                {"type": "roboflow_core/camera_focus@v1", "name": "focus",
                 "image": "$inputs.image"}
            ],
            "outputs": [
                {"type": "JsonField", "name": "focus", "selector": "$steps.focus.focus_measure"}
            ],
        }  # fmt: skip
        rows = client(
            "run_workflow",
            url=live.url,
            images={"image": [[["path", COINS], ["path", COINS]], [["path", COINS]]]},
            call={"specification": workflow},
        )
        assert [len(row["focus"]) for row in rows] == [2, 1]

    @pytest.mark.parametrize("legacy", [False, True])
    def test_a_stored_workflow(self, client: Client, live: LiveServer, legacy: bool) -> None:
        """By workspace and id, on both routes; the cache is a wish."""
        name = "workflow_name" if legacy else "workflow_id"
        call = {"workspace_name": "any", name: "count_coins", "use_cache": False}
        [row] = client(
            "run_workflow",
            url=live.url,
            legacy=legacy,
            images={"image": ["path", COINS]},
            call=call,
        )
        assert row["count"] == 24

    def test_parameters_and_excluded_fields(self, client: Client, live: LiveServer) -> None:
        """Parameters are merged with the images; excluded outputs do not come."""
        workflow = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "kernel"},
            ],
            "steps": [
                {"type": "roboflow_core/image_blur@v1", "name": "blur",
                 "image": "$inputs.image", "blur_type": "average",
                 "kernel_size": "$inputs.kernel"}
            ],
            "outputs": [
                {"type": "JsonField", "name": "blurred", "selector": "$steps.blur.image"},
                {"type": "JsonField", "name": "kernel", "selector": "$inputs.kernel"},
            ],
        }  # fmt: skip
        call = {"specification": workflow, "parameters": {"kernel": 7}}
        images = {"image": ["path", COINS]}
        [row] = client(
            "run_workflow",
            url=live.url,
            images=images,
            call={**call, "excluded_fields": ["blurred"]},
        )
        assert row == {"kernel": 7}
        [row] = client(
            "run_workflow",
            url=live.url,
            images=images,
            call={**call, "disable_sinks": True},
            configuration={"output_visualisation_format": "numpy"},
        )
        assert row.keys() == {"blurred", "kernel"}

    @pytest.mark.parametrize("form", ["numpy", "pillow"])
    def test_images_come_back_in_the_form_that_was_asked_for(
        self, client: Client, live: LiveServer, form: str
    ) -> None:
        """The client decodes what has the form of an image, at any depth."""
        from_server = client(
            "run_workflow",
            url=live.url,
            images={"image": ["path", COINS]},
            call={"specification": load("count_coins")},
            configuration={"output_visualisation_format": form},
        )
        expected = {"numpy": {"array": [303, 384, 3]}, "pillow": {"pillow": [384, 303]}}[form]
        assert from_server[0]["annotated"].items() >= expected.items()

    def test_the_profile(self, client: Client, live: LiveServer) -> None:
        """The client writes the trace to a file."""
        names = client(
            "profiled_run",
            url=live.url,
            images={"image": ["path", COINS]},
            call={"specification": load("count_coins")},
        )
        assert "workflow_run" in names

    def test_errors(self, client: Client, live: LiveServer) -> None:
        """The client shows status and message."""
        workflow = load("count_coins")
        workflow["steps"][0]["type"] = "roboflow_core/no_such_block@v1"
        found = client(
            "run_workflow",
            url=live.url,
            images={"image": ["path", COINS]},
            call={"specification": workflow},
        )
        assert found["error"]["type"] == "HTTPCallErrorError"
        assert found["error"]["status"] == 400
        assert "no_such_block" in found["error"]["message"]
        missing = client("run_workflow", url=live.url, call={
            "workspace_name": "any", "workflow_id": "no_such_workflow"})  # fmt: skip
        assert missing["error"]["status"] == 404


class TestApiKeys:
    @pytest.mark.parametrize("transport", ["legacy", "both", "header"])
    @pytest.mark.parametrize("v0", [False, True])
    def test_every_transport(
        self, client: Client, keyed: tuple[LiveServer, str], shapes: str, transport: str, v0: bool
    ) -> None:
        """Key in body and query, in the header, in both."""
        live, key = keyed
        options = {
            "url": live.url,
            "api_key": key,
            "configuration": {"api_key_transport": transport},
        }
        [row] = client(
            "run_workflow",
            **options,
            images={"image": ["path", COINS]},
            call={"specification": load("count_coins")},
        )
        assert row["count"] == 24
        found = client("infer", **options, v0=v0, model_id=DETECTOR, image=["path", shapes])
        assert len(found["predictions"]) == 3

    @pytest.mark.parametrize("transport", ["legacy", "header"])
    def test_a_wrong_key(
        self, client: Client, keyed: tuple[LiveServer, str], transport: str
    ) -> None:
        """The client says 401 and does not show the key."""
        live, _ = keyed
        found = client(
            "run_workflow",
            url=live.url,
            api_key="wrong-key-of-mine",
            images={"image": ["path", COINS]},
            call={"specification": load("count_coins")},
            configuration={"api_key_transport": transport},
        )
        assert found["error"]["status"] == 401
        assert "wrong-key" not in json.dumps(found)


class TestRetries:
    @pytest.mark.parametrize(("enabled", "attempts"), [(True, 3), (False, 1)])
    def test_a_busy_server_is_asked_again(
        self, client: Client, enabled: bool, attempts: int
    ) -> None:
        """When the client is set up so; our own client sends the same requests."""
        replies = [Reply({"message": "busy"}, 503)] * 2
        replies += [Reply({"outputs": [{"a": 1}]})]

        def answer(request: Request) -> Reply:
            return replies[len(server.requests) - 1]

        server = FakeServer(answer)
        try:
            found = client(
                "run_workflow",
                url=server.url,
                call={"specification": {"version": "1.0"}},
                configuration={"workflow_run_retries_enabled": enabled},
            )
        finally:
            server.stop()
        assert len(server.requests) == attempts
        if enabled:
            assert found == [{"a": 1}]
        else:
            assert found["error"]["status"] == 503
