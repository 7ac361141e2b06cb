"""`ServerHost`: what the routes of one server share, and the way every request with work to do
goes: authorise, wait for a worker, run, answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4

from fastapi import Request, Response

from execution_engine.executor.limits import CancellationToken
from workflows.server.admission import Admission
from workflows.server.bodies import read_model
from workflows.server.faults import DeadlineExceededError
from workflows.server.observability.metrics import ServerMetrics
from workflows.server.observability.records import RequestRecord, record_of
from workflows.server.request_bodies import RequestBody
from workflows.server.settings import ServerSettings
from workflows.server.workflow_folder import Permits, WorkflowFolder
from workflows.session import Session

B = TypeVar("B", bound=RequestBody)
JSON = "application/json"
_LOG = logging.getLogger("weftlens.server")


class Authoriser(Protocol):
    """Decides whether a request may do what it asks for."""

    def authorise(self, request: Request) -> None:
        """Raises when the key of a request does not permit workflows that are sent along, single
        models and what else the server does.
        """

    def authorise_stored(self, request: Request, workspace: str, workflow_id: str) -> Permits:
        """Raises when the key of a request permits no stored workflow of these names; what comes
        back says whether it permits a file, by the own id of that.
        """


class OpenHouse:
    """Lets everybody do everything: a server without API keys."""

    def authorise(self, request: Request) -> None:
        """Permits it."""

    def authorise_stored(self, request: Request, workspace: str, workflow_id: str) -> Permits:
        """Permits it."""
        return lambda own_id: True


class Job:
    """One request on a worker thread.

    Attributes:
        token: asks the work to stop.
        record: notes on the request.
        aside: entered while the work waits for others.
    """

    __slots__ = ("_end", "aside", "record", "token")

    def __init__(
        self,
        token: CancellationToken,
        record: RequestRecord,
        end: float,
        aside: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.token = token
        self.record = record
        self.aside = aside
        self._end = end

    @property
    def time_left(self) -> float:
        """Seconds until the deadline.

        Raises:
            DeadlineExceededError: it has passed.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceededError(
                "The deadline of the request passed while it waited for a worker."
            )
        return left


class ServerHost:
    """Everything the routes need; made once a server.

    Args:
        session: blocks, plans and models.
        settings: limits.
        admission: workers and queue.
        metrics: what is counted.
    """

    def __init__(
        self,
        session: Session,
        settings: ServerSettings,
        admission: Admission,
        metrics: ServerMetrics,
    ) -> None:
        self.session = session
        self.settings = settings
        self.admission = admission
        self.metrics = metrics
        self.security: Authoriser = OpenHouse()
        self.stored = None if settings.workflows is None else WorkflowFolder(settings.workflows)
        self.hidden_paths: tuple[Path, ...] = hidden_paths(session, settings)
        self.not_ready: str | None = "the models to warm up are not loaded yet"
        self.identity = uuid4().hex

    def stored_file(self, workspace: str, workflow_id: str) -> Path | None:
        """The file of a stored workflow; errors as `WorkflowFolder.get`."""
        return None if self.stored is None else self.stored.locate(workspace, workflow_id)

    async def body(self, request: Request, model: type[B], *, empty: bool = False) -> B:
        """The body of a request; its API key is starred from here on.

        Raises:
            RequestFault: the queue is full, or the body is not what the route takes.
        """
        # Before the body is read and checked for nothing.
        self.admission.refuse_if_full()
        body = await read_model(request, model, self.settings.max_body_bytes, empty=empty)
        if body.api_key:
            record_of(request.scope).secrets.append(body.api_key)
        return body

    def authorise(self, request: Request) -> None:
        """Checks that the key of a request permits what is about no stored workflow.

        Raises:
            UnauthorisedError, ForbiddenError: it does not permit this.
        """
        self.security.authorise(request)
        self._note_client(request)

    def authorise_stored(self, request: Request, workspace: str, workflow_id: str) -> Permits:
        """Checks that the key of a request may ask for a stored workflow of these names.

        Returns:
            Whether it permits the file behind them, by the own id of that; for `stored`.

        Raises:
            UnauthorisedError, ForbiddenError: it does not permit this.
        """
        permits = self.security.authorise_stored(request, workspace, workflow_id)
        self._note_client(request)
        return permits

    def _note_client(self, request: Request) -> None:
        key = (request.scope.get("state") or {}).get("api_key")
        if key is not None:
            record_of(request.scope).client = f"key {key.id}"

    async def answer(self, request: Request, work: Callable[[Job], bytes]) -> Response:
        """A response with the JSON that `work` makes on a worker thread.

        Args:
            request: the request, its body already read.
            work: called when it is the client's turn.

        Raises:
            RequestFault: it was turned away or given up; see `Admission.run`.
        """
        record = record_of(request.scope)
        end = record.started + self.settings.request_timeout

        def on_worker(token: CancellationToken) -> bytes:
            return work(Job(token, record, end, self.admission.stepping_aside))

        content = await self.admission.run(
            on_worker,
            client=record.client,
            size=record.body_bytes,
            timeout=end - time.monotonic(),
            step=lambda: record.step,
            gone=_departure(request),
            times=record.times,
        )
        return Response(content, media_type=JSON)

    def warm_up(self) -> None:
        """Loads the models named in the settings; then the server is ready."""
        for model_id in self.settings.warm_up:
            try:
                seconds = self.session.model_manager.warm_up(model_id)
            except Exception:
                self.not_ready = f"model '{model_id}' does not load; the log says why"
                _LOG.exception("model '%s' does not load", model_id)
                return
            _LOG.info("model '%s' is warm after %.2f s", model_id, seconds)
        self.not_ready = None


def hidden_paths(session: Session, settings: ServerSettings) -> tuple[Path, ...]:
    """Folders whose names do not go out in errors, the longest first."""
    named = [*session.settings.model_directories, *settings.models]
    if settings.workflows is not None:
        named.append(settings.workflows)
    from inference_models.shipped import shipped_models

    named.append(shipped_models())
    folders = {folder for one in named for folder in (one, one.absolute(), one.resolve())}
    # A relative name such as "models" is an everyday word.
    absolute = (folder for folder in folders if folder.is_absolute() and len(folder.parts) > 1)
    return tuple(sorted(absolute, key=lambda folder: -len(str(folder))))


@contextmanager
def model_calls(job: Job) -> Iterator[None]:
    """Tells the models who calls and until when the answer is wanted."""
    from inference_models.manager.call_context import call_context

    with call_context(
        client=job.record.client,
        deadline=job.time_left,
        cancelled=lambda: job.token.cancelled,
        aside=job.aside,
    ):
        yield


def _departure(request: Request) -> Callable[[], Awaitable[None]]:
    async def gone() -> None:
        # The body was read: whatever comes now but the end of the connection means nothing.
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone
