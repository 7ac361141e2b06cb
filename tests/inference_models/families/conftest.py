"""Packages around no weights, and the way from raw outputs to a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.families import (
    InferenceParameters,
    ParameterDefaults,
    PostProcessor,
    family_of,
)
from inference_models.families.request import ClassTable, complete_request
from inference_models.packages import ModelConfig, ModelPackage, package_from_config
from inference_models.preprocessing import ImageTransform, plan_transform

CLASSES = ("cat", "dog", "fox")


@pytest.fixture
def make_package(tmp_path: Path) -> Any:
    """Builds packages around an empty weights file."""

    def make(architecture: str, task: str, fused: bool = False, **changes: Any) -> ModelPackage:
        post: dict[str, Any] | None = {"type": "nms", "fused": fused}
        if task not in ("object-detection", "instance-segmentation", "keypoint-detection"):
            post = changes.pop("post_processing", None)
        network = {
            "training_input_size": {"height": 64, "width": 64},
            "resize_mode": changes.pop("resize_mode", "stretch"),
            "layout": changes.pop("layout", "nchw"),
        }
        config = {
            "model_architecture": architecture,
            "backend_type": "onnx",
            "task_type": task,
            "class_names": CLASSES,
            "inference_config": {
                "network_input": network,
                "post_processing": post,
                "class_names_operations": changes.pop("class_names_operations", None),
            },
        } | changes
        weights = tmp_path / "weights.onnx"
        weights.write_bytes(b"")
        return package_from_config(ModelConfig.model_validate(config), weights)

    return make


@pytest.fixture
def post_process() -> Callable[..., Any]:
    """The prediction for one image from outputs without a batch axis."""
    return _post_process


def _post_process(
    package: ModelPackage,
    outputs: Mapping[str, Any],
    size: tuple[int, int] = (64, 64),
    transform: ImageTransform | None = None,
    **parameters: Any,
) -> Any:
    """The prediction for one image of `size` from outputs without a batch axis."""
    post = PostProcessor(family_of(package), package)
    request = complete_request(
        InferenceParameters.from_mapping(parameters),
        package,
        ClassTable(package.class_names, package.removed_classes),
        ParameterDefaults(),
    )
    transform = transform or plan_transform(size, package.inference.network_input)
    arrays = {name: np.asarray(value, np.float32)[None] for name, value in outputs.items()}
    return post.run(arrays, 0, transform, request)
