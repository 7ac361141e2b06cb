"""`run_remotely` against a real server: what is missing, stored workflows, keys, locks, errors,
profiles and a restart.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import (
    ReferenceTypeError,
    RuntimeInputError,
    StepExecutionError,
    WorkflowError,
    WorkflowSyntaxError,
)
from tests.workflows.remote.live import LiveServer, live_server
from workflows import ChromeTraceProfiler, RemoteServer, Session, run_locally, run_remotely
from workflows.remote import MissingOnServerError, ServerRefusedError
from workflows.server.security.key_file import add_key
from workflows.server.security.keys import new_key

DETECTOR = "roboflow_core/roboflow_object_detection_model@v2"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for stored workflows."""
    return tmp_path_factory.mktemp("workflows")


@pytest.fixture(scope="module")
def live(stored: Path) -> Iterator[LiveServer]:
    """A server over that folder."""
    with live_server(workflows=stored) as running:
        yield running


@pytest.fixture
def remote(live: LiveServer) -> Iterator[RemoteServer]:
    """The way to it."""
    with RemoteServer(live.url) as server:
        yield server


class TestMissing:
    def test_blocks_versions_and_models_at_once(
        self, remote: RemoteServer, picture: np.ndarray
    ) -> None:
        """Each by step and type, with what the server has."""
        steps = [
            {"type": "roboflow_core/image_blurr@v1", "name": "a", "image": "$inputs.image"},
            {"type": "roboflow_core/image_slicer@v9", "name": "b", "image": "$inputs.image"},
            {"type": DETECTOR, "name": "c", "images": "$inputs.image", "model_id": "part-seg/1"},
            {"type": DETECTOR, "name": "d", "images": "$inputs.image", "model_id": "$inputs.m"},
        ]
        inputs = [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "m"},
        ]
        workflow = {"version": "1.0", "inputs": inputs, "steps": steps, "outputs": []}
        with pytest.raises(MissingOnServerError) as caught:
            remote.run(workflow, {"image": picture, "m": "no/such"})
        found = [(item.step, item.kind, item.wanted) for item in caught.value.missing]
        assert found == [
            ("a", "block", "roboflow_core/image_blurr@v1"),
            ("b", "version", "roboflow_core/image_slicer@v9"),
            ("c", "model", "part-seg/1"),
            ("d", "model", "no/such"),
        ]
        assert caught.value.missing[2].available == ("parts-seg/1",)
        with pytest.raises(MissingOnServerError):
            remote.check(workflow, {"m": "no/such"})

    def test_a_workflow_that_is_served(
        self, remote: RemoteServer, blur_definition: dict[str, Any]
    ) -> None:
        """The question is answered without a run."""
        remote.check(blur_definition)


