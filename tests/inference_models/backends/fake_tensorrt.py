"""A stand-in for the tensorrt library on machines without one: engines that are JSON, and buffers
in host memory. Tests nothing.

An engine reads its input from and writes its outputs to the addresses it was given, as the real one
does, so wrong addresses, types, sizes and orders show.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

NUMPY_OF = {"FLOAT": "float32", "HALF": "float16", "INT32": "int32", "UINT8": "uint8"}


class DataType(Enum):
    """Types of tensors."""

    FLOAT = 0
    HALF = 1
    INT32 = 3
    UINT8 = 5
    FP8 = 6
    BF16 = 7


class TensorIOMode(Enum):
    """Direction of a tensor."""

    NONE = 0
    INPUT = 1
    OUTPUT = 2


class Logger:
    """Takes a severity."""

    ERROR = 1

    def __init__(self, severity: int) -> None:
        self.severity = severity


class Runtime:
    """Opens engines."""

    def __init__(self, logger: Logger) -> None:
        self.engine_host_code_allowed = True

    def deserialize_cuda_engine(self, content: bytes) -> Engine | None:
        """The engine, None when it cannot be read or brings code that may not run."""
        try:
            facts = json.loads(content)
        except ValueError:
            return None
        if facts.get("host_code") and not self.engine_host_code_allowed:
            return None
        return Engine(facts)


class Engine:
    """Facts of tensors: name, mode, shape (-1 varies), dtype; and the profile of the batch."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.tensors = {tensor["name"]: tensor for tensor in facts["tensors"]}
        self.num_io_tensors = len(self.tensors)

    def get_tensor_name(self, place: int) -> str:
        """Name by index."""
        return list(self.tensors)[place]

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        """Input or output."""
        return TensorIOMode[self.tensors[name]["mode"]]

    def get_tensor_shape(self, name: str) -> list[int]:
        """Shape with -1 for what varies."""
        return list(self.tensors[name]["shape"])

    def get_tensor_dtype(self, name: str) -> DataType:
        """Type."""
        return DataType[self.tensors[name]["dtype"]]

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[list[int]]:
        """Smallest, tuned and largest shape."""
        assert profile == 0
        rest = self.tensors[name]["shape"][1:]
        return [[side, *rest] for side in self.facts["profile"]]

    def create_execution_context(self) -> Context | None:
        """A context; None when memory does not suffice."""
        return None if self.facts.get("too_large") else Context(self)


class Context:
    """Runs an engine: output k, of any type, is the sum of the image times k + 1, everywhere."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.addresses: dict[str, int] = {}
        self.batches: list[int] = []

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether the profile takes the shape."""
        wanted = self.engine.get_tensor_shape(name)
        least, _, most = self.engine.facts.get("profile", [shape[0]] * 3)
        fits = least <= shape[0] <= most and all(
            want in (-1, side) for want, side in zip(wanted, shape, strict=True)
        )
        if fits:
            self.shapes[name] = tuple(shape)
        return fits

    def get_tensor_shape(self, name: str) -> list[int]:
        """Shape once the input's is known; what depends on the content stays -1."""
        first, *rest = self.engine.get_tensor_shape(name)
        (batch,) = {shape[0] for shape in self.shapes.values()}
        return [batch if first == -1 else first, *rest]

    def set_tensor_address(self, name: str, address: int) -> None:
        """Where a tensor lies."""
        self.addresses[name] = address

    def execute_async_v3(self, stream: int) -> bool:
        """Runs; False when the engine is one that fails."""
        assert stream == HostMemory.stream
        if self.engine.facts.get("fails"):
            return False
        inputs = [
            name
            for name in self.engine.tensors
            if self.engine.get_tensor_mode(name) is TensorIOMode.INPUT
        ]
        image = self._at(inputs[0], self.shapes[inputs[0]])
        self.batches.append(len(image))
        sums = image.reshape(len(image), -1).sum(axis=1, dtype=np.float64)
        outputs = [name for name in self.engine.tensors if name not in inputs]
        for place, name in enumerate(outputs):
            target = self._at(name, tuple(self.get_tensor_shape(name)))
            values = (sums * (place + 1)).reshape(-1, *[1] * (target.ndim - 1))
            target[...] = values.astype(target.dtype)
        return True

    def _at(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        dtype = np.dtype(NUMPY_OF[self.engine.get_tensor_dtype(name).name])
        size = int(np.prod(shape)) * dtype.itemsize
        memory = (ctypes.c_uint8 * size).from_address(self.addresses[name])
        return np.frombuffer(memory, dtype).reshape(shape)


class HostMemory:
    """Buffers in host memory in place of a device's."""

    stream = 17

    def __init__(self) -> None:
        self.is_active = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Marks the time in which engines may be used."""
        assert not self.is_active
        self.is_active = True
        yield
        self.is_active = False

    def upload(self, array: np.ndarray) -> np.ndarray:
        """A copy."""
        assert self.is_active
        assert array.flags.c_contiguous
        return array.copy()

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Filled with what no answer is."""
        return np.full(shape, 99, np.dtype(dtype))

    def address(self, buffer: np.ndarray) -> int:
        """Where it begins."""
        return int(buffer.ctypes.data)

    def download(self, buffer: np.ndarray) -> np.ndarray:
        """A copy."""
        return buffer.copy()


def fake_library() -> ModuleType:
    """The module to put into `sys.modules["tensorrt"]`."""
    module: Any = ModuleType("tensorrt")
    module.__version__ = "10.3.0"
    module.Logger, module.Runtime = Logger, Runtime
    module.DataType, module.TensorIOMode = DataType, TensorIOMode
    return module  # type: ignore[no-any-return]


def tensor(name: str, mode: str, shape: list[int], dtype: str = "FLOAT") -> dict[str, Any]:
    """Facts of one tensor."""
    return {"name": name, "mode": mode, "shape": shape, "dtype": dtype}


def write_engine(path: Path, **changes: Any) -> Path:
    """An engine with one image input and two outputs."""
    facts: dict[str, Any] = {
        "tensors": [
            tensor("images", "INPUT", [-1, 3, 4, 6]),
            tensor("scores", "OUTPUT", [-1, 5]),
            tensor("counts", "OUTPUT", [-1, 2, 2], "INT32"),
        ],
        "profile": [1, 2, 4],
    } | changes
    path.write_text(json.dumps(facts))
    return path
