"""What the server itself refuses or fails at. How any error becomes an answer is in `errors`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class RequestFault(Exception):
    """Base of every error the server itself raises.

    Args:
        message: what is wrong, fit for whoever sent the request.
        headers: headers that the answer carries on top.

    Attributes:
        status: status of the answer.
        context: where in the handling of a request it belongs.
    """

    status: ClassVar[int] = 500
    context: ClassVar[str] = "request"

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = dict(headers or {})


class InvalidRequestError(RequestFault):
    """The body or the query is not what the route takes."""

    status = 400
    context = "request | body"


class UnauthorisedError(RequestFault):
    """There is no key, or not a valid one."""

    status = 401
    context = "request | authorisation"


class ForbiddenError(RequestFault):
    """The key is valid and does not permit this."""

    status = 403
    context = "request | authorisation"


class NotFoundError(RequestFault):
    """There is nothing under this name."""

    status = 404
    context = "request | lookup"


class RequestTooSlowError(RequestFault):
    """The body did not arrive in time."""

    status = 408
    context = "request | body"


class BodyTooLargeError(RequestFault):
    """The body is larger than the server takes."""

    status = 413
    context = "request | body"


class UnsupportedMediaTypeError(RequestFault):
    """The body is of a type the route does not read."""

    status = 415
    context = "request | body"


class QueueFullError(RequestFault):
    """No more requests can wait; the client may try again after the seconds in `Retry-After`."""

    status = 429
    context = "request | queue"


class ClientGoneError(RequestFault):
    """The client closed the connection before the answer; nobody reads this one."""

    status = 499
    context = "request | queue"


class NotBuiltError(RequestFault):
    """The route belongs to the interface and is not part of this build."""

    status = 501
    context = "request | lookup"


class ShuttingDownError(RequestFault):
    """The server is being stopped."""

    status = 503
    context = "request | shutdown"


class DeadlineExceededError(RequestFault):
    """The request did not finish in time.

    Args:
        message: what was under way.
        step: name of the step that was running or would have run next, None while in the queue.
    """

    status = 504
    context = "request | deadline"

    def __init__(self, message: str, step: str | None = None) -> None:
        super().__init__(message)
        self.step = step


class WorkerDiedError(RequestFault):
    """The thread that worked on the request ended without an answer; another took its place."""

    status = 500
    context = "request | worker"
