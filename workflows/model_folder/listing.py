"""What is in the folders of models, without loading any. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_models.errors import InferenceModelsError, ModelNotFoundError
from inference_models.manager.resolution import ModelResolver
from inference_models.packages.loader import load_packages
from inference_models.packages.package import ModelPackage
from workflows.model_folder.package_files import FileDigests


@dataclass(frozen=True, slots=True)
class FolderModel:
    """One model of a folder.

    Attributes:
        model_id: `name/version`.
        location: its folder.
        packages: its packages, usually one; none when it cannot be read.
        fault: why it cannot be read, else empty.
    """

    model_id: str
    location: Path
    packages: tuple[ModelPackage, ...]
    fault: str = ""


def list_models(directories: Sequence[Path]) -> list[FolderModel]:
    """Every model of some folders by id; of equal ids the one in the earlier folder, which is the
    one that is used.
    """
    found: dict[str, FolderModel] = {}
    for directory in directories:
        for model_id in ModelResolver([directory], allow_paths=False).known_ids():
            if model_id not in found:
                found[model_id] = _read(model_id, directory.joinpath(*model_id.split("/")))
    return [found[model_id] for model_id in sorted(found)]


def find_model(directories: Sequence[Path], model_id: str) -> FolderModel:
    """One model of some folders.

    Raises:
        ModelNotFoundError, InsecureModelIdentifierError: there is none, or the id is none.
    """
    return _read(model_id, ModelResolver(directories, allow_paths=False).resolve(model_id))


def describe_model(model: FolderModel, digests: FileDigests) -> dict[str, Any]:
    """A model as JSON data: what it does, its input, its classes, its files and their digests.

    Raises:
        ModelNotFoundError: a file is gone or cannot be read.
    """
    try:
        digest = digests.of_package(model.location)
    except OSError as error:
        raise ModelNotFoundError(f"{model.location} cannot be read: {error}") from error
    return {
        "id": model.model_id,
        "location": str(model.location),
        "digest": digest.total,
        "files": dict(digest.files),
        "packages": [describe_package(package) for package in model.packages],
        "fault": model.fault or None,
    }


def describe_package(package: ModelPackage) -> dict[str, Any]:
    """A package as JSON data; `input` holds height and width in px where the network fixes them."""
    network = package.inference.network_input
    size = network.training_input_size
    return {
        "task": str(package.task),
        "architecture": package.architecture,
        "backend": package.backend,
        "classes": [name for name in package.class_names if name not in package.removed_classes],
        "input": {
            "height": None if size is None else size.height,
            "width": None if size is None else size.width,
            "channels": network.input_channels,
            "color": network.color_mode,
        },
        "bytes": package.nbytes,
    }


def _read(model_id: str, location: Path) -> FolderModel:
    try:
        return FolderModel(model_id, location, tuple(load_packages(location)))
    except InferenceModelsError as error:
        return FolderModel(model_id, location, (), str(error))
