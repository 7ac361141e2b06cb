"""The `trt` backend: TensorRT engines on a CUDA device. Imports tensorrt and torch, which holds the
device's memory, when a package is opened."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from inference_models.backends.backend import BackendOptions, TensorSpec
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    MissingDependencyError,
    ModelImplementationNotFoundError,
    ModelPackageRestrictedError,
    ModelRuntimeError,
)
from inference_models.packages.package import ModelPackage

# numpy's name for each of TensorRT's types; bfloat16 is widened when it leaves the device.
_DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}
_INPUT_DTYPES = ("float32", "float16", "uint8")
_ALLOW_HOST_CODE = (
    "if you trust who made the engine: ModelManager(preferences="
    "PackagePreferences(engine_host_code_allowed=True))"
)


class DeviceMemory(Protocol):
    """Buffers on the device a model runs on, and the stream its work is queued in."""

    stream: int

    def active(self) -> AbstractContextManager[Any]:
        """Makes the device the one that CUDA libraries work on."""

    def upload(self, array: np.ndarray) -> Any:
        """A buffer with the content of a C-contiguous array."""

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A buffer of any content; `dtype` is a value of `_DTYPES`."""

    def address(self, buffer: Any) -> int:
        """Where a buffer begins on the device."""

    def download(self, buffer: Any) -> np.ndarray:
        """The content of a buffer once the queued work is done, bfloat16 as float32."""


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Images one run of an engine takes, both ends included."""

    least: int
    most: int


class TensorRtBackend:
    """A TensorRT engine of one model.

    Args:
        package: what to open.
        options: device, and whether the engine may bring host code of its own.
        memory: buffers on the device; those of torch when None.

    Raises:
        MissingDependencyError: tensorrt or torch is not installed.
        EnvironmentConfigurationError: the device is no CUDA device, or there is none.
        CorruptedModelPackageError: TensorRT cannot read the engine, or it contradicts its package.
        ModelPackageRestrictedError: the engine brings host code, and that is not allowed.
        ModelImplementationNotFoundError: the engine has other than one image input.
    """

    threads = 1

    def __init__(
        self, package: ModelPackage, options: BackendOptions, memory: DeviceMemory | None = None
    ) -> None:
        runtime_library = import_tensorrt()
        self._memory = CudaMemory(options.device) if memory is None else memory
        self._weights = package.weights
        with self._memory.active():
            engine = _open_engine(runtime_library, package, options.engine_host_code_allowed)
            self._engine: Any = engine
            self._context: Any = engine.create_execution_context()
        if self._context is None:
            raise EnvironmentConfigurationError(
                f"TensorRT {runtime_library.__version__} cannot make a context for "
                f"{package.weights}: the memory of {options.device} may not suffice"
            )
        names = [engine.get_tensor_name(place) for place in range(engine.num_io_tensors)]
        reads = runtime_library.TensorIOMode.INPUT
        inputs = [name for name in names if engine.get_tensor_mode(name) == reads]
        specs = {name: self._spec(name) for name in names}
        if len(inputs) != 1 or specs[inputs[0]].dtype.name not in _INPUT_DTYPES:
            raise ModelImplementationNotFoundError(
                f"{package.weights} must have one image input, got "
                f"{', '.join(str(specs[name]) for name in inputs) or 'none'}"
            )
        self.input = specs[inputs[0]]
        self.outputs = tuple(specs[name] for name in names if name not in inputs)
        self.batch_range = self._batch_range()
        _require_declared_batch(package, self.batch_range)
        self.nbytes = package.nbytes
        # A context and its addresses serve one call at a time.
        self._lock = threading.Lock()

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the engine on one input; outputs by name, in the order of the engine.

        A batch the engine does not take at once is cut; the last part is filled up with zeros,
        whose answers are dropped.

        Raises:
            ModelRuntimeError: the engine refuses the input or fails.
        """
        least, most = self.batch_range.least, self.batch_range.most
        parts: dict[str, list[np.ndarray]] = {output.name: [] for output in self.outputs}
        with self._lock, self._memory.active():
            for start in range(0, len(batch), most):
                part = batch[start : start + most]
                missing = least - len(part)
                if missing > 0:
                    filling = np.zeros((missing, *part.shape[1:]), part.dtype)
                    part = np.concatenate([part, filling])
                answers = self._run(np.ascontiguousarray(part))
                kept = min(most, len(batch) - start)
                for name, answer in answers.items():
                    parts[name].append(answer[:kept])
        return {
            name: values[0] if len(values) == 1 else np.concatenate(values)
            for name, values in parts.items()
        }

    def close(self) -> None:
        """Drops context and engine; TensorRT frees the weights with them."""
        with self._lock:
            self._context = None
            self._engine = None

    def _run(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        context, memory = self._context, self._memory
        if not context.set_input_shape(self.input.name, batch.shape):
            raise self._failure(batch, "the shape is outside of the engine's profile")
        buffers = {self.input.name: memory.upload(batch)}
        for output in self.outputs:
            shape = tuple(context.get_tensor_shape(output.name))
            if min(shape, default=1) < 0:
                raise ModelImplementationNotFoundError(
                    f'{self._weights}: the size of output "{output.name}" depends on the content '
                    f"of the image, got {list(shape)}"
                )
            buffers[output.name] = memory.empty(shape, self._dtype(output.name))
        for name, buffer in buffers.items():
            context.set_tensor_address(name, memory.address(buffer))
        if not context.execute_async_v3(memory.stream):
            raise self._failure(batch, "TensorRT logged the reason")
        return {output.name: memory.download(buffers[output.name]) for output in self.outputs}

    def _failure(self, batch: np.ndarray, why: str) -> ModelRuntimeError:
        return ModelRuntimeError(
            f"{self._weights} failed on an input {list(batch.shape)} {batch.dtype}, "
            f"its input is {self.input}: {why}"
        )

    def _dtype(self, name: str) -> str:
        kind = self._engine.get_tensor_dtype(name).name
        if kind not in _DTYPES:
            raise ModelImplementationNotFoundError(
                f'{self._weights}: tensor "{name}" has the type {kind}, '
                f"which is none of {', '.join(_DTYPES)}"
            )
        return _DTYPES[kind]

    def _spec(self, name: str) -> TensorSpec:
        dtype = self._dtype(name)
        sides = tuple(self._engine.get_tensor_shape(name))
        return TensorSpec(
            name,
            tuple(None if side < 0 else int(side) for side in sides),
            np.dtype("float32" if dtype == "bfloat16" else dtype),
        )

    def _batch_range(self) -> BatchRange:
        """Batches that the first profile takes; engines without a profile have a fixed batch."""
        assert self.input.shape is not None
        fixed = self.input.shape[0] if self.input.shape else 1
        if fixed is not None:
            return BatchRange(fixed, fixed)
        shapes = self._engine.get_tensor_profile_shape(self.input.name, 0)
        least, _, most = (int(next(iter(shape))) for shape in shapes)
        return BatchRange(least, most)


class CudaMemory:
    """Memory of a CUDA device, held by torch. One stream for everything.

    Args:
        device: `cuda` or `cuda:<n>`.

    Raises:
        MissingDependencyError: torch is not installed.
        EnvironmentConfigurationError: the device is no CUDA device, or there is none.
    """

    def __init__(self, device: str) -> None:
        if device.partition(":")[0] != "cuda":
            raise EnvironmentConfigurationError(
                f'TensorRT engines run on CUDA devices only, the device is "{device}"',
                hint='run the model manager with device="cuda"',
            )
        try:
            import torch
        except ImportError as error:
            raise MissingDependencyError(
                "torch is needed to hold the memory of TensorRT models and is not installed",
                hint="pip install 'weftlens[torch]'",
            ) from error
        if not torch.cuda.is_available():
            raise EnvironmentConfigurationError(
                f'the device "{device}" is not available: torch {torch.__version__} finds no CUDA '
                "device"
            )
        self._torch = torch
        self._device = torch.device(device)
        self._stream: Any = torch.cuda.Stream(self._device)
        self.stream = int(self._stream.cuda_stream)

    def active(self) -> AbstractContextManager[Any]:
        """Makes the device the one that CUDA libraries work on."""
        guard: AbstractContextManager[Any] = self._torch.cuda.device(self._device)
        return guard

    def upload(self, array: np.ndarray) -> Any:
        """A buffer with the content of a C-contiguous array."""
        with self._torch.cuda.stream(self._stream):
            return self._torch.from_numpy(array).to(self._device)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A buffer of any content."""
        with self._torch.cuda.stream(self._stream):
            kind = getattr(self._torch, dtype)
            return self._torch.empty(shape, dtype=kind, device=self._device)

    def address(self, buffer: Any) -> int:
        """Where a buffer begins on the device."""
        return int(buffer.data_ptr())

    def download(self, buffer: Any) -> np.ndarray:
        """The content of a buffer once the queued work is done, bfloat16 as float32."""
        with self._torch.cuda.stream(self._stream):
            if buffer.dtype is self._torch.bfloat16:
                buffer = buffer.float()
            array: np.ndarray = buffer.cpu().numpy()
        return array


def import_tensorrt() -> Any:
    """The tensorrt library.

    Raises:
        MissingDependencyError: it is not installed, or cannot load its own libraries.
    """
    try:
        import tensorrt
    except (ImportError, OSError) as error:
        raise MissingDependencyError(
            f"tensorrt is needed to run TensorRT engines and cannot be imported: {error}",
            hint="pip install tensorrt, on a machine with an NVIDIA GPU; or use an ONNX package",
        ) from error
    return tensorrt


def _open_engine(library: Any, package: ModelPackage, host_code_allowed: bool) -> Any:
    details = package.requirements.trt_package_details
    if details is not None and details.brings_host_code and not host_code_allowed:
        raise ModelPackageRestrictedError(
            f"{package.location}: its engine brings code that runs on the host, which this host "
            "does not allow",
            hint=_ALLOW_HOST_CODE,
        )
    runtime = library.Runtime(library.Logger(library.Logger.ERROR))
    runtime.engine_host_code_allowed = host_code_allowed
    engine = runtime.deserialize_cuda_engine(package.weights.read_bytes())
    if engine is None:
        hint = "engines are bound to the version of TensorRT and to the GPU they were built for"
        if not host_code_allowed:
            hint += f"; for one that brings host code: {_ALLOW_HOST_CODE}"
        raise CorruptedModelPackageError(
            f"TensorRT {library.__version__} cannot open {package.weights}", hint=hint
        )
    return engine


def _require_declared_batch(package: ModelPackage, found: BatchRange) -> None:
    """Refuses an engine that does not take the batches its package says.

    Raises:
        CorruptedModelPackageError: the package says otherwise.
    """
    forward = package.inference.forward_pass
    for name in ("static_batch_size", "max_dynamic_batch_size"):
        declared = getattr(forward, name)
        if declared is not None and not found.least <= declared <= found.most:
            raise CorruptedModelPackageError(
                f"{package.location}: {name} is {declared}, the engine takes batches of "
                f"{found.least} to {found.most}"
            )
