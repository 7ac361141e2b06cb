"""`Model`: one loaded model: pre-processing, backend and family put together. Knows nothing of
other models."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference_models.backends.backend import Backend, BackendOpener, BackendOptions, TensorSpec
from inference_models.backends.threads import ThreadBudget
from inference_models.errors import (
    CorruptedModelPackageError,
    ModelRuntimeError,
    UnknownBackendTypeError,
    nearest_name_hint,
)
from inference_models.families.catalogue import family_of
from inference_models.families.descriptor import Family
from inference_models.families.parameters import (
    PARAMETERS_OF_TASK,
    InferenceParameters,
    ParameterDefaults,
)
from inference_models.families.pipeline import PostProcessor, Prediction
from inference_models.families.request import complete_request
from inference_models.packages.network_config import InferenceConfig, NetworkInput
from inference_models.packages.package import ModelPackage
from inference_models.preprocessing.geometry import ImageTransform
from inference_models.preprocessing.images import ColorOrder, as_image_list
from inference_models.preprocessing.preprocessor import PreProcessor

# Images of one forward pass where neither graph nor package names a number.
DEFAULT_BATCH_SIZE = 16
_GRAY_EDGES = 127

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What all models of a manager share.

    Attributes:
        backends: name to opener.
        families: the table of families.
        defaults: parameters where neither call nor package names any.
        device: `cpu`, `cuda` or `cuda:<n>`.
        threads: the cores that all models share.
    """

    backends: Mapping[str, BackendOpener]
    families: Iterable[Family]
    defaults: ParameterDefaults
    device: str
    threads: ThreadBudget


class Model:
    """A model ready to run. `infer` may be called from several threads at once.

    Args:
        package: what to load.
        settings: what all models share.

    Raises:
        ModelLoadingError: no family or backend fits, or the weights contradict the package.
    """

    def __init__(self, package: ModelPackage, settings: ModelSettings) -> None:
        self.package = package
        self._settings = settings
        self.family = family_of(package, settings.families)
        opener = settings.backends.get(package.backend)
        if opener is None:
            raise UnknownBackendTypeError(
                f'{package.location}: no backend "{package.backend}"; '
                f"known: {', '.join(sorted(settings.backends))}",
                hint=nearest_name_hint(package.backend, settings.backends),
            )
        options = BackendOptions(threads=settings.threads.per_call, device=settings.device)
        self._backend: Backend = opener(package, options)
        try:
            self._post = PostProcessor(self.family, package, self._backend.outputs)
            fit = _fit_to_graph(package, self.family, self._backend.input)
        except Exception:
            self._backend.close()
            raise
        self._fixed_batch, self._max_batch = fit.fixed_batch, fit.max_batch
        self._pre = PreProcessor(fit.config, fit.fixed_size, self._backend.input.dtype)
        self.input_size = fit.fixed_size or _declared_size(fit.config.network_input)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the model's classes by class id."""
        return self._post.classes.names

    @property
    def nbytes(self) -> int:
        """Bytes of memory the weights take."""
        return self._backend.nbytes

    def infer(
        self,
        images: Any,
        parameters: InferenceParameters | None = None,
        color_order: ColorOrder | None = None,
    ) -> list[Prediction]:
        """Predictions for each image, in the order of the images.

        Args:
            images: see `as_image_list`.
            parameters: what the call asks for.
            color_order: order of the channels; None means BGR for arrays and RGB for tensors.

        Raises:
            ModelInputError: an image is not an image.
            InvalidParameterError: a parameter has no effect on this task.
            ModelRuntimeError: the network failed.
        """
        pixels = as_image_list(images, color_order)
        parameters = parameters or InferenceParameters()
        parameters.require_only(
            PARAMETERS_OF_TASK[self.package.task], f"the {self.package.task} model"
        )
        request = complete_request(
            parameters, self.package, self._post.classes, self._settings.defaults
        )
        overrides = parameters.overrides
        transforms = [self._pre.plan(image, overrides) for image in pixels]
        results: dict[int, Prediction] = {}
        for rows in self._batches(transforms):
            batch = self._pre.allocate(
                self._fixed_batch or len(rows), transforms[rows[0]].network_size
            )
            for slot, row in enumerate(rows):
                self._pre.write(pixels[row], transforms[row], batch[slot], overrides)
            raw = self._forward(batch)
            for slot, row in enumerate(rows):
                results[row] = self._post.run(raw, slot, transforms[row], request)
        return [results[row] for row in range(len(pixels))]

    def warm_up(self) -> None:
        """Runs the network once on an empty input, so that the first real call pays for nothing
        special."""
        height, width = self.input_size or (256, 256)
        self.infer(np.zeros((height, width, 3), dtype=np.uint8))

    def close(self) -> None:
        """Frees the weights. The model is not used afterwards."""
        self._backend.close()

    def _batches(self, transforms: list[ImageTransform]) -> Iterator[list[int]]:
        """Indices of images that can share one input, at most a batch of them at a time."""
        by_size: dict[tuple[int, int], list[int]] = {}
        for row, transform in enumerate(transforms):
            by_size.setdefault(transform.network_size, []).append(row)
        for rows in by_size.values():
            for start in range(0, len(rows), self._max_batch):
                yield rows[start : start + self._max_batch]

    def _forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        with self._settings.threads.take(self._backend.threads):
            raw = self._backend.forward(batch)
        for name, value in raw.items():
            if value.ndim == 0 or value.shape[0] != len(batch):
                raise ModelRuntimeError(
                    f'{self.package.location}: output "{name}" must have {len(batch)} rows, one an '
                    f"image, got shape {list(value.shape)}"
                )
            if value.dtype == np.float16:
                raw[name] = value.astype(np.float32)
        return raw


