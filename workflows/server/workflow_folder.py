"""`WorkflowFolder`: stored workflows by id, read from a folder of JSON files. Compiles nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from execution_engine.errors import WorkflowDefinitionError
from workflows.files import FileStamp, file_stamp
from workflows.loading import load_definition
from workflows.locking.lock_file import is_lock_path
from workflows.server.faults import InvalidRequestError, NotFoundError
from workflows.stored_names import LONGEST_NAME, candidates, is_inside, is_plain_name

_DEPTHS = ("*.json", "*/*.json")
Permits = Callable[[str], bool]
_MOST_KEPT = 256


class _Kept(NamedTuple):
    """A definition and the state of each file it was made of."""

    stamps: Mapping[Path, FileStamp | None]
    definition: Mapping[str, Any]

    @property
    def is_current(self) -> bool:
        return all(file_stamp(path) == stamp for path, stamp in self.stamps.items())


class WorkflowFolder:
    """Finds `<folder>/<workspace>/<id>.json`, else `<folder>/<id>.json`, so that one folder can
    serve clients that name any workspace. A file is read again when it changes. Thread-safe.

    Args:
        folder: where the files are; it may come into being later.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, workspace: str, workflow_id: str, permits: Permits | None = None
    ) -> Mapping[str, Any]:
        """The definition stored under an id; arguments and errors as `locate`, and

        Raises:
            WorkflowSyntaxError: its file is no JSON.
            WorkflowDefinitionError: its file cannot be read.
        """
        return self._read(self.locate(workspace, workflow_id, permits))

    def locate(self, workspace: str, workflow_id: str, permits: Permits | None = None) -> Path:
        """The file of the workflow stored under an id.

        Args:
            workspace: the workspace that is asked for.
            workflow_id: the id that is asked for.
            permits: whether a file may be used, by its own id: `shop/count` for a file of the
                workspace `shop`, `count` for one that serves every workspace. All when None.

        Raises:
            InvalidRequestError: the id or the workspace is no plain name.
            NotFoundError: there is no such workflow, or not for the caller: who may not run one
                does not learn that it is there. The locks of workflows are none.
            WorkflowDefinitionError: its file cannot be read.
        """
        for name, what in ((workspace, "workspace"), (workflow_id, "workflow id")):
            _require_plain(name, what)
        for own_id, candidate in candidates(self._folder, workspace, workflow_id):
            try:
                candidate.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise _unreadable(workflow_id, error) from error
            if is_inside(candidate, self._folder) and not is_lock_path(candidate):
                if permits is None or permits(own_id):
                    return candidate
                break  # another file than the one that everybody gets would be a surprise
        raise NotFoundError(f"There is no workflow '{workflow_id}' in workspace '{workspace}'.")

    def _read(self, path: Path) -> Mapping[str, Any]:
        with self._lock:
            kept = self._kept.get(path)
        if kept is not None and kept.is_current:
            with self._lock:
                if path in self._kept:
                    self._kept.move_to_end(path)
            return kept.definition
        loaded = load_definition(path)
        definition = loaded.definition
        if not isinstance(definition, dict):
            raise WorkflowDefinitionError(
                f"The workflow '{path.stem}' is stored as no JSON object.", "stored_workflow"
            )
        with self._lock:
            self._kept[path] = _Kept(loaded.stamps, definition)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return definition


def stored_files(folder: Path) -> list[Path]:
    """The files of a folder that are stored workflows; none where there is no folder."""
    found = (path for pattern in _DEPTHS for path in folder.glob(pattern))
    return sorted(
        path for path in found if not is_lock_path(path) and not path.name.startswith(".")
    )


def _unreadable(workflow_id: str, error: OSError) -> WorkflowDefinitionError:
    return WorkflowDefinitionError(
        f"The workflow '{workflow_id}' cannot be read: {error.strerror}.", "stored_workflow", error
    )


def _require_plain(name: str, what: str) -> None:
    """Refuses names that could mean another place than a file of that name."""
    if not is_plain_name(name):
        raise InvalidRequestError(
            f"A {what} is a name of at most {LONGEST_NAME} bytes without '/', '\\', ':', control "
            "characters and a leading '.'."
        )
