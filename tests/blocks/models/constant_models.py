"""Networks that answer with the same raw outputs whatever they see, for every backend. Tests
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inference_models.backends import BackendOptions, TensorSpec
from inference_models.packages import ModelPackage
from tests.blocks.models.mask_scenes import CLASSES, NETWORK, Geometry

# The in-process backend beside those that come with the package.
IN_PROCESS = "in-process"
BACKENDS = (IN_PROCESS, "onnx", "torch-script")
# Where a backend needs a library the tests may lack.
LIBRARY_OF = {"onnx": "onnx", "torch-script": "torch"}


class ConstantBackend:
    """Answers with the arrays of an `.npz` file, once an image."""

    threads = 1
    nbytes = 1

    def __init__(self, package: ModelPackage, options: BackendOptions) -> None:
        with np.load(package.weights) as file:
            self._answers = {name: file[name] for name in file.files}
        size = package.inference.network_input.training_input_size
        assert size is not None
        shape = (None, 3, size.height, size.width)
        self.input = TensorSpec("images", shape, np.dtype("float32"))
        self.outputs = tuple(
            TensorSpec(name, (None, *value.shape), value.dtype)
            for name, value in self._answers.items()
        )

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The answers, repeated along a new first axis."""
        return {name: np.stack([value] * len(batch)) for name, value in self._answers.items()}

    def close(self) -> None:
        """Nothing is held."""


def write_constants(
    backend: str, path: Path, outputs: Mapping[str, np.ndarray], size: tuple[int, int]
) -> None:
    """Writes weights that answer with `outputs` (without a batch axis) to inputs of `size` (h,
    w)."""
    if backend == IN_PROCESS:
        with path.open("wb") as file:
            np.savez(file, **outputs)
    elif backend == "onnx":
        _write_onnx(path, outputs, size)
    else:
        _write_torchscript(path, outputs)


def _write_onnx(path: Path, outputs: Mapping[str, np.ndarray], size: tuple[int, int]) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def tensor(name: str, shape: list[Any]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    # Nothing of the image but the length of the batch is left: its mean times 0.
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
    ]
    constants = [numpy_helper.from_array(np.zeros((), np.float32), "zero")]
    for name, value in outputs.items():
        ones = np.array([-1] + [1] * value.ndim, np.int64)
        constants += [
            numpy_helper.from_array(value.astype(np.float32), f"{name}_value"),
            numpy_helper.from_array(ones, f"{name}_shape"),
        ]
        nodes += [
            helper.make_node("Reshape", ["nothing", f"{name}_shape"], [f"{name}_zeros"]),
            helper.make_node("Add", [f"{name}_zeros", f"{name}_value"], [name]),
        ]
    graph = helper.make_graph(
        nodes,
        "constants",
        [tensor("images", ["b", 3, *size])],
        [tensor(name, ["b", *value.shape]) for name, value in outputs.items()],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _write_torchscript(path: Path, outputs: Mapping[str, np.ndarray]) -> None:
    import torch

    class Constants(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.values = [torch.from_numpy(value.astype(np.float32)) for value in outputs.values()]

        def forward(self, images: torch.Tensor) -> list[torch.Tensor]:  # type: ignore[name-defined]
            nothing = images.mean(dim=[1, 2, 3]) * 0
            answers: list[torch.Tensor] = []  # type: ignore[name-defined]
            for value in self.values:
                answers.append(torch.stack([value + one for one in nothing]))
            return answers

    torch.jit.save(torch.jit.script(Constants()), str(path))


def segmenter_config(family: str, backend: str, geometry: Geometry) -> dict[str, Any]:
    """`model_config.json` of a segmentation network of constants for one geometry."""
    crop = geometry.static_crop
    names = ("x_min", "x_max", "y_min", "y_max")
    pre_processing = None
    if crop is not None:
        pre_processing = {"static-crop": {"enabled": True, **dict(zip(names, crop, strict=True))}}
    size = {"height": NETWORK[0], "width": NETWORK[1]}
    # Images of this family are stretched to the input, from a canvas that has its size here.
    canvas = {"dataset_version_resize_dimensions": size} if family == "rfdetr" else {}
    return {
        "model_architecture": family.removesuffix("-fused"),
        "backend_type": backend,
        "task_type": "instance-segmentation",
        "class_names": list(CLASSES),
        "weights": f"{family}.{backend}",
        "inference_config": {
            "image_pre_processing": pre_processing,
            "network_input": {
                "training_input_size": size,
                **canvas,
                "resize_mode": geometry.resize_mode,
                "padding_value": 114,
                "scaling_factor": 255,
            },
            "post_processing": {"type": "nms", "fused": family.endswith("-fused")},
        },
    }