@dataclass(frozen=True, slots=True)
class _Fit:
    """The package's description of the input after the graph had its say."""

    config: InferenceConfig
    fixed_size: tuple[int, int] | None
    fixed_batch: int | None
    max_batch: int


def _fit_to_graph(package: ModelPackage, family: Family, graph_input: TensorSpec) -> _Fit:
    """Settles size and batch between package and graph; the graph wins, a contradiction raises.

    Raises:
        CorruptedModelPackageError: the graph takes something else than the package says.
    """
    config, network = package.inference, package.inference.network_input
    shape = graph_input.shape
    where = f"{package.location}: the graph's input is {graph_input}"
    if shape is None or len(shape) != 4:
        raise CorruptedModelPackageError(f"{where}, expected four axes ({network.layout})")
    if network.layout == "nchw":
        batch, channels, height, width = shape
    else:
        batch, height, width, channels = shape
    if channels not in (None, network.input_channels):
        raise CorruptedModelPackageError(
            f"{where}, the package says {network.input_channels} channels and layout "
            f"{network.layout}"
        )
    if (graph_input.dtype == np.uint8) != (network.dtype == "uint8"):
        raise CorruptedModelPackageError(f"{where}, the package says {network.dtype}")
    fixed_size = None if height is None or width is None else (height, width)
    declared = _declared_size(network)
    if fixed_size is not None and declared not in (None, fixed_size):
        _log.warning("%s, the package says %s: the graph's size is used", where, declared)
    if network.resize_mode == "fit-longer-edge" and fixed_size is not None:
        changes: dict[str, Any] = {"resize_mode": family.fit_longer_edge_as}
        if family.fit_longer_edge_as == "letterbox" and network.padding_value is None:
            changes["padding_value"] = _GRAY_EDGES
        network = network.model_copy(update=changes)
        config = config.model_copy(update={"network_input": network})
    forward = config.forward_pass
    limit = forward.static_batch_size or forward.max_dynamic_batch_size or DEFAULT_BATCH_SIZE
    return _Fit(config, fixed_size, batch, batch or limit)


def _declared_size(network: NetworkInput) -> tuple[int, int] | None:
    size = network.training_input_size
    return None if size is None else (size.height, size.width)
