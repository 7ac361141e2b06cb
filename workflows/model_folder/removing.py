"""Removes a model from a folder of models, unless a lock file needs it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from inference_models.errors import InvalidParameterError, ModelNotFoundError, ModelRetrievalError
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import LOCK_SUFFIX, read_lock
from workflows.model_folder.adding import STAGING
from workflows.model_folder.naming import checked_id, folder_of


def locks_using(model_id: str, locks: Path) -> list[Path]:
    """Lock files below a folder that hold a model.

    Raises:
        InvalidParameterError: there is no such folder, or a lock in it cannot be read: it may hold
            the model.
    """
    if not locks.is_dir():
        raise InvalidParameterError(f"there is no folder of locks {locks}")
    users = []
    for path in sorted(locks.rglob(f"*{LOCK_SUFFIX}")):
        try:
            if model_id in read_lock(path).models:
                users.append(path)
        except WorkflowLockError as error:
            raise InvalidParameterError(
                f"it cannot be told whether a lock uses {model_id}: {error.public_message}"
            ) from error
    return users


def remove_model(directory: Path, model_id: str, locks: Path | None = None) -> None:
    """Removes a model from a folder.

    Args:
        directory: the folder of models.
        model_id: `name/version`.
        locks: folder whose lock files, at any depth, must not hold the model.

    Raises:
        InsecureModelIdentifierError: the id is none.
        ModelNotFoundError: there is no such model in the folder.
        InvalidParameterError: a lock holds the model.
        ModelRetrievalError: it cannot be removed.
    """
    name = checked_id(model_id)
    target = folder_of(directory, name)
    if not target.is_dir():
        raise ModelNotFoundError(f'no model "{name}" in {directory}')
    if locks is not None:
        users = locks_using(name, locks)
        if users:
            raise InvalidParameterError(
                f'model "{name}" is locked by {_listed(users)}', hint="remove those locks first"
            )
    # Out of sight first, in one step: nobody loads half a model.
    hidden = directory / STAGING / secrets.token_hex(8)
    try:
        hidden.mkdir(parents=True)
        os.rename(target, hidden / "removed")
        shutil.rmtree(hidden)
    except OSError as error:
        raise ModelRetrievalError(f'model "{name}" cannot be removed: {error}') from error
    for folder in (hidden.parent, target.parent):
        with suppress(OSError):  # others are in it
            folder.rmdir()


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(str(path) for path in paths)
