"""Reads a workflow definition from an object, a file or JSON text. Checks only that it is JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.problems import ProblemList
from execution_engine.errors import Problem, WorkflowDefinitionError, WorkflowSyntaxError
from workflows.files import FileStamp, file_stamp
from workflows.stored_inner import embed_stored

WorkflowSource = Mapping[str, Any] | str | PathLike[str]
_CONTEXT = "workflow_compilation | workflow_definition_loading"
_STORED_NAME = re.compile(r"[\w-]+/[\w-]+")


@dataclass(frozen=True, slots=True)
class LoadedDefinition:
    """A definition and where it came from.

    Attributes:
        definition: the JSON value; anything but an object is left for the compiler to report.
        origin: the path of the file, empty when there was none.
        stamps: files it was made of, and files that were looked for, each as it was before it was
            read.
    """

    definition: Any
    origin: str = ""
    stamps: Mapping[Path, FileStamp | None] = field(default_factory=dict)


def load_definition(source: WorkflowSource) -> LoadedDefinition:
    """The definition behind `source`. Inner workflows that a file names by their ids are put into
    it where they are stored beside it.

    Args:
        source: the JSON object itself, the path of a file, or JSON text (told by its first
            character `{`).

    Raises:
        WorkflowDefinitionError: the file or that of an inner workflow cannot be read, or a workflow
            holds itself.
        WorkflowSyntaxError: the text is no JSON, or an object has a name twice; `.errors` says
            where.
        TypeError: `source` is none of these.
    """
    if isinstance(source, Mapping):
        return LoadedDefinition(source)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return LoadedDefinition(_parse(source, "The workflow text"))
    if isinstance(source, (str, PathLike)):
        path = Path(fspath(source))
        stamp = file_stamp(path)
        embedded = embed_stored(read_json(path), path, read_json)
        stamps = {path: stamp, **embedded.stamps}
        return LoadedDefinition(embedded.definition, str(path), stamps)
    raise TypeError(
        f"a workflow is a JSON object, JSON text or the path of a file, got {type(source).__name__}"
    )


def read_json(path: Path) -> Any:
    """The JSON value of a file; errors as `load_definition`."""
    return _parse(_read(path), str(path))


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: characters no path can hold
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkflowDefinitionError(
            f"The workflow file '{path}' cannot be read: {reason}."
            f"{_server_hint(path) if isinstance(error, FileNotFoundError) else ''}",
            _CONTEXT,
            error,
        ) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkflowDefinitionError(
            f"The workflow file '{path}' is not UTF-8 text (byte {error.start}); save it as UTF-8 "
            "JSON.",
            _CONTEXT,
            error,
        ) from error


def _server_hint(path: Path) -> str:
    """For what looks like the name of a workflow on a server."""
    name = path.as_posix()
    if path.suffix or not _STORED_NAME.fullmatch(name):
        return ""
    return (
        f" A workflow that a server stores runs there: `weftlens run {name} --server URL`, or "
        f'`run_remotely("{name}", ..., server=URL)`.'
    )


def _parse(text: str, what: str) -> Any:
    duplicates = _DuplicateMembers()
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=duplicates.note)
    except json.JSONDecodeError as error:
        detail = error.msg[0].lower() + error.msg[1:]
        problem = Problem(
            "invalid_json",
            f"{what} is no JSON: line {error.lineno}, column {error.colno}: {detail}.",
            "",
            hint=_json_hint(text, error),
        )
        text_of_error = f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}"
        raise WorkflowSyntaxError(text_of_error, _CONTEXT, error, [problem]) from error
    except RecursionError as error:
        raise nested_too_deep(what, error) from error
    except ValueError as error:  # a number that JSON does not have or Python does not read
        problem = Problem("invalid_json", f"{what} cannot be read as JSON: {error}.", "")
        raise WorkflowSyntaxError(problem.message, _CONTEXT, error, [problem]) from error
    duplicates.refuse_any(value, what)
    return value


class _DuplicateMembers:
    """The names that objects of a text have more than once: of such values only the last is read,
    so a hand-written mistake would pass in silence.
    """

    def __init__(self) -> None:
        # The objects themselves are kept, so that no other takes over the id of one.
        self._found: dict[int, tuple[dict[str, Any], dict[str, int]]] = {}

    def note(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        """The object of some members; for `json.loads`."""
        made = dict(members)
        if len(made) < len(members):
            counts = Counter(name for name, _ in members)
            twice = {name: count for name, count in counts.items() if count > 1}
            self._found[id(made)] = made, twice
        return made

    def refuse_any(self, value: Any, what: str) -> None:
        """Raises for every name noted inside of the value that was read.

        Raises:
            WorkflowSyntaxError: there is one; `.errors` holds all of them with their places.
        """
        if not self._found:
            return
        problems = ProblemList()
        left: list[tuple[Any, str]] = [(value, "")]
        while left:
            one, where = left.pop()
            inside: list[tuple[Any, str]] = []
            if isinstance(one, dict):
                _, names = self._found.get(id(one), (one, {}))
                for name, count in names.items():
                    problems.add(
                        WorkflowSyntaxError,
                        "duplicate_member",
                        f"{what} has the member '{name}' {count} times in one object; a name may "
                        "stand there once.",
                        f"{where}/{pointer_part(name)}",
                    )
                inside = [(item, f"{where}/{pointer_part(name)}") for name, item in one.items()]
            elif isinstance(one, list):
                inside = [(item, f"{where}/{index}") for index, item in enumerate(one)]
            left += reversed(inside)  # so that problems come in the order of the text
        problems.raise_if_any()


def nested_too_deep(what: str, error: RecursionError) -> WorkflowSyntaxError:
    """The error for a definition that the stack cannot hold; `what` begins the sentence."""
    problem = Problem("invalid_json", f"{what} is nested too deep.", "")
    return WorkflowSyntaxError(problem.message, _CONTEXT, error, [problem])


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no JSON number; write null or a text")


def _json_hint(text: str, error: json.JSONDecodeError) -> str | None:
    """The usual cause of a fault, told from the characters around it."""
    if not text.strip():
        return "the file is empty"
    before, after = text[: error.pos].rstrip(), text[error.pos :].lstrip()
    if after[:1] in ("}", "]") and before.endswith(","):
        return "remove the comma before the closing bracket"
    if before.endswith(",") and after[:1] in ("'", "}"):
        return "names and text take double quotes"
    if after[:1] == "'":
        return "names and text take double quotes"
    if after.startswith(("True", "False", "None")):
        return "JSON writes true, false and null"
    if after.startswith(("//", "#", "/*")):
        return "JSON has no comments"
    if error.msg.startswith("Expecting ',' delimiter"):
        return "a comma or a closing bracket is missing before this place"
    if not after:
        return "the text ends early: a closing bracket or quote is missing"
    return None
