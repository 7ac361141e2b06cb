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
from tests.workflows.remote.live import LiveServer, live_server
from tests.workflows.remote.masking import masked
from workflows import RemoteServer, Session, WeftlensSettings, run_locally

EXAMPLES = Path(__file__).parents[3] / "examples"
IMAGES = EXAMPLES / "images"
# Which picture each example is shown with; people.json needs models that are not part of this.
PICTURES = {
    "clean_page": ["page"],
    "coffee_colors": ["coffee"],
    "count_coins": ["coins"],
    "find_parts": ["coins"],
    "find_patch": ["astronaut"],
    "panorama": ["motorcycle"],
    "sharpness_gate": ["cat", "motorcycle"],
    "sharpness_trend": ["cat"],
    "tile_overview": ["motorcycle", "cat"],
}
WITH_MODELS = ["find_parts"]


def load(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def files(name: str, count: int) -> list[Path]:
    names = PICTURES[name]
    return [IMAGES / f"{names[index % len(names)]}.png" for index in range(count)]


@pytest.fixture(scope="module")
def live() -> Iterator[LiveServer]:
    """One server for all parity tests."""
    with live_server(max_body_bytes=256 * 1024 * 1024) as running:
        yield running


@pytest.fixture(scope="module")
def local() -> Iterator[Session]:
    """The session of the local runs."""
    with Session(WeftlensSettings()) as session:
        yield session


@pytest.fixture(scope="module")
def remote(live: LiveServer, local: Session) -> Iterator[RemoteServer]:
    """The way to the server."""
    with RemoteServer(live.url, session=local, timeout=300) as server:
        yield server


class TestExamples:
    def test_every_example_is_compared(self) -> None:
        """A new example joins this table."""
        assert {path.stem for path in EXAMPLES.glob("*.json")} - {"people"} == set(PICTURES)

    def test_every_example_with_a_model_runs_its_models_there(self, local: Session) -> None:
        """A new example with a model joins the list."""
        using = [
            name
            for name in PICTURES
            if any(
                "model_manager" in step.spec.init_parameters
                for step in local.compile(load(name)).steps
            )
        ]
        assert using == WITH_MODELS

    @pytest.mark.parametrize("count", [1, 5])
    @pytest.mark.parametrize("name", sorted(PICTURES))
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

    @pytest.mark.parametrize("name", sorted(PICTURES))
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
    @pytest.mark.parametrize("name", WITH_MODELS)
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
        assert other.workflow_root_ancestor_metadata == mine.workflow_root_ancestor_metadata
        assert other.has_video_metadata == mine.has_video_metadata
        return
    codecs = session.registry.codecs
    assert masked(codecs.serialise(other, kinds)) == masked(codecs.serialise(mine, kinds))
