"""`ModelManager`: the one door to models. `infer` is all a caller needs; what lies behind may
change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from inference_models.backends.backend import BackendOpener
from inference_models.backends.openers import built_in_backends
from inference_models.backends.threads import ThreadBudget
from inference_models.errors import InvalidParameterError, ModelLoadingError, ModelNotFoundError
from inference_models.families.catalogue import BUILT_IN_FAMILIES
from inference_models.families.descriptor import Family
from inference_models.families.parameters import (
    PARAMETERS_OF_TASK,
    InferenceParameters,
    ParameterDefaults,
)
from inference_models.families.pipeline import Prediction
from inference_models.families.request import ClassTable
from inference_models.manager.descriptions import ModelDescription, ModelStatus
from inference_models.manager.dispatch import Dispatcher, DispatcherFactory, InlineDispatcher
from inference_models.manager.model import Model, ModelSettings
from inference_models.manager.negotiation import PackagePreferences
from inference_models.manager.package_selection import PackageSelector
from inference_models.manager.residency import ModelMemory, Resident, Slot, SlotForgotten
from inference_models.manager.resolution import ModelResolver, canonical_id
from inference_models.packages.package import ModelPackage
from inference_models.preprocessing.images import ColorOrder

# (model id, seconds, images answered or None when the call failed), after each call of a model
CallObserver = Callable[[str, float, int | None], None]


class ModelManager:
    """Holds models and runs them. All methods may be called from several threads at once.

    A model id is an alias registered here, the id of a package in one of the folders
    (`name/version`), or a path to a package folder or to a lone `.onnx` or `.torchscript` file.
    Paths are told by their spelling: they begin with `file:`, `/`, `./`, `../` or `~`, or end in a
    weights suffix. Ids, paths and aliases of one place share one model.

    Args:
        model_directories: folders that hold packages as `<directory>/<name>/<version>`.
        max_bytes: limit on the bytes of all models in memory; None for no limit.
        allow_paths: whether paths are accepted as model ids. Aliases to paths always are.
        defaults: parameters where neither a call nor a package names any.
        device: `cpu`, `cuda` or `cuda:<n>`.
        threads: cores that all models share; the process's own when None.
        backends: name to opener; the built-in ones when None.
        families: the table of families; the built-in one when None.
        dispatcher: makes what takes the calls of a loaded model, such as `dynamic_batching()`; each
            call runs on its own thread when None.
        preferences: which of several packages of a model is taken; host code of TensorRT engines.

    Attributes:
        observer: called after each call of a model that was found, on the thread of the call.
    """

    def __init__(
        self,
        *,
        model_directories: Iterable[Path | str] = (),
        max_bytes: int | None = None,
        allow_paths: bool = True,
        defaults: ParameterDefaults | None = None,
        device: str = "cpu",
        threads: ThreadBudget | None = None,
        backends: Mapping[str, BackendOpener] | None = None,
        families: Iterable[Family] | None = None,
        dispatcher: DispatcherFactory | None = None,
        preferences: PackagePreferences | None = None,
    ) -> None:
        self._resolver = ModelResolver(model_directories, allow_paths)
        self._alias_resolver = ModelResolver(model_directories, allow_paths=True)
        self._settings = ModelSettings(
            backends=built_in_backends() if backends is None else dict(backends),
            families=BUILT_IN_FAMILIES if families is None else tuple(families),
            defaults=defaults or ParameterDefaults(),
            device=device,
            threads=threads or ThreadBudget(),
            engine_host_code_allowed=bool(preferences and preferences.engine_host_code_allowed),
        )
        self._selector = PackageSelector(
            self._settings.backends, self._settings.families, device, preferences
        )
        self.observer: CallObserver | None = None
        self._make_dispatcher: Callable[[Model], Dispatcher] = dispatcher or InlineDispatcher
        self._memory = ModelMemory(self._load, max_bytes)
        self._lock = Lock()
        self._aliases: dict[str, str] = {}
        self._by_id: dict[str, Slot] = {}
        self._by_place: dict[Path, Slot] = {}

    def infer(
        self,
        model_id: str,
        images: Any,
        params: InferenceParameters | Mapping[str, Any] | None = None,
        *,
        color_order: ColorOrder | None = None,
    ) -> list[Prediction]:
        """Predictions of a model for each image, in the order of the images. Loads the model when
        needed.

        Args:
            model_id: alias, `name/version` or path.
            images: (h, w, 3) BGR or (h, w) uint8 array, (3, h, w) RGB uint8 tensor, or a list of
                them.
            params: what the call asks for; names and values, or the object made of them.
            color_order: order of the channels; None means BGR for arrays and RGB for tensors.

        Raises:
            ModelNotFoundError: there is no such model.
            ModelLoadingError: it does not load.
            ModelInputError: an image is not an image.
            InvalidParameterError: a parameter is unknown, out of range, or without effect on this
                task.
            ModelBusyError: too many calls wait for the model.
            ModelDeadlineExceededError, ModelCallCancelledError: what `call_context` says of the
                call came true before its network ran.
            ModelRuntimeError: the network failed.
            ModelManagerClosedError: the manager was closed.
        """
        parameters = _as_parameters(params)
        with self._lease(model_id) as resident:
            observer = self.observer
            if observer is None:
                return resident.dispatcher.run(images, parameters, color_order)
            started, answers = time.perf_counter(), None
            try:
                answers = resident.dispatcher.run(images, parameters, color_order)
                return answers
            finally:
                count = None if answers is None else len(answers)
                observer(model_id, time.perf_counter() - started, count)

    def add(self, model_id: str, package: ModelPackage | None = None) -> ModelDescription:
        """Makes a model known without loading it. Adding the same again does nothing.

        Args:
            model_id: alias, `name/version` or path; a free name when a package is given.
            package: the package to put behind the name.

        Raises:
            ModelNotFoundError: there is no such model.
            InvalidParameterError: the name already stands for another package.
        """
        if package is not None:
            name = canonical_id(model_id)
            with self._lock:
                known = self._by_id.get(name)
                if known is None and name not in self._aliases:
                    self._by_id[name] = self._memory.add(package)
                elif known is None or known.package != package:
                    raise InvalidParameterError(f'"{model_id}" already stands for another model')
        return self.describe(model_id)

    def register_alias(self, alias: str, target: str) -> None:
        """Lets a name stand for another id or for a path.

        Raises:
            ModelNotFoundError: the target does not exist.
            InvalidParameterError: the alias already stands for something else.
        """
        place = canonical_id(target)
        with self._lock:
            place = self._aliases.get(place, place)
        if place not in self._by_id:
            self._find(place, self._alias_resolver)
        with self._lock:
            known = self._aliases.get(alias)
            if known == place:
                return
            if known is not None or alias in self._by_id:
                raise InvalidParameterError(
                    f'alias "{alias}" cannot stand for "{target}": it already stands for '
                    f'"{known or alias}"'
                )
            self._aliases[alias] = place

    def warm_up(self, model_id: str) -> float:
        """Loads a model and runs it once on an empty image; returns the seconds it took."""
        start = time.perf_counter()
        with self._lease(model_id) as resident:
            resident.model.warm_up()
        return time.perf_counter() - start

    def describe(self, model_id: str) -> ModelDescription:
        """What a model's package says of it; nothing is loaded."""
        package = self._slot(model_id).package
        return ModelDescription(
            model_id=model_id,
            task=package.task,
            architecture=package.architecture,
            backend=package.backend,
            class_names=ClassTable(package.class_names, package.removed_classes).names,
            keypoints=package.keypoints,
            parameters=PARAMETERS_OF_TASK[package.task],
            location=package.location,
        )

    def package(self, model_id: str) -> ModelPackage:
        """The package of a model, for digests and lock files; nothing is loaded."""
        return self._slot(model_id).package

    def list_models(self) -> list[ModelStatus]:
        """State of every model this manager was asked for, by first id."""
        with self._lock:
            ids: dict[int, list[str]] = {}
            slots: dict[int, Slot] = {}
            for model_id, slot in self._by_id.items():
                ids.setdefault(id(slot), []).append(model_id)
                slots[id(slot)] = slot
        statuses = []
        for key, slot in slots.items():
            resident = slot.resident
            statuses.append(
                ModelStatus(
                    model_ids=tuple(ids[key]),
                    task=slot.package.task,
                    loaded=resident is not None,
                    nbytes=0 if resident is None else resident.nbytes,
                    in_use=0 if resident is None else resident.in_use,
                    loads=slot.loads,
                    statistics=None if resident is None else resident.dispatcher.statistics(),
                )
            )
        return sorted(statuses, key=lambda status: status.model_ids)

    def available_models(self) -> list[str]:
        """Ids of the packages in the folders of models."""
        return self._resolver.known_ids()

    @property
    def device(self) -> str:
        """Where models run: `cpu`, `cuda` or `cuda:<n>`."""
        return self._settings.device

    @property
    def total_bytes(self) -> int:
        """Bytes of all models in memory."""
        return self._memory.total_bytes

    def unload(self, model_id: str) -> bool:
        """Frees a model; calls under way finish first. A later call reads the package and loads it
        again.

        Returns:
            Whether it was in memory.
        """
        slot = self._slot(model_id)
        return self._memory.drop(slot, forget=self._forget_names(slot))

    def close(self) -> None:
        """Waits for the calls under way, then frees all models. No call is served afterwards."""
        self._memory.close()

    def __contains__(self, model_id: str) -> bool:
        with self._lock:
            return canonical_id(model_id) in self._by_id or model_id in self._aliases

    def __enter__(self) -> ModelManager:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _lease(self, model_id: str) -> Iterator[Resident]:
        """Holds a model in memory while the block runs."""
        while True:
            slot = self._slot(model_id)
            try:
                resident = self._memory.acquire(slot)
                break
            except SlotForgotten:
                # Unloaded since it was looked up: look it up again.
                self._forget_names(slot)
            except (ModelLoadingError, ModelNotFoundError):
                # Its files may be put right: the next call reads the package anew.
                self._memory.drop(slot, forget=self._forget_names(slot))
                raise
        try:
            yield resident
        finally:
            self._memory.release(resident)

    def _slot(self, model_id: str) -> Slot:
        name = canonical_id(model_id)
        slot = self._by_id.get(name) if isinstance(name, str) else None
        if slot is None:
            with self._lock:
                target = self._aliases.get(name) if isinstance(name, str) else None
            if target is None:
                slot = self._find(name, self._resolver)
            else:
                slot = self._by_id.get(target) or self._find(target, self._alias_resolver)
            with self._lock:
                self._by_id[name] = slot
        return slot

    def _find(self, name: str, resolver: ModelResolver) -> Slot:
        """The slot of what lies at the place of an id or path."""
        place = resolver.resolve(name)
        with self._lock:
            slot = self._by_place.get(place)
        if slot is not None:
            return slot
        package = self._selector.package_at(place)
        with self._lock:
            slot = self._by_place.get(place)
            if slot is None:
                slot = self._by_place[place] = self._memory.add(package)
            return slot

    def _forget_names(self, slot: Slot) -> bool:
        """Takes a slot out of the tables; whether it came from disk and can be found again."""
        with self._lock:
            by_place = {place: one for place, one in self._by_place.items() if one is not slot}
            from_disk = len(by_place) < len(self._by_place)
            if from_disk or slot.forgotten:
                self._by_place = by_place
                self._by_id = {name: one for name, one in self._by_id.items() if one is not slot}
            return from_disk

    def _load(self, package: ModelPackage) -> tuple[Model, Dispatcher]:
        model = Model(package, self._settings)
        return model, self._make_dispatcher(model)


def _as_parameters(
    params: InferenceParameters | Mapping[str, Any] | None,
) -> InferenceParameters:
    if params is None:
        return InferenceParameters()
    if isinstance(params, InferenceParameters):
        return params
    if isinstance(params, Mapping):
        return InferenceParameters.from_mapping(params)
    raise InvalidParameterError(
        f"params must be names and values or InferenceParameters, got {type(params).__name__}"
    )
