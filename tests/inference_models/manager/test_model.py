"""Packages and graphs that agree or do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    ModelImplementationNotFoundError,
    UnknownBackendTypeError,
)
from inference_models.manager import ModelManager
from inference_models.manager.model import Model


class TestModel:
    """`Model`, seen through the manager."""

    def _load(self, directory: Path) -> Model:
        with ModelManager() as manager:
            manager.warm_up(str(directory))
        raise AssertionError("it loaded")

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            (
                {"backend_type": "onx", "weights": "weights.onnx"},
                UnknownBackendTypeError,
                r'no backend "onx"; known: onnx, torch, torch-script, trt \(.* mean "onnx"\?\)',
            ),
            (
                {"model_architecture": "yolo8"},
                ModelImplementationNotFoundError,
                'no family "yolo8" for object-detection',
            ),
            (
                {"inference_config__network_input__layout": "nhwc"},
                CorruptedModelPackageError,
                r"images \[\?, 3, 64, 64\] float32, the package says 3 channels and layout nhwc",
            ),
            (
                {
                    "inference_config__network_input__dtype": "uint8",
                    "inference_config__network_input__scaling_factor": None,
                },
                CorruptedModelPackageError,
                "the package says uint8",
            ),
            (
                {"task_type": "instance-segmentation"},
                CorruptedModelPackageError,
                r"needs 2 outputs \(predictions, protos\), the graph has 1: output0",
            ),
        ],
    )
    def test_a_package_that_contradicts_its_weights(
        self,
        networks: Any,
        tmp_path: Path,
        changes: dict[str, Any],
        error: type[Exception],
        message: str,
    ) -> None:
        """The error names the package, what it says and what the graph is."""
        directory = networks.directory(
            tmp_path / "package", networks.config(**changes), networks.anchor_free
        )
        with pytest.raises(error, match=message) as caught:
            self._load(directory)
        assert str(directory) in str(caught.value)

    def test_a_graph_of_another_size_is_given_its_size(
        self, networks: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The graph wins over the package, and the log says so."""
        config = networks.config(
            inference_config__network_input__training_input_size={"height": 32, "width": 32}
        )
        directory = networks.directory(tmp_path / "package", config, networks.anchor_free)
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager() as manager:
            found = manager.infer(str(directory), image)[0]
        np.testing.assert_allclose(found.xyxy, [[5, 10, 20, 30]], atol=1e-4)
        assert "the graph's size is used" in caplog.text

    def test_images_keep_their_sizes_where_the_graph_allows(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """A graph of any size gets each image at a size of its own, in as few calls as sizes."""
        config = networks.config(
            inference_config__network_input__training_input_size=None,
            inference_config__network_input__dynamic_spatial_size_supported=True,
            inference_config__network_input__dynamic_spatial_size_mode={"type": "any-size"},
        )
        directory = networks.directory(
            tmp_path / "package", config, lambda path: networks.anchor_free(path, size=None)
        )
        images = [
            networks.rectangles(size, green=(3, 4, 17, 19))
            for size in ((40, 50), (33, 20), (40, 50))
        ]
        with ModelManager() as manager:
            found = manager.infer(str(directory), images)
        for one in found:
            np.testing.assert_allclose(one.xyxy, [[3, 4, 17, 19]], atol=1e-4)
