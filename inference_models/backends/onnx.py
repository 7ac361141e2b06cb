"""The `onnx` backend: onnxruntime. Imports onnxruntime when a package is opened."""

from __future__ import annotations

from typing import Any

import numpy as np

from inference_models.backends.backend import BackendOptions, TensorSpec
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    MissingDependencyError,
    ModelImplementationNotFoundError,
    ModelRuntimeError,
)
from inference_models.packages.package import ModelPackage

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
    "tensor(int8)": "int8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}
_INPUT_DTYPES = ("float32", "float16", "float64", "uint8")
_ERRORS_ONLY = 3


class OnnxBackend:
    """An onnxruntime session of one model.

    Args:
        package: what to open.
        options: threads and device.

    Raises:
        MissingDependencyError: onnxruntime is not installed.
        EnvironmentConfigurationError: the installed onnxruntime cannot use the device.
        CorruptedModelPackageError: onnxruntime cannot read the weights.
        ModelImplementationNotFoundError: the graph has other than one input.
    """

    def __init__(self, package: ModelPackage, options: BackendOptions) -> None:
        runtime = _import_runtime()
        session_options = runtime.SessionOptions()
        session_options.intra_op_num_threads = options.threads
        session_options.inter_op_num_threads = 1
        session_options.log_severity_level = _ERRORS_ONLY
        # Plans of memory are kept for every size of batch; a third less memory, no slower without.
        session_options.enable_mem_pattern = False
        # Threads of an idle model must not spin: the cores belong to the model that runs.
        session_options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = _providers(runtime, options.device)
        try:
            session = runtime.InferenceSession(
                str(package.weights), sess_options=session_options, providers=providers
            )
        except Exception as error:
            raise CorruptedModelPackageError(
                f"onnxruntime {runtime.__version__} cannot open {package.weights}: {error}"
            ) from error
        self._session: Any = session
        self._weights = package.weights
        inputs = [_spec(node) for node in session.get_inputs()]
        if len(inputs) != 1 or inputs[0].dtype.name not in _INPUT_DTYPES:
            raise ModelImplementationNotFoundError(
                f"{package.weights} must have one image input, got "
                f"{', '.join(str(one) for one in inputs) or 'none'}"
            )
        self.input = inputs[0]
        self.outputs = tuple(_spec(node) for node in session.get_outputs())
        self._names = [output.name for output in self.outputs]
        self.threads = options.threads
        self.nbytes = package.nbytes

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the graph on one input; outputs by name, in the order of the graph."""
        try:
            values = self._session.run(self._names, {self.input.name: batch})
        except Exception as error:
            raise ModelRuntimeError(
                f"{self._weights} failed on an input {list(batch.shape)} {batch.dtype}, "
                f"its input is {self.input}: {error}"
            ) from error
        return dict(zip(self._names, values, strict=True))

    def close(self) -> None:
        """Drops the session; onnxruntime frees the weights with it."""
        self._session = None


def _import_runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError(
            "onnxruntime is needed to run ONNX models and is not installed",
            hint="pip install onnxruntime",
        ) from error
    return onnxruntime


def _providers(runtime: Any, device: str) -> list[Any]:
    if device == "cpu":
        return ["CPUExecutionProvider"]
    kind, _, index = device.partition(":")
    available = runtime.get_available_providers()
    if kind != "cuda" or "CUDAExecutionProvider" not in available:
        raise EnvironmentConfigurationError(
            f'onnxruntime {runtime.__version__} cannot use the device "{device}": '
            f"it has {', '.join(available)}",
            hint="pip install onnxruntime-gpu" if kind == "cuda" else None,
        )
    return [("CUDAExecutionProvider", {"device_id": int(index or 0)}), "CPUExecutionProvider"]


def _spec(node: Any) -> TensorSpec:
    dtype = _DTYPES.get(node.type)
    if dtype is None:
        raise ModelImplementationNotFoundError(
            f'tensor "{node.name}" has the type {node.type}, which is none of {", ".join(_DTYPES)}'
        )
    shape = tuple(side if isinstance(side, int) else None for side in node.shape)
    return TensorSpec(node.name, shape, np.dtype(dtype))
