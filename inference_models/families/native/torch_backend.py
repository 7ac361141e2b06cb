"""The `torch` backend of native detectors: runs their own weights. Opens safetensors files only."""

from __future__ import annotations

import numpy as np
import torch

from inference_models.backends.backend import BackendOptions, TensorSpec
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    ModelImplementationNotFoundError,
    ModelInputError,
    ModelRuntimeError,
)
from inference_models.families.native.config import DetectorConfig
from inference_models.families.native.graphs import inference_graph
from inference_models.families.native.table import BRANCH_OF_ARCHITECTURE, package_task
from inference_models.families.native.weights import load_detector
from inference_models.packages.package import ModelPackage


class NativeTorchBackend:
    """A native detector run by torch, with normalisations folded into the convolutions.

    Args:
        package: what to open.
        options: threads and device. Threads of torch belong to the process, so torch's own number
            is reported.

    Raises:
        ModelImplementationNotFoundError: the package is no native detector.
        EnvironmentConfigurationError: the device does not exist here.
        CorruptedModelPackageError: the weights are incomplete or not those the package describes.
    """

    def __init__(self, package: ModelPackage, options: BackendOptions) -> None:
        branch = BRANCH_OF_ARCHITECTURE.get(package.architecture)
        if branch is None:
            raise ModelImplementationNotFoundError(
                f"{package.location}: the torch backend runs {', '.join(BRANCH_OF_ARCHITECTURE)}, "
                f'got "{package.architecture}"'
            )
        if options.device != "cpu" and not torch.cuda.is_available():
            raise EnvironmentConfigurationError(
                f'the device "{options.device}" is not available: torch {torch.__version__} '
                "finds no CUDA device"
            )
        detector = load_detector(package.weights, branches=(branch,))
        _require_described(detector.config, package)
        graph = inference_graph(detector, branch).to(options.device)
        self._graph = graph
        self._device = options.device
        self._weights = package.weights
        network = package.inference.network_input
        size = None if network.dynamic_spatial_size_supported else network.training_input_size
        sides = (None, None) if size is None else (size.height, size.width)
        batch = package.inference.forward_pass.static_batch_size
        self.input = TensorSpec(
            "images", (batch, network.input_channels, *sides), np.dtype(np.float32)
        )
        self.outputs = tuple(
            TensorSpec(name, None, np.dtype(np.float32)) for name in graph.output_names
        )
        self.threads = int(torch.get_num_threads()) if options.device == "cpu" else 1
        self.nbytes = sum(one.numel() * one.element_size() for one in graph.parameters())

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Runs the network on (b, 3, h, w) images; outputs by name, in the order of the graph.

        Raises:
            ModelRuntimeError: the network refuses the input or fails.
        """
        try:
            with torch.inference_mode():
                answers = self._graph(torch.from_numpy(batch).to(self._device))
        except (RuntimeError, ModelInputError) as error:
            raise ModelRuntimeError(
                f"{self._weights} failed on an input {list(batch.shape)} {batch.dtype}, "
                f"its input is {self.input}: {error}"
            ) from error
        names = (output.name for output in self.outputs)
        return {name: one.cpu().numpy() for name, one in zip(names, answers, strict=True)}

    def close(self) -> None:
        """Drops the network; torch frees the weights with it."""
        del self._graph


def _require_described(config: DetectorConfig, package: ModelPackage) -> None:
    """Refuses weights that are not those of the package.

    Raises:
        CorruptedModelPackageError: task, classes, keypoints or channels differ.
    """
    network = package.inference.network_input
    slots = {slot for one in package.keypoints for slot in one.keypoints}
    facts = (
        ("task", package_task(config.task), package.task),
        ("class names", config.class_count, len(package.class_names)),
        ("keypoints", config.keypoint_count, max(slots, default=-1) + 1),
        ("input channels", config.input_channels, network.input_channels),
        ("layout of the input", "nchw", network.layout),
        ("type of the input", "float32", network.dtype),
    )
    for what, of_weights, of_package in facts:
        if of_weights != of_package:
            raise CorruptedModelPackageError(
                f"{package.location}: {what} of {package.weights.name}: {of_weights}, "
                f"the package says {of_package}"
            )
