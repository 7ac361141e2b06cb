"""`Model`: one loaded model: pre-processing, backend and family put together. Knows nothing of
other models."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from inference_models.families.request import Request, complete_request
from inference_models.manager.call_context import current_call
from inference_models.packages.network_config import InferenceConfig, NetworkInput
from inference_models.packages.package import ModelPackage
from inference_models.preprocessing.geometry import ImageTransform
from inference_models.preprocessing.images import ColorOrder, as_image_list
from inference_models.preprocessing.preprocessor import PreProcessingOverrides, PreProcessor

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
        engine_host_code_allowed: whether a TensorRT engine may run host code that it brings.
    """

    backends: Mapping[str, BackendOpener]
    families: Iterable[Family]
    defaults: ParameterDefaults
    device: str
    threads: ThreadBudget
    engine_host_code_allowed: bool = False


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call with everything settled before a pixel is touched.

    Attributes:
        images: (h, w, 3) BGR or (h, w), uint8.
        transforms: where each image lies in the network's input.
        overrides: steps of pre-processing to leave out.
        request: the complete parameters.
    """

    images: list[np.ndarray]
    transforms: list[ImageTransform]
    overrides: PreProcessingOverrides
    request: Request

    def batches(self, limit: int) -> Iterator[list[int]]:
        """Indices of images that can share one input, at most `limit` at a time."""
        by_size: dict[tuple[int, int], list[int]] = {}
        for row, transform in enumerate(self.transforms):
            by_size.setdefault(transform.network_size, []).append(row)
        for rows in by_size.values():
            for start in range(0, len(rows), limit):
                yield rows[start : start + limit]


class Model:
    """A model ready to run. `infer` may be called from several threads at once.

    Args:
        package: what to load.
        settings: what all models share.

    Attributes:
        max_batch: most images of one forward pass.
        fixed_batch: rows of input the graph insists on; None when it takes any number.

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
        options = BackendOptions(
            threads=settings.threads.per_call,
            device=settings.device,
            engine_host_code_allowed=settings.engine_host_code_allowed,
        )
        self._backend: Backend = opener(package, options)
        try:
            self._post = PostProcessor(self.family, package, self._backend.outputs)
            fit = _fit_to_graph(package, self.family, self._backend.input)
        except Exception:
            self._backend.close()
            raise
        self.fixed_batch = fit.fixed_batch
        self.max_batch = fit.max_batch
        self._pre = PreProcessor(
            fit.config, fit.fixed_size, self._backend.input.dtype, fit.stretched
        )
        self.input_size = fit.fixed_size or _declared_size(fit.config.network_input)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the model's classes by class id."""
        return self._post.classes.names

    @property
    def nbytes(self) -> int:
        """Bytes of memory the weights take."""
        return self._backend.nbytes

    @property
    def concurrent_forwards(self) -> int:
        """Forward passes that may compute at the same time; they have the cores for it.

        A device of its own computes one at a time: it gains from batches, not from company.
        """
        if self._settings.device != "cpu":
            return 1
        return max(1, self._settings.threads.total // self._backend.threads)

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
            ModelDeadlineExceededError, ModelCallCancelledError: nobody wants the answer any more;
                checked before each forward pass.
            ModelRuntimeError: the network failed.
        """
        call = self.plan(images, parameters, color_order)
        context = current_call()
        results: dict[int, Prediction] = {}
        for rows in call.batches(self.max_batch):
            context.check(str(self.package.location))
            raw = self.forward(self.write(call, rows))
            for slot, row in enumerate(rows):
                results[row] = self.finish(call, row, raw, slot)
        return [results[row] for row in range(len(call.images))]

    def plan(
        self,
        images: Any,
        parameters: InferenceParameters | None = None,
        color_order: ColorOrder | None = None,
    ) -> PlannedCall:
        """A call with everything settled before a pixel is touched; arguments and errors as
        `infer`."""
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
        return PlannedCall(pixels, transforms, overrides, request)

    def write(self, call: PlannedCall, rows: Sequence[int]) -> np.ndarray:
        """The network's input for images of one network size, a row an image."""
        batch = self._pre.allocate(len(rows), call.transforms[rows[0]].network_size)
        for slot, row in enumerate(rows):
            self._pre.write(call.images[row], call.transforms[row], batch[slot], call.overrides)
        return batch

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Raw outputs by name for at most `max_batch` rows of input, in the order of the graph.

        A graph for a fixed number of images gets empty ones behind the rows.

        Raises:
            ModelRuntimeError: the network failed, or answered for another number of images.
        """
        rows, fixed = len(batch), self.fixed_batch
        if fixed is not None and rows < fixed:
            empty = np.zeros((fixed - rows, *batch.shape[1:]), dtype=batch.dtype)
            batch = np.concatenate([batch, empty])
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
        return raw if rows == len(batch) else {name: value[:rows] for name, value in raw.items()}

    def finish(
        self, call: PlannedCall, row: int, raw: Mapping[str, np.ndarray], slot: int
    ) -> Prediction:
        """The prediction for one image of a call, whose raw outputs lie in a row of a batch's."""
        return self._post.run(raw, slot, call.transforms[row], call.request)

    def warm_up(self) -> None:
        """Runs the network once on an empty input, so that the first real call pays for nothing
        special."""
        height, width = self.input_size or (256, 256)
        self.infer(np.zeros((height, width, 3), dtype=np.uint8))

    def close(self) -> None:
        """Frees the weights. The model is not used afterwards."""
        self._backend.close()


@dataclass(frozen=True, slots=True)
class _Fit:
    """The package's description of the input after the graph had its say."""

    config: InferenceConfig
    fixed_size: tuple[int, int] | None
    fixed_batch: int | None
    max_batch: int
    stretched: bool


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
    fixed = fixed_size is not None or family.stretches_input
    if network.resize_mode == "fit-longer-edge" and fixed:
        changes: dict[str, Any] = {"resize_mode": family.fit_longer_edge_as}
        if family.fit_longer_edge_as == "letterbox" and network.padding_value is None:
            changes["padding_value"] = _GRAY_EDGES
        network = network.model_copy(update=changes)
    if network.scaling_factor is None and network.dtype != "uint8":
        network = network.model_copy(update={"scaling_factor": family.scaling_factor})
    stretched = family.stretches_input and network.resize_mode != "stretch"
    if stretched and network.dataset_version_resize_dimensions is None:
        _log.warning(
            '%s: the images of a "%s" are stretched; without dataset_version_resize_dimensions the '
            "resize mode %s is left out",
            package.location,
            package.architecture,
            network.resize_mode,
        )
        network, stretched = network.model_copy(update={"resize_mode": "stretch"}), False
    config = config.model_copy(update={"network_input": network})
    forward = config.forward_pass
    limit = forward.static_batch_size or forward.max_dynamic_batch_size or DEFAULT_BATCH_SIZE
    return _Fit(config, fixed_size, batch, batch or limit, stretched)


def _declared_size(network: NetworkInput) -> tuple[int, int] | None:
    size = network.training_input_size
    return None if size is None else (size.height, size.width)
