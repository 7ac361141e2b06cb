"""A plug-in, a model and a workflow that the tests of locks change one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ConfigDict, Field

from blocks.plugin import core_plugin
from execution_engine import BlockRegistry, Plugin
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import FLOAT_KIND, ROBOFLOW_MODEL_ID_KIND, STRING_KIND
from inference_models.shipped import shipped_models
from workflows import Session, WeftlensSettings

MakeSession = Callable[..., Session]


def shift_block(default: float = 1.0, description: str = "Added to the value.") -> Any:
    """A block `acme/shift@v1` that adds `amount`."""

    class Manifest(WorkflowBlockManifest):
        model_config = ConfigDict(json_schema_extra={"name": "Shift", "block_type": "math"})
        type: Literal["acme/shift@v1", "Shift"]
        amount: float | Selector(kind=[FLOAT_KIND]) = Field(  # type: ignore[valid-type]
            default=default, description=description
        )

        @classmethod
        def describe_outputs(cls) -> list[OutputDefinition]:
            return [OutputDefinition("sum", [FLOAT_KIND])]

    class Block(WorkflowBlock):
        returns_futures = False

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return Manifest

        def run(self, amount: float) -> BlockResult:
            return {"sum": amount}

    return Block


def name_model_block() -> Any:
    """A block `acme/which@v1` that takes a model and gives its id, without running it."""

    class Manifest(WorkflowBlockManifest):
        type: Literal["acme/which@v1"]
        model_id: Selector(kind=[ROBOFLOW_MODEL_ID_KIND]) | str  # type: ignore[valid-type]

        @classmethod
        def describe_outputs(cls) -> list[OutputDefinition]:
            return [OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND, STRING_KIND])]

    class Block(WorkflowBlock):
        returns_futures = False

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return Manifest

        def run(self, model_id: str) -> BlockResult:
            return {"model_id": model_id}

    return Block


def write_model(folder: Path, model_id: str, weights: bytes = b"not opened here") -> Path:
    """A model package whose weights nobody loads."""
    package = folder.joinpath(*model_id.split("/"))
    package.mkdir(parents=True)
    config = (shipped_models() / "parts-seg" / "1" / "model_config.json").read_text("utf-8")
    (package / "model_config.json").write_text(config, encoding="utf-8")
    name = json.loads(config).get("weights", "weights.onnx")
    (package / name).write_bytes(weights)
    return package


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with the models a/1 and b/1."""
    folder = tmp_path / "models"
    write_model(folder, "a/1")
    write_model(folder, "b/1", b"other weights")
    return folder


@pytest.fixture
def make_session(models: Path) -> Iterator[MakeSession]:
    """Makes sessions with the core blocks and the two blocks above; closes them at the end."""
    made: list[Session] = []

    def make(**manifest: Any) -> Session:
        plugin = Plugin(
            source="acme",
            distribution="acme-blocks",
            blocks=[shift_block(**manifest), name_model_block()],
        )
        # No paths of this machine: the sessions of servers have it so.
        settings = WeftlensSettings(
            model_directories=(models,), allow_local_images=False, allow_model_paths=False
        )
        made.append(Session(settings, registry=BlockRegistry([core_plugin(), plugin])))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def definition() -> dict[str, Any]:
    """A step of another plug-in, two that name a model, and one of our own under an old name."""
    return {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "model", "kind": ["roboflow_model_id"],
             "default_value": "a/1"},
        ],
        "steps": [
            {"type": "Shift", "name": "shift", "amount": 2.0},
            {"type": "acme/which@v1", "name": "fixed", "model_id": "a/1"},
            {"type": "acme/which@v1", "name": "chosen", "model_id": "$inputs.model"},
            {"type": "AbsoluteStaticCrop", "name": "crop", "images": "$inputs.image",
             "x_center": 2, "y_center": 2, "width": 2, "height": 2},
        ],
        "outputs": [
            {"type": "JsonField", "name": "sum", "selector": "$steps.shift.sum"},
            {"type": "JsonField", "name": "model", "selector": "$steps.chosen.model_id"},
        ],
    }  # fmt: skip
