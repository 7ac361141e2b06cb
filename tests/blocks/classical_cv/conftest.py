"""Scenes and a way to run one block without an engine, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.block_api import ImageParentMetadata, WorkflowBlock, WorkflowImageData


@pytest.fixture
def as_image() -> Callable[..., WorkflowImageData]:
    """Makes a workflow image, named `image`, of pixels."""

    def make(pixels: np.ndarray, parent_id: str = "image") -> WorkflowImageData:
        return WorkflowImageData(ImageParentMetadata(parent_id), numpy_image=pixels)

    return make


@pytest.fixture
def run_block() -> Callable[..., dict[str, Any]]:
    """Runs a block as a step would: literals go through the manifest, values replace references."""

    def run(block: type[WorkflowBlock], values: dict[str, Any], **literals: Any) -> dict[str, Any]:
        manifest = block.get_manifest()
        fields = [name for name in manifest.model_fields if name not in ("type", "name")]
        type_id = manifest.model_fields["type"].annotation.__args__[0]
        references = {name: f"$inputs.{name}" for name in values}
        step = manifest.model_validate({"type": type_id, "name": "s", **references, **literals})
        arguments = {name: getattr(step, name) for name in fields} | values
        result = block().run(**arguments)
        assert isinstance(result, dict)
        assert list(result) == [output.name for output in manifest.describe_outputs()]
        return result

    return run


@pytest.fixture
def coins() -> np.ndarray:
    """(303, 384, 3) photograph of coins."""
    from skimage import data

    return np.repeat(data.coins()[:, :, None], 3, axis=2)


@pytest.fixture
def shapes() -> np.ndarray:
    """(180, 240, 3): four bright shapes on black, one with a hole."""
    image = np.zeros((180, 240, 3), np.uint8)
    cv2.rectangle(image, (20, 20), (80, 70), (255, 255, 255), -1)
    cv2.circle(image, (150, 60), 30, (200, 200, 200), -1)
    cv2.fillPoly(image, [np.array([[40, 160], [110, 160], [75, 100]], np.int32)], (180, 180, 180))
    cv2.rectangle(image, (140, 110), (220, 165), (220, 220, 220), -1)
    cv2.rectangle(image, (160, 125), (200, 150), (0, 0, 0), -1)
    return image


@pytest.fixture
def noise() -> np.ndarray:
    """(90, 120, 3) random pixels."""
    return np.random.RandomState(0).randint(0, 256, (90, 120, 3)).astype(np.uint8)
