"""Reads the body of a request as the object a route takes. Limits on size and time are set in front
of the application, in `security`; what is read here is bounded all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError

from workflows.server.faults import (
    BodyTooLargeError,
    ClientGoneError,
    InvalidRequestError,
    UnsupportedMediaTypeError,
)
from workflows.server.observability.records import record_of

M = TypeVar("M", bound=BaseModel)

# Where the layer in front of the application leaves JSON it has already read and checked.
_CHECKED_JSON = "json_body"
_LONGEST_SHOWN = 60


async def read_body(request: Request, max_bytes: int) -> bytes:
    """All bytes of a body.

    Raises:
        BodyTooLargeError: there are more than `max_bytes`.
        ClientGoneError: the client closed the connection before the end.
    """
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError("The client left before its request was complete.")
        part = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(part)
        if size > max_bytes:
            raise BodyTooLargeError(f"A body has at most {max_bytes} bytes.")
        parts.append(part)
    record_of(request.scope).body_bytes = size
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_json(request: Request, max_bytes: int) -> Any:
    """The JSON value of a body. It is read on the event loop: the parser holds the interpreter's
    lock to its end, so that another thread would delay other requests just as long.

    Raises:
        InvalidRequestError: it is no JSON, or there is none.
        UnsupportedMediaTypeError: it says that it is something else.
    """
    content = await read_body(request, max_bytes)
    state = request.scope.get("state") or {}
    if _CHECKED_JSON in state:
        return state[_CHECKED_JSON]
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind.startswith("multipart/"):
        raise UnsupportedMediaTypeError(
            f"This route takes a JSON object, got a body of the type {kind}."
        )
    if not content.strip():
        raise InvalidRequestError("This route takes a JSON object, the body is empty.")
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(f"The body is no JSON: {error}.") from error


async def read_model(request: Request, model: type[M], max_bytes: int, *, empty: bool = False) -> M:
    """The body as the object a route takes.

    Args:
        request: whose body.
        model: what it must be.
        max_bytes: largest body.
        empty: whether no body at all stands for an empty object.

    Raises:
        InvalidRequestError: it is no JSON, or not what the route takes; all faults are named.
    """
    if empty and request.headers.get("content-length") == "0":
        value: Any = {}
    else:
        value = await read_json(request, max_bytes)
    if not isinstance(value, dict):
        raise InvalidRequestError(
            f"This route takes a JSON object, got {_json_type(value)}.",
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidRequestError(
            f"The body is not what this route takes: {validation_faults(error.errors())}."
        ) from error


def validation_faults(faults: Sequence[Any]) -> str:
    """What pydantic found, in one line, without values: those may be pictures or secrets."""
    texts = []
    for fault in faults:
        place = ".".join(str(part) for part in fault["loc"]) or "the body"
        message = fault["msg"]
        texts.append(f"{place}: {message[0].lower()}{message[1:]}")
    return "; ".join(texts)


def _json_type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return orjson.dumps(value).decode()
    if isinstance(value, list):
        return f"an array of {len(value)}"
    text = str(value)
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
    return f"the text {shown!r}" if isinstance(value, str) else f"the number {shown}"
