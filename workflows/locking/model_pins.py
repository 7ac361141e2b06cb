"""What is locked of a model: digests of its files. Compares nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workflows.locking.lock_file import ModelPin

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager
    from workflows.model_folder.package_files import FileDigests


def pin_model(manager: ModelManager, files: FileDigests, model_id: str) -> ModelPin | str:
    """The pin of a model of a manager, or why there is none."""
    from inference_models.errors import InferenceModelsError

    try:
        found = files.of_package(_whole_model(manager.package(model_id).location))
    except InferenceModelsError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror or error}"
    return ModelPin(digest=found.total, files=dict(found.files))


def _whole_model(location: Path) -> Path:
    """The folder of all packages of a model, of which hosts may choose different ones."""
    from inference_models.packages.loader import PACKAGES_FOLDER

    return location.parent.parent if location.parent.name == PACKAGES_FOLDER else location
