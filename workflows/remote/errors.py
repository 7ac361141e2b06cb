"""What goes wrong between a client and its server. What a server says of a workflow keeps the
classes it has in a local run and is rebuilt in `answers.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from execution_engine.errors import Problem, WorkflowError, WorkflowSyntaxError

CONTEXT = "remote_execution"


class RemoteServerError(WorkflowError):
    """Base of everything that keeps a server from answering a run.

    Args:
        message: what happened.
        server: address of the server.
        inner_error: the exception behind it.
    """

    def __init__(self, message: str, server: str, inner_error: BaseException | None = None) -> None:
        super().__init__(message, CONTEXT, inner_error)
        self.server = server


class ServerConnectionError(RemoteServerError):
    """The server cannot be reached, or the connection broke before it answered."""


class ServerTimeoutError(RemoteServerError):
    """The server did not answer within the time of the call."""


class ServerRefusedError(RemoteServerError):
    """The server turned the request down: key, size, load or address.

    Args:
        message: what it said.
        server: address of the server.
        status_code: HTTP status of its answer.
    """

    def __init__(self, message: str, server: str, status_code: int) -> None:
        super().__init__(message, server)
        self.status_code = status_code


class ServerAnswerError(RemoteServerError):
    """The answer is not what the route answers with."""


class ServerSideError(Exception):
    """The error behind an error of the server. Its class carries the name it has there, and only
    the name: `type(error.inner_error).__name__` is `"ValueError"` where the server had one.
    """


@dataclass(frozen=True, slots=True)
class MissingItem:
    """One thing that a workflow needs and a server lacks.

    Attributes:
        step: name of the step.
        block_type: its type id.
        kind: what is missing: the `block`, this `version` of it, or the `model`.
        wanted: the type id, or the id of the model.
        available: what the server has instead, nearest first; empty when nothing comes close.
    """

    step: str
    block_type: str
    kind: Literal["block", "version", "model"]
    wanted: str
    available: tuple[str, ...] = ()


class MissingOnServerError(WorkflowSyntaxError):
    """A workflow needs blocks, versions or models that the server does not have.

    Args:
        message: all of them in one text.
        server: address of the server.
        errors: one problem each.
        missing: the same as data.
    """

    def __init__(
        self,
        message: str,
        server: str,
        errors: Sequence[Problem],
        missing: Sequence[MissingItem],
    ) -> None:
        super().__init__(message, "workflow_compilation | remote_check", None, errors)
        self.server = server
        self.missing = tuple(missing)
