"""From a model id to the place of its package. Reads no package and loads nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from inference_models.errors import (
    DirectLocalStorageAccessError,
    InsecureModelIdentifierError,
    ModelNotFoundError,
    nearest_name_hint,
)
from inference_models.packages.loader import CONFIG_FILE, PACKAGES_FOLDER, WEIGHTS_SUFFIXES

FILE_SCHEME = "file:"
_PATH_STARTS = ("/", "./", "../", "~")


def is_path(model_id: str) -> bool:
    """Whether a model id is a path by its spelling alone, so that no folder can take the place of
    an id.

    Paths begin with `file:`, `/`, `./`, `../` or `~`, or end in a suffix of weights.
    """
    windows_drive = len(model_id) > 2 and model_id[1] == ":" and model_id[0].isalpha()
    return (
        model_id in (".", "..")
        or model_id.startswith((FILE_SCHEME, *_PATH_STARTS))
        or model_id.endswith(WEIGHTS_SUFFIXES)
        or windows_drive
    )


def canonical_id(model_id: str) -> str:
    """The id under which a model is remembered: of a path its absolute spelling, which stays right
    when the working directory changes."""
    if not isinstance(model_id, str) or not is_path(model_id):
        return model_id
    text = model_id.removeprefix(FILE_SCHEME)
    text = text.removeprefix("//") if text.startswith("///") else text
    return os.path.abspath(os.path.expanduser(text))


class ModelResolver:
    """Finds packages by id or by path.

    Args:
        directories: folders that hold packages as `<directory>/<name>/<version>`.
        allow_paths: whether a path is accepted as a model id.
    """

    def __init__(self, directories: Iterable[Path | str] = (), allow_paths: bool = True) -> None:
        self.directories = tuple(Path(one).expanduser() for one in directories)
        self.allow_paths = allow_paths

    def resolve(self, model_id: str) -> Path:
        """The folder or file of a model.

        Raises:
            ModelNotFoundError: nothing is there; the message says where was looked.
            InsecureModelIdentifierError: the id tries to leave the folders of models.
            DirectLocalStorageAccessError: the id is a path and paths are not allowed.
        """
        if not isinstance(model_id, str) or not model_id.strip():
            raise ModelNotFoundError(f"a model id must be a text such as name/1, got {model_id!r}")
        if is_path(model_id):
            return self._resolve_path(model_id)
        parts = PurePosixPath(model_id).parts
        if ".." in parts or "\\" in model_id or "\0" in model_id:
            raise InsecureModelIdentifierError(
                f'model id "{model_id}" must be a name and a version, such as name/1'
            )
        for directory in self.directories:
            candidate = directory.joinpath(*parts)
            if (candidate / CONFIG_FILE).is_file() or (candidate / PACKAGES_FOLDER).is_dir():
                return candidate
        raise self._not_found(model_id)

    def known_ids(self) -> list[str]:
        """Ids of the packages in the folders, sorted."""
        patterns = [
            f"{depth}/{mark}" for depth in ("*", "*/*") for mark in (CONFIG_FILE, PACKAGES_FOLDER)
        ]
        found = {
            mark.parent.relative_to(directory).as_posix()
            for directory in self.directories
            for pattern in patterns
            for mark in directory.glob(pattern)
            if mark.name == CONFIG_FILE or mark.is_dir()
        }
        return sorted(found)

    def _resolve_path(self, model_id: str) -> Path:
        if not self.allow_paths:
            raise DirectLocalStorageAccessError(
                f'model id "{model_id}" is a path, which this host does not allow',
                hint="use the id of a model in the host's folders, or an alias the host registered",
            )
        path = Path(canonical_id(model_id))
        if not path.exists():
            raise ModelNotFoundError(f"no model at {path}: no such file or folder")
        return path.resolve()

    def _not_found(self, model_id: str) -> ModelNotFoundError:
        looked = ", ".join(str(one.absolute()) for one in self.directories) or "no folder of models"
        hint = nearest_name_hint(model_id, self.known_ids())
        if hint is None and self.allow_paths and Path(model_id).exists():
            hint = f'a folder or file of that name exists here: write "./{model_id}" to use it'
        return ModelNotFoundError(f'no model "{model_id}": looked in {looked}', hint=hint)
