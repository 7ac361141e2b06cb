"""Trained networks on a photograph. Skipped where the weights or the photograph are not at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from inference_models.manager import ModelManager
from inference_models.packages import ModelConfig, Task, write_package

MODELS = Path(__file__).resolve().parents[4] / "shared" / "models"
PERSON_DETECTOR = MODELS / "ped_ssdlite.onnx"
PERSON_MATTE = MODELS / "selfie.onnx"

DETECTOR_CONFIG = {
    "model_architecture": "detector-with-nms",
    "backend_type": "onnx",
    "task_type": "object-detection",
    "class_names": ["person"],
    "inference_config": {
        # The graph resizes by itself and takes pixels as they are.
        "network_input": {
            "dynamic_spatial_size_supported": True,
            "dynamic_spatial_size_mode": {"type": "any-size"},
            "resize_mode": "stretch",
            "color_mode": "rgb",
            "layout": "nhwc",
            "dtype": "uint8",
        },
        "forward_pass": {"max_dynamic_batch_size": 1},
        "post_processing": {"type": "nms", "fused": True},
    },
    "outputs": {
        "boxes": "detection_boxes:0",
        "scores": "detection_scores:0",
        "classes": "detection_classes:0",
        "count": "num_detections:0",
        "box_format": "yxyx",
        "box_unit": "fraction",
        "first_class_id": 1,
    },
}

MATTE_CONFIG = {
    "model_architecture": "matting",
    "backend_type": "onnx",
    "task_type": "semantic-segmentation",
    "class_names": ["background", "person"],
    "inference_config": {
        "network_input": {
            "training_input_size": {"height": 256, "width": 256},
            "resize_mode": "stretch",
            "color_mode": "rgb",
            "scaling_factor": 255,
            "layout": "nhwc",
        },
        "post_processing": {"type": "sigmoid", "fused": True},
    },
}


@pytest.fixture
def astronaut() -> np.ndarray:
    """The photograph (512, 512, 3), BGR."""
    data = pytest.importorskip("skimage.data")
    return np.ascontiguousarray(data.astronaut()[:, :, ::-1])


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder of models with the packages person/1 and matte/1."""
    for weights, config, name in (
        (PERSON_DETECTOR, DETECTOR_CONFIG, "person/1"),
        (PERSON_MATTE, MATTE_CONFIG, "matte/1"),
    ):
        if not weights.is_file():
            pytest.skip(f"{weights.name} is not here")
        write_package(tmp_path / name, ModelConfig.model_validate(config), weights, link=True)
    return tmp_path


class TestPersonDetector:
    """An SSDLite with suppression in the graph."""

    def test_the_astronaut_is_found(self, models: Path, astronaut: np.ndarray) -> None:
        """One person, whose box covers face and suit, at two sizes of the photograph."""
        small = cv2.resize(astronaut, (301, 211), interpolation=cv2.INTER_AREA)
        with ModelManager(model_directories=[models]) as manager:
            assert manager.describe("person/1").task is Task.OBJECT_DETECTION
            found = manager.infer("person/1", [astronaut, small], {"confidence": 0.5})
        for one, image in zip(found, (astronaut, small), strict=True):
            assert one.class_name.tolist() == ["person"]
            assert one.image_size == image.shape[:2]
            x1, y1, x2, y2 = one.xyxy[0] / np.array([*image.shape[1::-1]] * 2)
            # The face is around (0.44, 0.22) of the photograph.
            assert x1 < 0.36 < 0.52 < x2
            assert y1 < 0.15
            assert y2 > 0.9

    def test_channel_order_matters(self, models: Path, astronaut: np.ndarray) -> None:
        """The same pixels given as RGB and said to be RGB give the same boxes."""
        with ModelManager(model_directories=[models]) as manager:
            (bgr,) = manager.infer("person/1", astronaut, {"confidence": 0.3})
            (rgb,) = manager.infer(
                "person/1", astronaut[:, :, ::-1], {"confidence": 0.3}, color_order="rgb"
            )
        np.testing.assert_array_equal(bgr.xyxy, rgb.xyxy)


class TestPersonMatte:
    """A matting network on the detector's crop."""

    def test_the_matte_of_the_detected_person(self, models: Path, astronaut: np.ndarray) -> None:
        """Detect, crop, matte: the mask covers the face and leaves flag and helmet out."""
        with ModelManager(model_directories=[models]) as manager:
            (found,) = manager.infer("person/1", astronaut, {"confidence": 0.5})
            x1, y1, x2, y2 = found.xyxy[0].round().astype(int)
            (matte,) = manager.infer("matte/1", astronaut[y1:y2, x1:x2], {"confidence": 0.5})
        person: Any = np.zeros(astronaut.shape[:2], bool)
        person[y1:y2, x1:x2] = matte.segmentation_map == 1
        assert person[60:160, 200:250].mean() > 0.95
        assert person[300:400, 110:270].mean() > 0.95
        assert person[20:200, 0:80].mean() < 0.05
        assert person[400:500, 320:370].mean() < 0.05
        instances = matte.to_instances()
        assert instances.class_name.tolist() == ["person"]
        assert instances.masks.areas[0] == person.sum()

    def test_the_matte_itself(self, models: Path, astronaut: np.ndarray) -> None:
        """At threshold zero the confidence is the soft matte of the whole photograph."""
        with ModelManager(model_directories=[models]) as manager:
            (matte,) = manager.infer("matte/1", astronaut, {"confidence": 0.0})
        assert matte.confidence.shape == (512, 512)
        assert 0.2 < matte.confidence.mean() < 0.7
        assert ((matte.confidence > 0.1) & (matte.confidence < 0.9)).any()
