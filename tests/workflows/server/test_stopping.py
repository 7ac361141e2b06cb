"""What a server that is being stopped does with connections that are not done. Requests that run
and wait are in `test_faults`.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

PATIENCE = 60.0


class TestBodiesUnderWay:
    def test_are_refused_at_once(
        self, live: Callable[..., Any], until: Callable[..., None]
    ) -> None:
        """A request whose body is still coming would be refused after it; nothing waits for it."""
        with live(shutdown_timeout=PATIENCE, body_timeout=PATIENCE) as server:
            with socket.create_connection(server.address, timeout=PATIENCE) as connection:
                connection.sendall(
                    b"POST /workflows/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
                )
                until(lambda: len(server.server.server_state.tasks) == 1)
                server.begin_stop()
                answer = b""
                while part := connection.recv(65_536):
                    answer += part
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"connection: close" in head.lower()
            assert json.loads(body)["error_type"] == "ShuttingDownError"
            server.stop()

    def test_do_not_keep_it_from_ending(self, live: Callable[..., Any]) -> None:
        """A client that sends and reads nothing delays the end by no second."""
        with live(shutdown_timeout=PATIENCE, body_timeout=PATIENCE) as server:
            connection = HTTPConnection(*server.address, timeout=PATIENCE)
            connection.putrequest("POST", "/workflows/run")
            connection.putheader("Content-Length", "100")
            connection.endheaders(b"{")
            server.stop()  # which waits less than PATIENCE + the grace of the framework
            connection.close()


class TestSecondSignal:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_ends_the_server_at_once(
        self, number: int, live: Callable[..., Any], gate: Any, holding: Any, run_body: Any,
        jpeg: str, http: httpx.Client,
    ) -> None:  # fmt: skip
        """The first lets a request finish, the second does not wait for it."""
        with live(shutdown_timeout=PATIENCE) as server:
            failed: list[Exception] = []

            def ask() -> None:
                try:
                    http.post(f"{server.url}/workflows/run", json=run_body(holding, jpeg))
                except httpx.TransportError as error:
                    failed.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            gate.wait_for(1)
            server.server.handle_exit(number, None)
            server.server.handle_exit(number, None)
            server._thread.join(PATIENCE / 2)
            assert not server._thread.is_alive()
            asking.join(PATIENCE)
            assert len(failed) == 1
            assert gate.finished == []
