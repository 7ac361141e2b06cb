"""The two files of the shipped model, ONNX for running and safetensors for going on with, are one
model."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from inference_models.families.native.export import (
    ExportDescription,
    write_torch_package,
)
from inference_models.families.native.weights import load_detector
from inference_models.manager import ModelManager
from inference_models.predictions import InstanceDetections
from inference_models.shipped import shipped_models
from inference_models.training.scenes import PART_CLASSES, PartScenes

ROOT = Path(__file__).parents[3]
MODEL_ID = "parts-seg/1"
SIDE = 384


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> ModelManager:
    """Knows the ONNX file as `parts-seg/1` and the safetensors file as `torch`."""
    folder = tmp_path_factory.mktemp("torch")
    network = load_detector(shipped_models() / MODEL_ID / "weights.safetensors")
    package = write_torch_package(network, folder, ExportDescription(PART_CLASSES, (SIDE, SIDE)))
    manager = ModelManager(model_directories=[shipped_models()])
    manager.add("torch", package)
    return manager


def pictures() -> list[np.ndarray]:
    """The coin photograph and three scenes of odd shapes, BGR."""
    photograph = cv2.imread(str(ROOT / "examples" / "images" / "coins.png"))
    sizes = [(384, 384), (240, 416), (512, 320)]
    return [photograph, *(PartScenes(3, size).scene(11).image for size in sizes)]


@pytest.mark.parametrize("number", range(4))
def test_same_answers(manager: ModelManager, number: int) -> None:
    """As many objects, boxes within 1 px, scores within 1e-3, masks that agree."""
    picture = pictures()[number]
    asked = {"confidence": 0.4}
    answers = []
    for model_id in (MODEL_ID, "torch"):
        (found,) = manager.infer(model_id, picture, asked)
        answers.append(found)
    onnx, native = answers
    assert len(onnx) == len(native)
    assert onnx.class_name.tolist() == native.class_name.tolist()
    np.testing.assert_allclose(onnx.xyxy, native.xyxy, atol=1.0)
    np.testing.assert_allclose(onnx.confidence, native.confidence, atol=1e-3)
    for first, second in zip(dense(onnx), dense(native), strict=True):
        assert (first & second).sum() >= 0.99 * (first | second).sum()


def dense(found: InstanceDetections) -> np.ndarray:
    """(n, h, w) bool masks on the grid of the image."""
    return found.masks.on_image_grid().to_dense()
