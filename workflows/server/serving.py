"""Runs the application in uvicorn until it is told to stop. Makes no application itself."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import time
from types import FrameType

import uvicorn
from fastapi import FastAPI

from workflows.server.host import ServerHost
from workflows.server.memory import KeptMemory, give_back_freed_memory, keep_freed_memory
from workflows.server.security.connections import IdleConnections, server_protocol
from workflows.server.security.headers import MOST_HEADER_BYTES, is_loopback
from workflows.server.security.unread_answers import UnreadAnswers
from workflows.server.settings import ServerSettings
from workflows.server.workflow_folder import stored_files

_LOG = logging.getLogger("weftlens.server")
# Time in which requests that were sent before the end began are still taken in.
_LAST_CALL = 0.1
# What is left to the framework after every request was answered by us.
_GRACE = 5
# Seconds without a request after which kept memory goes back to the system.
_IDLE_BEFORE_GIVING_BACK = 10.0


class PortTakenError(Exception):
    """Another process listens on the port."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} is taken; give another with --port")


class DrainingServer(uvicorn.Server):
    """A uvicorn server that answers every request it has taken before it ends.

    On SIGTERM or SIGINT it takes in what is on its way, closes the port, finishes what runs and
    waits, and after `shutdown_timeout` answers the rest with 503. On a second signal it breaks off
    all connections and ends.

    Attributes:
        port_is_taken: whether it ended because another process has the port.
    """

    def __init__(self, config: uvicorn.Config, host: ServerHost) -> None:
        super().__init__(config)
        self._host = host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept = KeptMemory(give_back_freed_memory, _IDLE_BEFORE_GIVING_BACK)
        self.port_is_taken = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Opens the port."""
        self._loop = asyncio.get_running_loop()
        try:
            await super().startup(sockets)
        except SystemExit as stop:
            cause = stop.__context__  # the framework has logged it and gives up
            self.port_is_taken = isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE
            raise

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second by the framework; true ends the server."""
        if self._host.settings.keep_freed_memory and counter % 10 == 0:
            admission = self._host.admission
            busy = admission.queued + admission.running > 0
            give_back = self._kept.after(self.server_state.total_requests, busy, time.monotonic())
            if give_back is not None:
                await asyncio.to_thread(give_back)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the server."""
        await asyncio.sleep(_LAST_CALL)
        drained = asyncio.create_task(
            self._host.admission.drain(self._host.settings.shutdown_timeout)
        )
        await super().shutdown(sockets)
        if self.force_exit:
            drained.cancel()
        else:
            await drained

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Notes a signal; the second one ends the server without waiting for anything."""
        if self.should_exit:
            self.force_exit = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._break_off)
        super().handle_exit(sig, frame)

    def _break_off(self) -> None:
        for connection in self.server_state.connections:
            connection.transport.abort()


def make_server(app: FastAPI) -> DrainingServer:
    """A server for an application of `create_app`; `run()` blocks until it was told to stop."""
    host: ServerHost = app.state.host
    settings = host.settings
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        http=server_protocol(
            settings.header_timeout,
            IdleConnections(settings.max_idle_connections),
            UnreadAnswers(settings.answer_timeout, settings.max_unread_bytes),
        ),
        ws="none",
        limit_concurrency=settings.max_connections,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES * 2,
        timeout_graceful_shutdown=int(settings.shutdown_timeout) + _GRACE,
        backlog=2048,
    )
    return DrainingServer(config, host)


def warnings(settings: ServerSettings) -> list[str]:
    """What whoever starts a server with these settings should know."""
    found = []
    if settings.api_keys is None and not is_loopback(settings.host):
        found.append(
            f"everyone who reaches {settings.host} may run workflows: there are no API keys "
            "(weftlens keys create makes one)"
        )
    folders = [("models", folder) for folder in settings.models]
    if settings.workflows is not None:
        folders.append(("workflows", settings.workflows))
    found += [
        f"there is no folder {folder} (of {what}) yet"
        for what, folder in folders
        if not folder.is_dir()
    ]
    return found


def stored_text(settings: ServerSettings) -> str:
    """How many workflows are stored, and where."""
    if settings.workflows is None:
        return "no folder of stored workflows (--workflows DIR): clients send theirs along"
    count = len(stored_files(settings.workflows))
    return f"{count} stored workflow{'' if count == 1 else 's'} in {settings.workflows}"


def serve(app: FastAPI) -> None:
    """Serves an application until SIGTERM or SIGINT.

    Raises:
        PortTakenError: another process has the port.
    """
    import cv2

    settings: ServerSettings = app.state.host.settings
    _LOG.info(stored_text(settings))
    for text in warnings(settings):
        _LOG.warning(text)
    # The workers share out the cores among themselves.
    cv2.setNumThreads(settings.cv2_threads)
    if settings.keep_freed_memory:
        keep_freed_memory()
    # The framework raises the signal again when all is done; by default that kills the process.
    signal.signal(signal.SIGTERM, _end_well)
    server = make_server(app)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
    except SystemExit:
        if server.port_is_taken:
            raise PortTakenError(settings.port) from None
        raise


def _end_well(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
