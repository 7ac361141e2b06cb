"""A real server of ours in a thread of the tests, on a free port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workflows.server.app import create_app
from workflows.server.serving import DrainingServer, make_server
from workflows.server.settings import ServerSettings
from workflows.session import Session

_LONGEST_START = 120.0


@dataclass(frozen=True)
class LiveServer:
    """Where it listens and what is behind it."""

    url: str
    session: Session
    server: DrainingServer


@contextmanager
def live_server(session: Session | None = None, **given: Any) -> Iterator[LiveServer]:
    """Serves until the block is left.

    Args:
        session: blocks and models; one of the settings when None.
        given: settings of the server.
    """
    settings = ServerSettings(**{"port": 0, "shutdown_timeout": 10.0, **given})
    own = session is None
    session = session or Session(settings.session_settings())
    app = create_app(session, settings)
    server = make_server(app)
    thread = threading.Thread(target=server.run, name="live-server")
    thread.start()
    try:
        end = time.monotonic() + _LONGEST_START
        while not server.started:
            assert thread.is_alive(), "the server ended while it started"
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield LiveServer(f"http://127.0.0.1:{port}", session, server)
    finally:
        server.should_exit = True
        thread.join()
        if own:
            session.close()
