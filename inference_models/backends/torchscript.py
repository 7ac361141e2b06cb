"""The `torch-script` backend. Imports torch when a package is opened; unpickles nothing with
Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from inference_models.backends.backend import BackendOptions, TensorSpec
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    MissingDependencyError,
    ModelRuntimeError,
)
from inference_models.packages.package import ModelPackage

# TorchScript's registry of types belongs to the process and is not thread-safe, so its lock does as
# well.
_LOADING = threading.Lock()


class TorchScriptBackend:
    """A TorchScript module of one model.

    The archive tells nothing about shapes: the input's comes from the package, the outputs show
    with a call.

    Args:
        package: what to open.
        options: threads and device. Threads of torch belong to the process, so torch's own number
            is reported.

    Raises:
        MissingDependencyError: torch is not installed.
        EnvironmentConfigurationError: the device does not exist here.
        CorruptedModelPackageError: torch cannot read the weights.
    """

    def __init__(self, package: ModelPackage, options: BackendOptions) -> None:
        self._torch = _import_torch()
        if options.device != "cpu" and not self._torch.cuda.is_available():
            raise EnvironmentConfigurationError(
                f'the device "{options.device}" is not available: torch {self._torch.__version__} '
                "finds no CUDA device"
            )
        try:
            with _LOADING:
                module = self._torch.jit.load(str(package.weights), map_location=options.device)
        except Exception as error:
            raise CorruptedModelPackageError(
                f"torch {self._torch.__version__} cannot open {package.weights}: {error}"
            ) from error
        module.eval()
        self._module: Any = module
        self._device = options.device
        self._weights = package.weights
        network = package.inference.network_input
        size = None if network.dynamic_spatial_size_supported else network.training_input_size
        sides = (size.height, size.width) if size else (None, None)
        batch = package.inference.forward_pass.static_batch_size
        channels = network.input_channels
        shape = (batch, channels, *sides) if network.layout == "nchw" else (batch, *sides, channels)
        self.input = TensorSpec("input", shape, np.dtype(network.dtype))
        self.outputs: tuple[TensorSpec, ...] = ()
        self.threads = int(self._torch.get_num_threads()) if options.device == "cpu" else 1
        tensors = [*module.parameters(), *module.buffers()]
        self.nbytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the module on one input; outputs are named `output0`, `output1`, ... unless the
        module names them."""
        torch = self._torch
        try:
            with torch.inference_mode():
                answer = self._module(torch.from_numpy(batch).to(self._device))
        except RuntimeError as error:
            raise ModelRuntimeError(
                f"{self._weights} failed on an input {list(batch.shape)} {batch.dtype}, "
                f"its input is {self.input}: {error}"
            ) from error
        if isinstance(answer, dict):
            named = {str(name): value for name, value in answer.items()}
        else:
            named = {f"output{n}": value for n, value in enumerate(_flatten(answer))}
        wrong = {name: value for name, value in named.items() if not torch.is_tensor(value)}
        if wrong or not named:
            got = ", ".join(f"{name}: {type(value).__name__}" for name, value in wrong.items())
            raise ModelRuntimeError(
                f"{self._weights} must answer with tensors, got {got or 'nothing'}"
            )
        return {name: self._to_numpy(value, batch) for name, value in named.items()}

    def close(self) -> None:
        """Drops the module; torch frees the weights with it."""
        self._module = None

    def _to_numpy(self, value: Any, batch: np.ndarray) -> np.ndarray:
        if value.dtype is self._torch.bfloat16:
            value = value.float()
        array = value.cpu().numpy()
        # A graph that hands its input through must not hand out the input's memory.
        return array.copy() if np.may_share_memory(array, batch) else array


def _flatten(answer: Any) -> Iterator[Any]:
    if isinstance(answer, (tuple, list)):
        for part in answer:
            yield from _flatten(part)
    else:
        yield answer


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError(
            "torch is needed to run TorchScript models and is not installed",
            hint="pip install 'weftlens[torch]'",
        ) from error
    return torch
