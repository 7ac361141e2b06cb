"""The published client of the ecosystem works against our server as it is. It lives in an
environment of its own, made by `make test-sdk`, and runs there through `client_script.py`.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.blocks.models.colour_models import (
    CLASSIFIER,
    DETECTOR,
    LABELLER,
    POINTS,
    SEGMENTER,
    three_rectangles,
    write_colour_models,
)
from tests.workflows.remote.conftest import FakeServer, Reply, Request
from tests.workflows.remote.live import LiveServer, live_server
from tests.workflows.remote.masking import masked
from workflows import Session, WeftlensSettings, run_locally
from workflows.server.security.key_file import add_key
from workflows.server.security.keys import new_key

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-sdk" / "bin" / "python"
SCRIPT = Path(__file__).parent / "client_script.py"
EXAMPLES = ROOT / "examples"
COINS = str(EXAMPLES / "images" / "coins.png")

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.skipif(not PYTHON.exists(), reason="`make test-sdk` makes its environment"),
]

Client = Callable[..., Any]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Runs scenarios of the script in the other environment."""
    process = subprocess.Popen(
        [str(PYTHON), str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "MPLCONFIGDIR": "/tmp"},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def run(scenario: str, **options: Any) -> Any:
        process.stdin.write(json.dumps([scenario, options]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, f"the client ended in {scenario}"
        return json.loads(line)

    yield run
    process.stdin.close()
    process.wait(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of every task."""
    return write_colour_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A picture with a red, a green and a blue rectangle."""
    path = tmp_path_factory.mktemp("pictures") / "shapes.png"
    cv2.imwrite(str(path), three_rectangles())
    return str(path)


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[LiveServer]:
    """A server with those models and the examples as stored workflows."""
    with live_server(models=(folder,), workflows=EXAMPLES) as running:
        yield running


@pytest.fixture(scope="module")
def local(folder: Path) -> Iterator[Session]:
    """What the server has, in this process."""
    with Session(WeftlensSettings(model_directories=(folder,))) as session:
        yield session


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


@pytest.fixture(scope="module")
def keyed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LiveServer, str]]:
    """A server that wants a key, and the key."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    text, record = new_key("sdk", (), True)
    add_key(path, record)
    with live_server(models=(folder,), api_keys=path) as running:
        yield running, text


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


class TestInfer:
    @pytest.mark.parametrize(
        ("model_id", "wanted"),
        [
            (DETECTOR, {"x", "y", "width", "height", "confidence", "class", "class_id"}),
            (SEGMENTER, {"points", "x", "y", "width", "height"}),
            (POINTS, {"keypoints", "x", "y"}),
        ],
    )
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_objects(
        self, client: Client, live: LiveServer, shapes: str, model_id: str, wanted: set[str],
        asynchronous: bool,
    ) -> None:  # fmt: skip
        """Three rectangles, with the members of their task."""
        found = client(
            "infer",
            url=live.url,
            model_id=model_id,
            image=["path", shapes],
            asynchronous=asynchronous,
        )
        assert found["image"] == {"width": 130, "height": 90}
        assert sorted(row["class"] for row in found["predictions"]) == ["blue", "green", "red"]
        assert all(row.keys() >= wanted for row in found["predictions"])

    def test_classes(self, client: Client, live: LiveServer, shapes: str) -> None:
        """One class, and several."""
        one = client("infer", url=live.url, model_id=CLASSIFIER, image=["path", shapes])
        assert one["top"] in {row["class"] for row in one["predictions"]}
        assert one["confidence"] == max(row["confidence"] for row in one["predictions"])
        several = client("infer", url=live.url, model_id=LABELLER, image=["path", shapes])
        assert set(several["predicted_classes"]) <= set(several["predictions"])

    def test_the_older_route(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Parameters stand in the query, thresholds in percent or not."""
        options = {"url": live.url, "api_key": "any", "v0": True, "image": ["path", shapes]}
        new = client("infer", url=live.url, model_id=DETECTOR, image=["path", shapes])
        old = client("infer", model_id=DETECTOR, **options)
        keep = ("image", "predictions")
        assert masked([old[name] for name in keep]) == masked([new[name] for name in keep])
        for confidence in (0.99, 99):
            few = client(
                "infer",
                model_id=DETECTOR,
                **options,
                configuration={"confidence_threshold": confidence},
            )
            assert few["predictions"] == []

    @pytest.mark.parametrize("v0", [False, True])
    def test_configuration(self, client: Client, live: LiveServer, shapes: str, v0: bool) -> None:
        """Every field the client has for detectors and segmenters is taken."""
        configuration = {
            "confidence_threshold": 0.3,
            "iou_threshold": 0.5,
            "max_detections": 2,
            "class_agnostic_nms": True,
            "max_candidates": 100,
            "response_mask_format": "rle",
            "mask_decode_mode": "accurate",
            "disable_preproc_contrast": True,
            "disable_preproc_grayscale": True,
            "disable_preproc_static_crop": True,
            "fix_batch_size": True,
            "count_inference": False,
            "source": "tests",
            "source_info": "sdk",
            "disable_active_learning": True,
        }
        found = client(
            "infer",
            url=live.url,
            api_key="any",
            v0=v0,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration=configuration,
        )
        assert len(found["predictions"]) == 2
        assert all(row["rle"]["size"] == [90, 130] for row in found["predictions"])

    def test_masks_on_their_own_grid(self, client: Client, live: LiveServer, shapes: str) -> None:
        """With the opt-in of the client, everything is on the grid that `image` names."""
        found = client(
            "infer",
            url=live.url,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration={
                "allow_reduced_mask_resolution": True,
                "mask_decode_mode": "fast",
                "response_mask_format": "rle",
            },
        )
        assert found["original_image"] == {"width": 130, "height": 90}
        size = [found["image"]["height"], found["image"]["width"]]
        assert found["mask_metadata"]["coordinate_system"] == "mask_grid"
        assert all(row["rle"]["size"] == size for row in found["predictions"])

    @pytest.mark.parametrize("batch", [1, 2, 8])
    def test_lists(self, client: Client, live: LiveServer, shapes: str, batch: int) -> None:
        """In batches of the client's choice, several at the same time."""
        images = [["path", shapes], ["numpy", shapes], ["pillow", shapes], ["base64", shapes]] * 2
        found = client(
            "infer",
            url=live.url,
            model_id=DETECTOR,
            image=images,
            configuration={"max_batch_size": batch, "max_concurrent_requests": 2},
        )
        assert [len(answer["predictions"]) for answer in found] == [3] * 8

    @pytest.mark.parametrize("mask_format", ["polygon", "rle"])
    def test_supervision_reads_the_answers(
        self, client: Client, live: LiveServer, shapes: str, mask_format: str, local: Session
    ) -> None:
        """With the boxes and the masks that the model gave."""
        image = cv2.imread(shapes)
        [mine] = local.model_manager.infer(SEGMENTER, image)
        found = client(
            "infer_to_supervision",
            url=live.url,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration={"response_mask_format": mask_format},
        )
        np.testing.assert_allclose(found["xyxy"], mine.xyxy, atol=1e-3)
        assert found["class_name"] == list(mine.class_name)
        assert found["mask_shape"] == [3, 90, 130]
        if mask_format == "rle":
            assert found["areas"] == mine.masks.areas.tolist()

    def test_a_folder(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Image after image."""
        found = client(
            "stream_of_folder",
            url=live.url,
            model_id=DETECTOR,
            folder=str(Path(shapes).parent),
        )
        assert found == [["shapes.png", 3]]

    def test_a_model_that_is_not_there(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Named by status and message."""
        found = client("infer", url=live.url, model_id="colours-detect/9", image=["path", shapes])
        assert found["error"]["status"] == 404
        assert "colours-detect/9" in found["error"]["message"]


class TestModels:
    def test_load_describe_list_unload(self, client: Client, live: LiveServer) -> None:
        """What the client keeps of models."""
        steps = client("models", url=live.url, model_ids=[DETECTOR, CLASSIFIER])
        detector, classifier = [DETECTOR, "object-detection"], [CLASSIFIER, "classification"]
        assert steps["loaded"] == [detector]
        assert steps["selected"] == DETECTOR
        assert steps["described"][0] == "classification"
        assert steps["both"] == sorted([detector, classifier])
        assert steps["one"] == [classifier]
        assert steps["none"] == []


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
