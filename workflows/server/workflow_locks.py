"""Locks on a server: those that requests bring, and those of stored workflows with `--locked`.
Compares nothing itself; the checks of the session do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.errors import WorkflowError
from workflows.loading import load_definition
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import lock_path
from workflows.server.workflow_folder import stored_files

if TYPE_CHECKING:
    from workflows.server.host import ServerHost
    from workflows.server.request_bodies import RunOptions
    from workflows.session import Session


def check_locks(
    host: ServerHost, definition: Mapping[str, Any], options: RunOptions, stored: Path | None
) -> str | None:
    """Refuses a run that differs from the lock it came with, or from that of a stored workflow.

    Args:
        host: session and settings.
        definition: the workflow.
        options: inputs and the lock of the request.
        stored: file of a stored workflow, None for one that was sent along.

    Returns:
        Digest of the lock that the request brought, which tells the client that it was checked.

    Raises:
        LockDriftError: something differs.
        WorkflowLockError: a lock cannot be read, or there is none where the server wants one.
    """
    locks = host.session.locks
    if host.settings.locked:
        if stored is not None:
            locks.check(definition, lock_path(stored), options.inputs, workflow_name=str(stored))
        elif options.lock is None:
            raise WorkflowLockError(
                "This server runs only what is locked; send the lock of the workflow along as "
                "`lock`."
            )
    if options.lock is None:
        return None
    lock = locks.load(options.lock)
    locks.check(definition, lock, options.inputs)
    return lock.digest


def find_unlocked(session: Session, folder: Path) -> Iterator[tuple[Path, WorkflowError]]:
    """The stored workflows of a folder that have no lock that holds, each with what is wrong."""
    if not folder.is_dir():
        yield folder, WorkflowLockError(f"There is no folder of workflows '{folder}'.")
        return
    for path in stored_files(folder):
        try:
            definition = load_definition(path).definition
            session.locks.check(definition, lock_path(path), workflow_name=str(path))
        except WorkflowError as error:
            yield path, error
