"""Ids of models as names of folders: what is allowed, and where a model lies. Touches no file."""

from __future__ import annotations

import unicodedata
from pathlib import Path, PurePosixPath

from inference_models.errors import InsecureModelIdentifierError
from inference_models.manager.resolution import is_path
from inference_models.packages.package import ModelPackage

# Forbidden on some file system, or read by some shell.
_FORBIDDEN = frozenset('\\/<>:"|?*')
_LONGEST_PART = 200
_PARTS = 2


def checked_id(model_id: str) -> str:
    """The id in the form it is stored under (Unicode NFC).

    Raises:
        InsecureModelIdentifierError: it is no `name/version` that is safe as a folder anywhere.
    """
    fault = _fault(model_id)
    if fault:
        raise InsecureModelIdentifierError(
            f"model id {model_id!r} cannot be used: {fault}; expected name/version, such as parts/1"
        )
    return unicodedata.normalize("NFC", model_id)


def _fault(model_id: str) -> str | None:
    parts = model_id.split("/")
    if len(parts) != _PARTS:
        return f"it has {len(parts)} part{'s' * (len(parts) != 1)} between slashes"
    if is_path(model_id):
        return "it reads as a path"
    for part in parts:
        if not part:
            return "a part is empty"
        if part.startswith("."):
            return f"'{part}' begins with a dot"
        if part != part.strip() or part.endswith("."):
            return f"'{part}' begins or ends with a space or ends with a dot"
        bad = [one for one in part if one in _FORBIDDEN or not one.isprintable()]
        if bad:
            return f"'{part.encode('unicode_escape').decode()}' holds {bad[0]!r}"
        if len(unicodedata.normalize("NFC", part).encode("utf-8", "replace")) > _LONGEST_PART:
            return f"'{part[:20]}...' is longer than {_LONGEST_PART} bytes"
    return None


def folder_of(directory: Path, model_id: str) -> Path:
    """Where a model of a checked id lies."""
    return directory.joinpath(*PurePosixPath(model_id).parts)


def id_from_source(source: Path, package: ModelPackage) -> str:
    """The id a package gets when nobody names one: its own, or one from the name of its file or
    folder.
    """
    if package.model_id and _fault(package.model_id) is None:
        return package.model_id
    path = source.resolve()
    if path.is_dir():
        if path.name.lstrip("vV").isdigit() and path.parent.name:
            return f"{path.parent.name}/{path.name}"
        return f"{path.name}/1"
    return f"{path.stem}/1"
