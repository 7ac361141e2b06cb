"""What a backend is: it runs `forward`, and nothing else. Pixels and predictions are none of its
business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inference_models.packages.package import ModelPackage


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a graph; a None in the shape is a side that may vary, a None shape is
    unknown."""

    name: str
    shape: tuple[int | None, ...] | None
    dtype: np.dtype

    def __str__(self) -> str:
        sides = "unknown" if self.shape is None else list(self.shape)
        return f"{self.name} {sides} {self.dtype}".replace("None", "?")


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """How a backend opens a package.

    Attributes:
        threads: how many threads one call may compute on, the caller's own included.
        device: `cpu`, `cuda` or `cuda:<n>`.
        engine_host_code_allowed: whether a TensorRT engine may run code on the host that it brings
            itself.
    """

    threads: int = 1
    device: str = "cpu"
    engine_host_code_allowed: bool = False


class Backend(Protocol):
    """Opened weights. `forward` may be called from several threads at once."""

    @property
    def input(self) -> TensorSpec:
        """The one input of the graph."""

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs in the order of the graph; empty when only a call shows them."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory the weights take."""

    @property
    def threads(self) -> int:
        """Threads one call computes on."""

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the graph on one input; outputs by name, in the order of the graph.

        Raises:
            ModelRuntimeError: the graph refuses the input or fails.
        """

    def close(self) -> None:
        """Frees the weights. The backend is not used afterwards."""


BackendOpener = Callable[[ModelPackage, BackendOptions], Backend]
