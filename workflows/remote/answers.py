"""Reads the answers of workflow routes: the outputs of a run, or the error as the exception that a
local run raises for it. Names of classes and members are those of the wire format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from execution_engine import errors as engine
from execution_engine.errors import (
    BlockTraceback,
    ClientCausedStepExecutionError,
    DynamicBlockCodeError,
    Problem,
    StepExecutionError,
    WorkflowCompilerError,
    WorkflowError,
)
from workflows.locking import errors as locking_errors
from workflows.locking.errors import Drift, LockDriftError, WorkflowLockError
from workflows.remote.connection import Answer
from workflows.remote.errors import (
    CONTEXT,
    ServerAnswerError,
    ServerRefusedError,
    ServerSideError,
    ServerTimeoutError,
)
from workflows.remote.json_answers import shown

_OK = 200
_REFUSALS = {
    401: "wants an API key (give it as api_key)",
    403: "does not accept this API key for this request",
    404: "has no such route or workflow",
    405: "does not take this request",
    408: "did not get the request in time",
    413: "takes no request of this size",
    429: "is too busy",
    501: "does not offer this",
    502: "could not be reached through a machine in between",
    503: "cannot take requests now",
    504: "did not finish in its time",
}
_TOO_SLOW = frozenset({408, 504})
_NO_ERROR = (None, "", "None")


def outputs_of(answer: Answer, server: str) -> list[dict[str, Any]]:
    """The outputs of a run.

    Raises:
        WorkflowError: the run failed, with the class it has locally.
        ServerRefusedError: the server did not run it.
        ServerAnswerError: the answer is not that of a workflow route.
    """
    content = checked_content(answer, server)
    outputs = content.get("outputs")
    if not isinstance(outputs, list) or not all(isinstance(row, dict) for row in outputs):
        raise ServerAnswerError(
            f"The server {server} answered without `outputs`, a list of objects.", server
        )
    return outputs


def require_outputs(rows: Sequence[Mapping[str, Any]], names: Iterable[str], server: str) -> None:
    """Refuses an answer that lacks what the workflow declares.

    Args:
        rows: the outputs of a run.
        names: outputs that every row must have.
        server: address of the server.

    Raises:
        ServerAnswerError: a row lacks an output.
    """
    wanted = tuple(names)
    for index, row in enumerate(rows):
        missing = [name for name in wanted if name not in row]
        if missing:
            raise ServerAnswerError(
                f"Row {index} of what the server {server} answered lacks {', '.join(missing)}; it "
                f"has {', '.join(row) or 'no output':.500}.",
                server,
            )


def trace_of(answer: Answer, server: str) -> list[Mapping[str, Any]]:
    """The events of the trace that an answer brings; none when it brings no trace.

    Raises:
        ServerAnswerError: it brings something else.
    """
    events = answer.content.get("profiler_trace") or []
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ServerAnswerError(
            f"The server {server} answered with a `profiler_trace` that is no list of objects: "
            f"{shown(events)}.",
            server,
        )
    return events


def checked_content(answer: Answer, server: str) -> Mapping[str, Any]:
    """The JSON object of an answer that is no error; raises as `outputs_of`."""
    content = answer.content
    if answer.status != _OK:
        raise error_of(answer, server)
    if not answer.is_json or not isinstance(content, Mapping):
        raise ServerAnswerError(
            f"The server {server} answered with something that is no JSON object: "
            f"{shown(content)}. Is this the address of a workflow server?",
            server,
        )
    return content


def error_of(answer: Answer, server: str) -> WorkflowError:
    """The exception behind an answer that is an error."""
    content = answer.content if isinstance(answer.content, Mapping) else {}
    message = content.get("message") or content.get("detail")
    name = content.get("error_type")
    error_class = _classes().get(name) if isinstance(name, str) else None
    if error_class is not None and isinstance(message, str):
        error = _rebuilt(error_class, message, content, answer.status)
        error.add_note(f"Raised by the server {server}.")
        return error
    what = _REFUSALS.get(answer.status, f"answered with status {answer.status}")
    said = message if message is not None else (answer.content if not answer.is_json else None)
    detail = ""
    if said not in (None, ""):
        text = said if isinstance(said, str) else shown(said)
        detail = f": {text[:500].rstrip('.')}"
    if isinstance(name, str) and name:
        detail = f"{detail} ({name[:100]})"
    text = f"The server {server} {what}{detail}."
    if answer.status in _TOO_SLOW:
        return ServerTimeoutError(text, server)
    return ServerRefusedError(text, server, answer.status)


def _classes() -> dict[str, type[WorkflowError]]:
    """The error classes of the engine and of locks by name."""
    return {
        name: value
        for name, value in (*vars(engine).items(), *vars(locking_errors).items())
        if isinstance(value, type) and issubclass(value, WorkflowError)
    }


def _rebuilt(
    error_class: type[WorkflowError], message: str, content: Mapping[str, Any], status: int
) -> WorkflowError:
    context = str(content.get("context") or CONTEXT)
    inner = _inner_error(content)
    listed = content.get("blocks_errors")
    blocks = [
        item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, Mapping)
    ]
    if issubclass(error_class, WorkflowLockError):
        return _lock_error(message, content.get("lock_drift"), inner)
    if issubclass(error_class, WorkflowCompilerError):
        return error_class(message, context, inner, errors=_problems(content, blocks))
    if not issubclass(error_class, StepExecutionError):
        return error_class(message, context, inner)
    first = blocks[0] if blocks else {}
    block_id, block_type = _text(first.get("block_id")), _text(first.get("block_type"))
    found = first.get("block_traceback")
    trace = _traceback(found) if isinstance(found, Mapping) else None
    if issubclass(error_class, DynamicBlockCodeError):
        error = error_class(
            message,
            block_type_name=block_type or "",
            error_line=None if trace is None else trace.error_line,
            code_snippet=None if trace is None else trace.code_snippet,
            traceback=None if trace is None else trace.traceback,
            stdout=None if trace is None else trace.stdout,
            stderr=None if trace is None else trace.stderr,
            context=context,
            inner_error=inner,
            block_id=block_id,
        )
        return error
    if issubclass(error_class, ClientCausedStepExecutionError):
        return error_class(
            message,
            status_code=status,
            block_id=block_id,
            block_type=block_type,
            context=context,
            inner_error=inner,
        )
    return error_class(message, context, inner, block_id, block_type, trace)


def _lock_error(message: str, found: Any, inner: ServerSideError | None) -> WorkflowLockError:
    if not isinstance(found, Mapping) or not isinstance(found.get("drifts"), list):
        return WorkflowLockError(message, inner)
    drifts = [
        Drift(
            code=str(item.get("code")),
            what=str(item.get("what")),
            locked=str(item.get("locked")),
            found=str(item.get("found")),
            where=str(item.get("where")),
            hint=_text(item.get("hint")),
        )
        for item in found["drifts"]
        if isinstance(item, Mapping)
    ]
    return LockDriftError(str(found.get("name")), drifts, str(found.get("accept")))


def _problems(content: Mapping[str, Any], blocks: list[Mapping[str, Any]]) -> list[Problem]:
    """Every problem: as our servers send them, else what the errors of single blocks say."""
    listed = content.get("errors")
    if isinstance(listed, list):
        return [problem_of(item) for item in listed if isinstance(item, Mapping)]
    return [
        Problem(
            code="reported_by_server",
            message=str(item.get("property_details") or item.get("block_details") or ""),
            where="",
            block_id=_text(item.get("block_id")),
            block_type=_text(item.get("block_type")),
            property_name=_text(item.get("property_name")),
        )
        for item in blocks
    ]


def problem_of(item: Mapping[str, Any]) -> Problem:
    """A problem from its JSON form."""
    return Problem(
        code=str(item.get("code") or "reported_by_server"),
        message=str(item.get("message") or ""),
        where=str(item.get("where") or ""),
        hint=_text(item.get("hint")),
        block_id=_text(item.get("block_id")),
        block_type=_text(item.get("block_type")),
        property_name=_text(item.get("property_name")),
    )


def _inner_error(content: Mapping[str, Any]) -> ServerSideError | None:
    name = content.get("inner_error_type")
    if name in _NO_ERROR:
        return None
    message = content.get("inner_error_message")
    known = isinstance(name, str) and name.isidentifier()
    named: type[ServerSideError] = type(name, (ServerSideError,), {}) if known else ServerSideError
    return named("" if message in _NO_ERROR else str(message))


def _traceback(found: Mapping[str, Any]) -> BlockTraceback:
    line = found.get("error_line")
    return BlockTraceback(
        traceback=str(found.get("traceback") or ""),
        error_line=line if isinstance(line, int) else None,
        code_snippet=_text(found.get("code_snippet")),
        stdout=_text(found.get("stdout")),
        stderr=_text(found.get("stderr")),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