class TestErrors:
    def cases(self, blur: dict[str, Any], picture: np.ndarray) -> list[tuple[Any, Any]]:
        """Workflows and inputs that a run refuses."""
        wrong_value = json.loads(json.dumps(blur))
        wrong_value["steps"][0]["kernel_size"] = "wide"
        wrong_kind = json.loads(json.dumps(blur))
        wrong_kind["steps"].append(
            {
                "type": "roboflow_core/image_blur@v1",
                "name": "again",
                "image": "$steps.blur.image",
                "kernel_size": "$steps.blur.image",
            }
        )
        two_faults = json.loads(json.dumps(wrong_value))
        two_faults["outputs"].append(
            {"type": "JsonField", "name": "x", "selector": "$steps.nobody.image"}
        )
        return [
            (wrong_value, {"image": picture}),
            (wrong_kind, {"image": picture}),
            (two_faults, {"image": picture}),
            (blur, {}),
            (blur, {"image": picture, "kernel": "wide"}),
        ]

    def test_are_those_of_a_local_run(
        self, remote: RemoteServer, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Class, message, context and every problem."""
        classes = []
        for workflow, inputs in self.cases(blur_definition, picture):
            with pytest.raises(WorkflowError) as here:
                run_locally(workflow, inputs)
            with pytest.raises(WorkflowError) as there:
                remote.run(workflow, inputs)
            assert type(there.value) is type(here.value)
            assert str(there.value) == str(here.value)
            assert there.value.context == here.value.context
            assert there.value.inner_error_type == here.value.inner_error_type
            assert getattr(there.value, "errors", ()) == getattr(here.value, "errors", ())
            assert getattr(there.value, "blocks_errors", []) == getattr(
                here.value, "blocks_errors", []
            )
            classes.append(type(here.value))
        assert {WorkflowSyntaxError, ReferenceTypeError, RuntimeInputError} <= set(classes)

    def test_of_steps_know_where_they_come_from(self, remote: RemoteServer) -> None:
        """The step, its type, and the cause by name."""
        workflow = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/environment_secrets_store@v1",
                    "name": "keys",
                    "variables_storing_secrets": ["HOME"],
                }
            ],
            "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.keys.home"}],
        }
        image = {"image": np.zeros((8, 8, 3), np.uint8)}
        with pytest.raises(StepExecutionError) as here:
            run_locally(workflow, image)
        with pytest.raises(StepExecutionError) as there:
            remote.run(workflow, image)
        mine, other = here.value, there.value
        assert str(other) == str(mine)
        assert (other.block_id, other.block_type) == ("keys", mine.block_type)
        assert other.inner_error_type == mine.inner_error_type


class TestStored:
    def test_runs_the_copy_of_the_server(
        self,
        remote: RemoteServer,
        stored: Path,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """With objects as results, also after the copy has changed."""
        path = stored / "shop" / "blur.json"
        path.parent.mkdir()
        path.write_text(json.dumps(blur_definition), encoding="utf-8")
        [first] = remote.run("shop/blur", {"image": picture})
        assert isinstance(first["blurred"], WorkflowImageData)
        changed = json.loads(json.dumps(blur_definition))
        changed["outputs"][0]["name"] = "soft"
        path.write_text(json.dumps(changed), encoding="utf-8")
        [second] = remote.run("shop/blur", {"image": picture})
        assert isinstance(second["soft"], WorkflowImageData)
        np.testing.assert_array_equal(second["soft"].numpy_image, first["blurred"].numpy_image)

    def test_one_that_is_not_there(self, remote: RemoteServer, picture: np.ndarray) -> None:
        """The id is named."""
        with pytest.raises(ServerRefusedError, match="no-such-one"):
            remote.run("shop/no-such-one", {"image": picture})


class TestKeys:
    def test_only_with_the_right_one(
        self, tmp_path: Path, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Refused without and with a wrong one, in words that do not show it."""
        text, record = new_key("tests", (), True)
        add_key(tmp_path / "keys.json", record)
        with live_server(api_keys=tmp_path / "keys.json") as live:
            inputs = {"image": picture}
            assert run_remotely(blur_definition, inputs, server=live.url, api_key=text)
            with pytest.raises(ServerRefusedError, match="wants an API key") as caught:
                run_remotely(blur_definition, inputs, server=live.url)
            assert caught.value.status_code == 401
            with pytest.raises(ServerRefusedError) as caught:
                run_remotely(blur_definition, inputs, server=live.url, api_key=f"{text}x")
            assert text not in str(caught.value)


class TestProfile:
    def test_the_steps_of_the_server(
        self, remote: RemoteServer, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """On the clock of this process."""
        import time

        before = time.perf_counter_ns() / 1000
        profiler = ChromeTraceProfiler()
        remote.run(blur_definition, {"image": picture}, profiler=profiler)
        trace = profiler.export_trace()
        assert "step_execution" in {event["name"] for event in trace}
        assert all(before <= event["ts"] <= time.perf_counter_ns() / 1000 for event in trace)


class TestRestart:
    def test_a_client_outlives_its_server(
        self, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """The server stops between two runs and another one begins on its port while the client
        is already asking."""
        with live_server() as first:
            port = int(first.url.rsplit(":", 1)[1])
            remote = RemoteServer(first.url, retries=100, timeout=120, session=Session())
            remote.run(blur_definition, {"image": picture})
        answers: list[Any] = []
        asking = threading.Thread(
            target=lambda: answers.append(remote.run(blur_definition, {"image": picture}))
        )
        asking.start()
        asking.join(0.5)
        assert asking.is_alive(), "the port was to refuse at first"
        with live_server(port=port):
            asking.join(120)
        remote.close()
        [[row]] = answers
        assert isinstance(row["blurred"], WorkflowImageData)
