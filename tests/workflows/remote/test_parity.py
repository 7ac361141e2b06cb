"""The same workflow here, on a server, and here with its models on a server: the same JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.block_api import WorkflowImageData
from tests.examples.people_models import have_people_models, write_people_models
from tests.examples.test_examples import RUNS
from tests.workflows.remote.live import LiveServer, live_server
from tests.workflows.remote.masking import masked
from workflows import RemoteServer, Session, WeftlensSettings, run_locally

EXAMPLES = Path(__file__).parents[3] / "examples"
IMAGES = EXAMPLES / "images"
# Some pictures of the last one show nobody; its networks are not part of the project.
PICTURES = RUNS | {"people": ["astronaut", "coffee"]}
WITH_MODELS = [
    name
    for name in sorted(PICTURES)
    if '"model_id"' in (EXAMPLES / f"{name}.json").read_text(encoding="utf-8")
]


def load(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def files(name: str, count: int) -> list[Path]:
    names = PICTURES[name]
    return [IMAGES / f"{names[index % len(names)]}.png" for index in range(count)]


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An example that can be run here."""
    example: str = request.param
    if example == "people" and not have_people_models():
        pytest.skip("the networks of the people example are not here")
    return example


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of models beside the shipped ones."""
    folder = tmp_path_factory.mktemp("models")
    return write_people_models(folder) if have_people_models() else folder


@pytest.fixture(scope="module")
def live(models: Path) -> Iterator[LiveServer]:
    """One server for all parity tests.

    Five images go through its networks as one batch, as here: how images are put together moves the
    last digits of scores.
    """
    with live_server(
        models=(models,), max_body_bytes=256 * 1024 * 1024, dynamic_batch_size=8
    ) as running:
        yield running


@pytest.fixture(scope="module")
def local(models: Path) -> Iterator[Session]:
    """The session of the local runs."""
    with Session(WeftlensSettings(model_directories=(models,))) as session:
        yield session


@pytest.fixture(scope="module")
def remote(live: LiveServer, local: Session) -> Iterator[RemoteServer]:
    """The way to the server."""
    with RemoteServer(live.url, session=local, timeout=300) as server:
        yield server


class TestExamples:
    def test_examples_with_models_are_among_them(self) -> None:
        """What is told from their text holds."""
        assert {"find_parts", "people"} <= set(WITH_MODELS)

    @pytest.mark.parametrize("count", [1, 5])
    @pytest.mark.parametrize("name", sorted(PICTURES), indirect=True)
    def test_json_is_the_same_for_files(
        self, name: str, count: int, local: Session, remote: RemoteServer
    ) -> None:
        """Text of images included, ids and times of the run excluded."""
        texts = [base64.b64encode(path.read_bytes()).decode() for path in files(name, count)]
        here = run_locally(load(name), {"image": texts}, session=local, serialize=True)
        # The server gets the bytes of the files, which are those texts.
        there = remote.run(load(name), {"image": files(name, count)}, serialize=True)
        assert len(there) == count
        assert masked(there) == masked(here)

    @pytest.mark.parametrize("name", sorted(PICTURES), indirect=True)
    def test_objects_are_the_same_for_pixels(
        self, name: str, local: Session, remote: RemoteServer
    ) -> None:
        """Pixels travel without loss; results are of the same types and say the same."""
        pixels = [cv2.imread(str(path)) for path in files(name, 2)]
        here = run_locally(load(name), {"image": pixels}, session=local)
        there = remote.run(load(name), {"image": pixels})
        plan = local.compile(load(name))
        for mine, other in zip(here, there, strict=True):
            assert mine.keys() == other.keys()
            for output in plan.outputs:
                compare(mine[output.name], other[output.name], output.members[0][2], local)

    @pytest.mark.parametrize("count", [1, 5])
    @pytest.mark.parametrize("name", WITH_MODELS, indirect=True)
    def test_json_is_the_same_with_the_models_there(
        self, name: str, count: int, local: Session, remote: RemoteServer
    ) -> None:
        """Only the model call leaves this process; masks and scores are the same to the bit."""
        pixels = [cv2.imread(str(path)) for path in files(name, count)]
        here = run_locally(load(name), {"image": pixels}, session=local, serialize=True)
        before = local.model_manager.list_models()
        with Session(WeftlensSettings(), model_manager=remote.models) as session:
            there = run_locally(load(name), {"image": pixels}, session=session, serialize=True)
        assert masked(there) == masked(here)
        assert local.model_manager.list_models() == before


class TestLossless:
    def test_single_channel_images_stay_so(self, local: Session, remote: RemoteServer) -> None:
        """On the way there and back, alone and in an object of all outputs of a step."""
        workflow = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/image_blur@v1",
                    "name": "blur",
                    "image": "$inputs.image",
                    "blur_type": "average",
                    "kernel_size": 3,
                }
            ],
            "outputs": [
                {"type": "JsonField", "name": "blurred", "selector": "$steps.blur.image"},
                {"type": "JsonField", "name": "all", "selector": "$steps.blur.*"},
                {"type": "JsonField", "name": "same", "selector": "$inputs.image"},
            ],
        }
        random = np.random.default_rng(5)
        images = [
            random.integers(0, 256, (9, 11), dtype=np.uint8),
            random.integers(0, 256, (9, 11, 3), dtype=np.uint8),
        ]
        here = run_locally(workflow, {"image": images}, session=local)
        there = remote.run(workflow, {"image": images})
        for mine, other in zip(here, there, strict=True):
            for one, two in (
                (mine["blurred"], other["blurred"]),
                (mine["all"]["image"], other["all"]["image"]),
                (mine["same"], other["same"]),
            ):
                np.testing.assert_array_equal(two.numpy_image, one.numpy_image)

    @pytest.mark.parametrize(
        "kind", ["instance_segmentation_prediction", "rle_instance_segmentation_prediction"]
    )
    def test_masks_keep_holes_and_pieces(
        self, kind: str, local: Session, remote: RemoteServer
    ) -> None:
        """Both ways, whatever form the kind has in the public JSON."""
        import supervision as sv

        mask = np.zeros((2, 30, 40), bool)
        mask[0, 2:20, 2:20] = True
        mask[0, 6:10, 6:10] = False
        mask[0, 25:28, 30:39] = True
        given = sv.Detections(
            xyxy=np.array([[2, 2, 39, 28], [0, 0, 5, 5]], np.float32),
            mask=mask,
            confidence=np.array([0.1, 0.9], np.float32),
            class_id=np.array([3, 4]),
            data={"class_name": np.array(["a", "b"])},
        )
        workflow = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowBatchInput", "name": "found", "kind": [kind]}],
            "steps": [],
            "outputs": [{"type": "JsonField", "name": "found", "selector": "$inputs.found"}],
        }
        image = {"image_dimensions": np.array([[30, 40]] * 2)}
        given.data |= image
        [row] = remote.run(workflow, {"found": [given]})
        found = row["found"]
        np.testing.assert_array_equal(np.asarray(found.mask), mask)
        np.testing.assert_array_equal(found.xyxy, given.xyxy)
        np.testing.assert_array_equal(found.confidence, given.confidence)
        assert found.data["prediction_type"].tolist() == ["instance-segmentation"] * 2


def compare(mine: Any, other: Any, kinds: tuple[str, ...], session: Session) -> None:
    """Same type at every depth, same pixels, same JSON."""
    if isinstance(mine, list):
        assert isinstance(other, list)
        for one, two in zip(mine, other, strict=True):
            compare(one, two, kinds, session)
        return
    assert type(other) is type(mine)
    if isinstance(mine, WorkflowImageData):
        np.testing.assert_array_equal(other.numpy_image, mine.numpy_image)
        assert masked(repr(other.parent_metadata)) == masked(repr(mine.parent_metadata))
        roots = (other.workflow_root_ancestor_metadata, mine.workflow_root_ancestor_metadata)
        assert masked(repr(roots[0])) == masked(repr(roots[1]))
        assert other.has_video_metadata == mine.has_video_metadata
        return
    codecs = session.registry.codecs
    assert masked(codecs.serialise(other, kinds)) == masked(codecs.serialise(mine, kinds))
