"""Puts stored workflows into the steps that name them by their ids: `<workspace>/<id>.json` or
`<id>.json` beside the file of the workflow around them. Compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from execution_engine.compiler.inner_workflows import DEEPEST, MOST
from execution_engine.definition.model import INNER_WORKFLOW_TYPE
from execution_engine.errors import WorkflowDefinitionError
from workflows.files import FileStamp, file_stamp
from workflows.stored_names import candidates, is_inside, is_plain_name

_DEFINITION = "workflow_definition"
_WORKSPACE, _ID, _VERSION = "workflow_workspace_id", "workflow_id", "workflow_version_id"
_CONTEXT = "workflow_compilation | workflow_definition_loading"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A definition with stored workflows in place of their ids.

    Attributes:
        definition: the JSON value; the one that was given where nothing was put into it.
        stamps: the files that were looked for, each as it was before it was read.
    """

    definition: Any
    stamps: Mapping[Path, FileStamp | None]


def embed_stored(definition: Any, path: Path, read: Callable[[Path], Any]) -> Embedded:
    """A definition with the stored workflows that its steps name.

    A step whose workflow is not there stays as it is: it is reported with all other faults, and the
    rest can be looked at.

    Args:
        definition: the JSON value of a file.
        path: that file.
        read: gives the JSON value of a file.

    Raises:
        WorkflowDefinitionError: a workflow holds itself, or more others than it may hold.
        Others: what `read` raises.
    """
    embedding = _Embedding(read)
    return Embedded(embedding.filled(definition, path, ()), embedding.stamps)


class _Embedding:
    def __init__(self, read: Callable[[Path], Any]) -> None:
        self.stamps: dict[Path, FileStamp | None] = {}
        self._read = read
        self._known: dict[Path, Any] = {}
        self._count = 0

    def filled(self, definition: Any, path: Path, around: tuple[Path, ...]) -> Any:
        """The definition of a file; `around` are the files it lies in, the outermost first."""
        steps = definition.get("steps") if isinstance(definition, dict) else None
        if not isinstance(steps, list) or len(around) > DEEPEST:
            return definition
        new = [self._step(step, path, around) for step in steps]
        if all(one is other for one, other in zip(new, steps, strict=True)):
            return definition
        return {**definition, "steps": new}

    def _step(self, step: Any, path: Path, around: tuple[Path, ...]) -> Any:
        if not isinstance(step, dict) or step.get("type") != INNER_WORKFLOW_TYPE:
            return step
        given = step.get(_DEFINITION)
        if given is not None:
            filled = self.filled(given, path, around)
            return step if filled is given else {**step, _DEFINITION: filled}
        found = self._file_of(step, path.parent)
        if found is None:
            return step
        chain = (*around, path)
        if found in (one.resolve() for one in chain):
            names = " in ".join(one.stem for one in (found, *reversed(chain)))
            raise WorkflowDefinitionError(
                f"The workflow file '{path}': step '{step.get('name')}' holds a workflow that it "
                f"lies in itself ({names}).",
                _CONTEXT,
            )
        self._count += 1
        if self._count > MOST:
            raise WorkflowDefinitionError(
                f"The workflow file '{chain[0]}' holds more than {MOST} inner workflows.", _CONTEXT
            )
        if found not in self._known:
            self._known[found] = self._read(found)
        others = {key: value for key, value in step.items() if key not in (_WORKSPACE, _ID)}
        return {**others, _DEFINITION: self.filled(self._known[found], found, chain)}

    def _file_of(self, step: dict[str, Any], folder: Path) -> Path | None:
        """The file of the workflow that a step names, None where there is none."""
        from workflows.locking.lock_file import is_lock_path

        workspace, name = step.get(_WORKSPACE), step.get(_ID)
        # Stored workflows have no versions: a step that asks for one is refused.
        if step.get(_VERSION) is not None:
            return None
        if not (is_plain_name(workspace) and is_plain_name(name)):
            return None
        for _, candidate in candidates(folder, str(workspace), str(name)):
            file = candidate.resolve()
            if file not in self.stamps:
                self.stamps[file] = file_stamp(file)
            is_there = self.stamps[file] is not None and is_inside(candidate, folder)
            if is_there and not is_lock_path(file):
                return file
        return None
