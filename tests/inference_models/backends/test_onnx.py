"""The onnxruntime backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, built_in_backends
from inference_models.backends.onnx import OnnxBackend
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    ModelImplementationNotFoundError,
    ModelRuntimeError,
)
from inference_models.packages import ModelConfig, ModelPackage, load_package, package_from_config


@pytest.fixture
def package(networks: Any, tmp_path: Path) -> ModelPackage:
    """A network with two outputs."""
    path = networks.anchor_free(
        tmp_path / "net.onnx", masks=True, metadata=networks.metadata("segment")
    )
    return load_package(path)


class TestOnnxBackend:
    """`OnnxBackend`."""

    def test_outputs_come_by_name_in_the_order_of_the_graph(
        self, networks: Any, package: ModelPackage
    ) -> None:
        """The first output is the first, whatever its name."""
        backend = built_in_backends()["onnx"](package, BackendOptions(threads=1))
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        batch = np.ascontiguousarray(
            image[None, :, :, ::-1].transpose(0, 3, 1, 2) / 255, np.float32
        )
        outputs = backend.forward(batch)
        assert list(outputs) == ["output0", "output1"]
        assert outputs["output0"][0, :4, 0].tolist() == [12.5, 20.0, 15.0, 20.0]
        assert backend.input.shape == (None, 3, 64, 64)
        assert backend.nbytes == package.weights.stat().st_size

    def test_weights_that_are_none_are_named(self, networks: Any, tmp_path: Path) -> None:
        """The error names the file."""
        path = tmp_path / "net.onnx"
        path.write_bytes(b"nothing")
        package = package_from_config(ModelConfig.model_validate(networks.config()), path)
        with pytest.raises(CorruptedModelPackageError, match=r"cannot open .*net\.onnx"):
            OnnxBackend(package, BackendOptions())

    def test_an_input_that_does_not_fit_is_named(self, package: ModelPackage) -> None:
        """The error says what was given and what the graph takes."""
        backend = OnnxBackend(package, BackendOptions())
        with pytest.raises(
            ModelRuntimeError,
            match=r"input \[1, 3, 8, 8\] float32.*images \[\?, 3, 64, 64\] float32",
        ):
            backend.forward(np.zeros((1, 3, 8, 8), np.float32))

    def test_a_graph_with_two_inputs_is_refused(self, networks: Any, tmp_path: Path) -> None:
        """A network that wants more than images is none of ours."""
        onnx = pytest.importorskip("onnx")
        helper = onnx.helper
        inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "ab"]
        output = helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [1])
        graph = helper.make_graph(
            [helper.make_node("Add", ["a", "b"], ["c"])], "g", inputs, [output]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        path = tmp_path / "net.onnx"
        onnx.save(model, str(path))
        package = package_from_config(ModelConfig.model_validate(networks.config()), path)
        with pytest.raises(
            ModelImplementationNotFoundError, match=r"one image input, got a .*, b "
        ):
            OnnxBackend(package, BackendOptions())

    def test_a_device_that_is_not_there_is_named(self, package: ModelPackage) -> None:
        """Asking for a device that onnxruntime cannot use is an error, not a silent fallback."""
        runtime = pytest.importorskip("onnxruntime")
        device = (
            "cuda" if "CUDAExecutionProvider" not in runtime.get_available_providers() else "npu"
        )
        with pytest.raises(
            EnvironmentConfigurationError, match=f'cannot use the device "{device}"'
        ):
            OnnxBackend(package, BackendOptions(device=device))
