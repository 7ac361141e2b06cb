"""`RequestRecord`: what is noted of one request while it is handled, for its log line, its metrics
and its error body.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workflows.server.admission import RequestTimes

SCOPE_KEY = "weftlens.record"
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@dataclass(slots=True)
class RequestRecord:
    """Notes on one request.

    Attributes:
        request_id: the client's `X-Request-Id` where it is a plain word, else a new one.
        client: whom requests are queued for: the address until a key says more.
        started: `time.monotonic()` of its arrival.
        route: template of the route, "" when none matched.
        workflow: id of the stored workflow it runs, if any.
        body_bytes: length of its body.
        times: waiting and working time.
        secrets: texts that must not show anywhere, such as the API key.
        error_type: class of the error it ended with, if any.
        step: the step its run is at.
    """

    request_id: str
    client: str
    started: float = field(default_factory=time.monotonic)
    route: str = ""
    workflow: str | None = None
    body_bytes: int = 0
    times: RequestTimes = field(default_factory=RequestTimes)
    secrets: list[str] = field(default_factory=list)
    error_type: str | None = None
    step: str | None = None

    @property
    def age(self) -> float:
        """Seconds since the request came in."""
        return time.monotonic() - self.started


def new_record(scope: Mapping[str, Any]) -> RequestRecord:
    """The record of a request that just came in."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    text = given.decode("latin-1")
    address = scope.get("client")
    return RequestRecord(
        request_id=text if _ACCEPTED_ID.fullmatch(text) else uuid.uuid4().hex,
        client=address[0] if address else "unknown",
    )


def record_of(scope: Mapping[str, Any]) -> RequestRecord:
    """The record of the request with this ASGI scope."""
    record: RequestRecord = scope[SCOPE_KEY]
    return record
