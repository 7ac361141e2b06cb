"""Every task and backend through the door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.manager import ModelManager


class TestTasks:
    """Every task through the door."""

    def test_suppression_in_the_graph(self, networks: Any, tmp_path: Path) -> None:
        """Final rows need no second suppression."""
        path = networks.fused(tmp_path / "rows.onnx", networks.metadata(args="{'nms': True}"))
        with ModelManager() as manager:
            image = networks.rectangles((64, 64), green=(5, 10, 20, 30))
            (found,) = manager.infer(str(path), image)
        assert found.class_name.tolist() == ["green"]
        np.testing.assert_allclose(found.xyxy, [[5, 10, 20, 30]], atol=1e-4)

    def test_declared_outputs(self, networks: Any, tmp_path: Path) -> None:
        """A detector with named outputs runs from its declaration."""
        config = networks.config(
            model_architecture="detector-with-nms",
            outputs={
                "boxes": "found_boxes",
                "scores": "found_scores",
                "classes": "found_classes",
                "count": "found_count",
                "box_format": "yxyx",
                "box_unit": "fraction",
                "first_class_id": 1,
            },
        )
        directory = networks.directory(tmp_path / "package", config, networks.declared)
        with ModelManager() as manager:
            image = networks.rectangles((64, 128), green=(20, 10, 60, 50))
            (found,) = manager.infer(str(directory), image)
        assert found.class_name.tolist() == ["green"]
        np.testing.assert_allclose(found.xyxy, [[20, 10, 60, 50]], atol=2.01)

    def test_class_maps(self, networks: Any, tmp_path: Path) -> None:
        """A channel a class; what is none of them is background."""
        config = networks.config(
            model_architecture="semantic-segmentation",
            task_type="semantic-segmentation",
            class_names=["background", "red", "green", "blue"],
            inference_config__post_processing={"type": "sigmoid"},
            inference_config__network_input__resize_mode="stretch",
        )
        directory = networks.directory(tmp_path / "package", config, networks.semantic)
        with ModelManager() as manager:
            image = networks.rectangles((64, 64), red=(8, 8, 24, 40), blue=(40, 8, 64, 64))
            (found,) = manager.infer(str(directory), image, {"confidence": 0.5})
        expected = np.zeros((64, 64), int)
        expected[8:40, 8:24], expected[8:64, 40:64] = 1, 3
        assert (found.segmentation_map != expected).mean() < 0.02
        assert found.background_id == 0

    def test_classes_of_images(self, networks: Any, tmp_path: Path) -> None:
        """The colour that fills the image wins."""
        config = networks.config(
            model_architecture="classifier",
            task_type="classification",
            inference_config__post_processing={"type": "softmax"},
        )
        directory = networks.directory(tmp_path / "package", config, networks.classifier)
        with ModelManager() as manager:
            images = [
                networks.rectangles((40, 40), **{name: (0, 0, 40, 40)}) for name in networks.colours
            ]
            found = manager.infer(str(directory), images)
        assert [one.class_id for one in found] == [0, 1, 2]
        np.testing.assert_allclose(found[0].top_confidence, np.exp(4) / (np.exp(4) + 2), rtol=1e-5)

    def test_onnx_and_torchscript_agree(self, networks: Any, tmp_path: Path) -> None:
        """The backend is `forward` only: the same network in both gives the same prediction."""
        torch = pytest.importorskip("torch")

        class MeanColour(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, images: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
                return images.mean(dim=[2, 3]) * 4

        changes = {
            "model_architecture": "classifier",
            "task_type": "classification",
            "inference_config__post_processing": {"type": "softmax"},
        }
        first = networks.directory(
            tmp_path / "onnx", networks.config(**changes), networks.classifier
        )
        config = networks.config(**changes, backend_type="torch-script")
        second = tmp_path / "mean.torchscript"
        torch.jit.save(
            torch.jit.script(MeanColour()),
            str(second),
            _extra_files={"model_config.json": json.dumps(config)},
        )
        images = np.random.default_rng(0).integers(0, 256, (3, 50, 60, 3), dtype=np.uint8)
        with ModelManager() as manager:
            for one, other in zip(
                manager.infer(str(first), list(images)),
                manager.infer(str(second), list(images)),
                strict=True,
            ):
                np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-6)
            tensors = [
                torch.from_numpy(image[:, :, ::-1].transpose(2, 0, 1).copy()) for image in images
            ]
            for one, other in zip(
                manager.infer(str(first), list(images)),
                manager.infer(str(first), tensors),
                strict=True,
            ):
                np.testing.assert_array_equal(one.confidence, other.confidence)
