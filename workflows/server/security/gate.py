"""`Gate`: the ASGI layer every request passes before the application. It calls the checks of this
package in order, from the cheapest to the dearest; no check stands here. What is refused is raised
as a fault: the layer around this one answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from workflows.server.faults import RequestFault
from workflows.server.observability.records import SCOPE_KEY, record_of
from workflows.server.security.authentication import Authentication, take_keys
from workflows.server.security.bodies import Body, BodyMemory, Message, Receive
from workflows.server.security.definition_limits import DefinitionLimits
from workflows.server.security.headers import (
    HostCheck,
    announced_length,
    check_encoding,
    check_path,
    check_sizes,
    header,
)
from workflows.server.security.json_bodies import parse_json

JSON_STATE = "json_body"
"""Where the parsed JSON of a request is left in `request.state`."""
KEY_STATE = "api_key"
"""Where the key a request came with is left in `request.state`; None where no keys are needed."""
# A larger text is parsed in a thread, so that other requests go on.
_PARSED_INLINE = 64 * 1024
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits on one request.

    Attributes:
        max_body_bytes: largest body, bytes.
        body_timeout: seconds in which the whole body must arrive.
        max_nesting: deepest nesting of JSON.
        max_values: most values, members and elements of JSON.
        definitions: limits on workflows.
    """

    max_body_bytes: int
    body_timeout: float
    max_nesting: int
    max_values: int
    definitions: DefinitionLimits


class Gate:
    """Lets a request through to the application, or raises the fault that refuses it.

    What passes has a complete body in memory, checked JSON under `request.state.json_body` when the
    body is JSON, and, where keys are needed, a valid one; the key itself is taken out of the
    address and the headers, so that no log below can show it.

    Args:
        app: the application behind the gate.
        limits: what a request may use.
        memory: counts the bytes of bodies.
        hosts: refuses foreign names and pages.
        authentication: the keys; None when every request is served.
    """

    def __init__(
        self,
        app: App,
        *,
        limits: RequestLimits,
        memory: BodyMemory,
        hosts: HostCheck,
        authentication: Authentication | None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._memory = memory
        self._hosts = hosts
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection of any kind.

        Raises:
            RequestFault: the request is refused; nothing has been sent.
        """
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = Body(receive, self._memory)
        try:
            try:
                await self._admit(scope, body)
            except RequestFault as fault:
                # The rest of a body that was refused must not be read as the next request.
                fault.headers.setdefault("Connection", "close")
                raise
            await self._app(scope, body.receive, _without_sniffing(send))
        finally:
            body.release()

    async def _admit(self, scope: Scope, body: Body) -> None:
        headers, limits = scope["headers"], self._limits
        # First of all, so that no refusal and no log line can hold the key.
        given = take_keys(scope)
        if SCOPE_KEY in scope:
            record_of(scope).secrets.extend(given)
        check_sizes(scope)
        check_path(scope["path"])
        self._hosts.check(headers)
        check_encoding(headers)
        state = scope.setdefault("state", {})
        state[KEY_STATE], needed = None, False
        if self._authentication is not None:
            needed = self._authentication.is_needed(scope["path"])
            if needed:
                self._authentication.check_address(scope)
                state[KEY_STATE] = self._authentication.key_of(scope, given)
        await body.read(announced_length(headers), limits.max_body_bytes, limits.body_timeout)
        if _is_json(headers, body.content):
            state[JSON_STATE] = await self._json(body.content)
        if needed and state[KEY_STATE] is None and self._authentication is not None:
            state[KEY_STATE] = self._authentication.key_in_body(scope, state.get(JSON_STATE))

    async def _json(self, content: bytes) -> Any:
        if len(content) <= _PARSED_INLINE:
            return self._checked_json(content)
        return await asyncio.to_thread(self._checked_json, content)

    def _checked_json(self, content: bytes) -> Any:
        value = parse_json(content, self._limits.max_nesting, self._limits.max_values)
        self._limits.definitions.check(value)
        return value


def _is_json(headers: Any, content: bytes) -> bool:
    """Whether the body is JSON by its type or its look: a route may read it as JSON either way."""
    # Clients send an image as bare base64 text under the type of JSON; that one is no JSON.
    kind = (header(headers, b"content-type") or "").partition(";")[0].strip().lower()
    first = content.lstrip(b" \t\r\n\xef\xbb\xbf\0")[:1]
    if kind == "application/json" or kind.endswith("+json"):
        return first != b"" and not (first.isalnum() or first in b"+/")
    return first in (b"{", b"[")


def _without_sniffing(send: Send) -> Send:
    """Tells browsers to take answers as what they say they are: JSON is never shown as a page."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), _NO_SNIFFING]
        await send(message)

    return wrapped
