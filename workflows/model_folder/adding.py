"""Copies a model into a folder of models, so that it appears there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inference_models.errors import (
    CorruptedModelPackageError,
    InvalidModelInitParameterError,
    ModelNotFoundError,
    ModelRetrievalError,
)
from inference_models.packages.loader import load_packages
from inference_models.packages.model_config import ModelConfig
from inference_models.packages.package import ModelPackage
from inference_models.packages.writer import write_package
from workflows.model_folder.checksums import ChecksumsError, checksums_text, verify_package
from workflows.model_folder.naming import checked_id, folder_of, id_from_source
from workflows.model_folder.package_files import CHECKSUMS_FILE, FileDigests, file_names

# Packages are looked for two levels below the folder; what is here lies deeper.
STAGING = ".weftlens-incoming"
_CONTENT = "content"
_ABANDONED_SECONDS = 24 * 3600


def add_model(directory: Path, source: Path, model_id: str | None = None) -> str:
    """Copies a model into a folder of models and writes its `SHA256SUMS`; gives its id.

    Args:
        directory: the folder of models; made when missing.
        source: a package folder, or a lone `.onnx` or `.torchscript` file that says what it is.
        model_id: `name/version`; from the package or its name when None.

    Raises:
        InferenceModelsError: the source is no model, its `SHA256SUMS` does not hold, the id cannot
            be used, or a model of this id is there already; `ModelRetrievalError` when it cannot be
            copied, as when the disk is full. Nothing is left behind then.
    """
    packages = load_packages(source)
    if not packages:
        raise ModelNotFoundError(f"{source} holds no package")
    if source.is_dir():
        _refuse_changed(source)
    name = checked_id(id_from_source(source, packages[0]) if model_id is None else model_id)
    target = folder_of(directory, name)
    if os.path.lexists(target):
        raise InvalidModelInitParameterError(
            f'model "{name}" is in {directory} already',
            hint=f"remove it first: weftlens models remove {name}",
        )
    try:
        with _staging(directory) as content:
            if source.is_dir():
                _copy_folder(source, content)
            else:
                write_package(content, _config_of(packages[0]), source)
            load_packages(content)
            _finish(content)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(content, target)
            _flush(target.parent)
    except (OSError, shutil.Error) as error:
        with suppress(OSError):
            target.parent.rmdir()  # other versions are in it, or it was never made
        raise _copy_error(name, target, error) from error
    return name


def _refuse_changed(source: Path) -> None:
    try:
        found = verify_package(source, FileDigests())
    except ChecksumsError as error:
        raise CorruptedModelPackageError(str(error)) from error
    except OSError as error:
        raise CorruptedModelPackageError(f"{source} cannot be read: {error}") from error
    if found is not None and not found.ok:
        parts = [
            f"{word}: {', '.join(names)}"
            for word, names in (
                ("changed", found.changed), ("missing", found.missing), ("new", found.added),
            )
            if names
        ]  # fmt: skip
        raise CorruptedModelPackageError(
            f"{source} is not what its {CHECKSUMS_FILE} says ({'; '.join(parts)})"
        )


def _config_of(package: ModelPackage) -> ModelConfig:
    """The configuration of a lone file, which says in itself what it is."""
    return ModelConfig(
        model_architecture=package.architecture,
        backend_type=package.backend,
        task_type=package.task,
        model_id=package.model_id,
        class_names=package.class_names,
        keypoints_metadata=package.keypoints or None,
        inference_config=package.inference,
        outputs=package.outputs,
        recommended_parameters=package.recommended,
    )


@contextmanager
def _staging(directory: Path) -> Iterator[Path]:
    """A place on the same file system where nobody looks for models; empty again afterwards."""
    staging = directory / STAGING
    staging.mkdir(parents=True, exist_ok=True)
    _sweep(staging)
    own = staging / secrets.token_hex(8)
    own.mkdir(parents=True)
    try:
        yield own / _CONTENT
    finally:
        shutil.rmtree(own, ignore_errors=True)
        with suppress(OSError):  # another copy is under way
            staging.rmdir()


def _sweep(staging: Path) -> None:
    """Removes what copies left that were killed long ago."""
    for left in staging.iterdir():
        with suppress(OSError):  # another copy may have ended meanwhile
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _copy_folder(source: Path, target: Path) -> None:
    """Copies the files of a package, the content of links to files in place of the links."""
    target.mkdir()
    for folder in sorted(path for path in source.rglob("*") if path.is_dir()):
        if folder.is_symlink():
            raise CorruptedModelPackageError(f"{folder} is a link to a folder; copy its files")
    for name in file_names(source):
        path = source / name
        if not stat.S_ISREG(path.stat().st_mode):
            raise CorruptedModelPackageError(f"{path} is no regular file")
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _finish(content: Path) -> None:
    """Writes the digests and makes sure that all of it is on the disk."""
    files = FileDigests().of_package(content).files
    (content / CHECKSUMS_FILE).write_text(checksums_text(files), encoding="utf-8", newline="\n")
    for name in (*files, CHECKSUMS_FILE):
        _flush(content / name)
    _flush(content)


def _flush(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return  # other systems do not open folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy_error(name: str, target: Path, error: Exception) -> ModelRetrievalError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ModelRetrievalError(
            f'model "{name}" does not fit: the disk of {target.parent} is full',
            hint="nothing was left behind",
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
        return ModelRetrievalError(f'model "{name}" was added by somebody else meanwhile')
    return ModelRetrievalError(f'model "{name}" cannot be copied to {target}: {error}')
