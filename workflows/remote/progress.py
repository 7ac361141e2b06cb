"""`Progress`: how far a request got, for the text of an error that says what was waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.remote.body import BodyReader

# Steps as the HTTP library names them -> what is waited for in them.
_STEPS = {
    "take_slot": "a free connection, of which this side has {connections}",
    "connect_tcp": "the connection",
    "start_tls": "the TLS handshake",
    "send_request_headers": "the server to take the request",
    "send_request_body": "the server to take the request",
    "receive_response_headers": "the first line and the headers of the answer",
    "receive_response_body": "the rest of the answer",
}
_BEFORE_SENDING = frozenset({"", "take_slot", "connect_tcp", "start_tls"})


class Progress:
    """The step that one attempt is in.

    Args:
        connections: most that the pool has at a time.

    Attributes:
        body: reads the body of the answer, once there is one.
    """

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._step = ""
        self._is_new = False
        self.body: BodyReader | None = None

    def note(self, event: str, _info: Mapping[str, Any]) -> None:
        """Takes an event of the HTTP library, such as `connection.connect_tcp.started`."""
        _, _, rest = event.partition(".")
        step, _, stage = rest.partition(".")
        if stage == "started" and step in _STEPS:
            self._step = step
            self._is_new = self._is_new or step == "connect_tcp"

    @property
    def on_kept(self) -> bool:
        """Whether it went out on a connection that had been used before."""
        return not self._is_new and self._step not in _BEFORE_SENDING

    def too_slow(self, server: str, seconds: float, attempts: int) -> str:
        """The text of the error when the time is over.

        Args:
            server: address of the server.
            seconds: what the call had.
            attempts: how many were begun.
        """
        what = "the time was over before the request was begun"
        if self._step:
            what = f"waited for {_STEPS[self._step].format(connections=self._connections)}"
        if self.body is not None:
            what += f", of which {self.body.received} bytes had come"
        attempt = f", in attempt {attempts}" if attempts > 1 else ""
        going_on = "" if self._step in _BEFORE_SENDING else "The run may still go on there. "
        return (
            f"The server {server} did not answer within {seconds:.4g} s: {what}"
            f"{attempt}. {going_on}Give a longer timeout or less work."
        )
