"""`RemoteServer`: runs workflows on a server and gives what a local run gives. The HTTP of it is in
`connection.py`, the JSON in the files beside.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from os import path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from execution_engine.errors import (
    Problem,
    WorkflowDefinitionError,
    WorkflowError,
    WorkflowSyntaxError,
)
from execution_engine.kinds.json_form import json_form
from execution_engine.profiling import ChromeTraceProfiler
from workflows.deadlines import Deadline
from workflows.remote.answers import outputs_of, require_outputs, trace_of
from workflows.remote.connection import Connection, checked_timeout
from workflows.remote.errors import ServerAnswerError
from workflows.remote.images import ImageFormat, ImageWriter
from workflows.remote.knowledge import CHECK, ServerKnowledge
from workflows.remote.request import InputWriter
from workflows.remote.results import ResultReader
from workflows.remote.retry import RetryPolicy
from workflows.remote.rows import require_rows
from workflows.remote.signature import Signature, signature_of_definition, signature_of_plan
from workflows.session import Session, definition_of

if TYPE_CHECKING:
    from workflows.loading import WorkflowSource
    from workflows.locking.lock_file import LockSource
    from workflows.remote.models import RemoteModels
    from workflows.workflow import Workflow

DEFAULT_TIMEOUT = 120.0
RUN = "/workflows/run"
DESCRIBE = "/workflows/describe_interface"
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_ID = re.compile(f"{_NAME.pattern}/{_NAME.pattern}")


class RemoteServer:
    """One server and the connections to it, kept over many runs; thread-safe.

    Example:
        with RemoteServer("http://127.0.0.1:9001") as server:
            results = server.run("workflow.json", {"image": "street.jpg"})

    Args:
        url: address of the server.
        api_key: key the server asks for; goes out as a bearer token and as `api_key` in the body,
            since servers of this interface read either. Never part of a message.
        timeout: seconds a run may take: questions before it, connecting, sending, waiting,
            receiving the last byte, all repetitions and the pauses between them. The same goes for
            `describe`, `check` and each call of `models`.
        retries: most repetitions of a request; see `workflows.remote.retry` for when.
        image_format: how pixels are sent that are not given as a file or as bytes: `png` (the
            results are those of a local run) or `jpeg` (about a quarter of the size).
        jpeg_quality: 1 to 100.
        check: ask the server whether it has all blocks and models of a definition, before images
            are sent; asked once a definition.
        session: whose blocks and settings describe the inputs and outputs;
            `default_session()` when None. Nothing is run in it.

    Raises:
        ValueError: the address or another argument cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = 3,
        image_format: ImageFormat = "png",
        jpeg_quality: int = 95,
        check: bool = True,
        max_answer_bytes: int | None = None,
        session: Session | None = None,
    ) -> None:
        if session is None:
            from workflows.running import default_session

            session = default_session()
        self._session = session
        self._timeout = checked_timeout(timeout)
        self._check = check
        self._key = {} if api_key is None else {"api_key": api_key}
        codecs = session.registry.codecs
        self._images = ImageWriter(session.image_codec, image_format, jpeg_quality)
        self._inputs = InputWriter(self._images, codecs)
        if max_answer_bytes is None:
            max_answer_bytes = session.settings.remote_max_answer_bytes
        policy = RetryPolicy(retries)
        self._connection = Connection(
            url, api_key=api_key, policy=policy, max_answer_bytes=max_answer_bytes
        )
        self.url = self._connection.server
        self._results = ResultReader(codecs, session.settings.max_image_pixels, self.url)
        self._knowledge = ServerKnowledge(self._connection, self._key)

    def run(
        self,
        workflow: WorkflowSource | Workflow,
        inputs: Mapping[str, Any],
        *,
        serialize: bool = False,
        timeout: float | None = None,
        disable_sinks: bool = False,
        workflow_version_id: str | None = None,
        profiler: ChromeTraceProfiler | None = None,
        lock: LockSource | None = None,
    ) -> list[dict[str, Any]]:
        """Runs a workflow on the server; see `run_remotely`."""
        held = None if lock is None else self._session.locks.load(lock)
        deadline = Deadline(checked_timeout(self._timeout if timeout is None else timeout))
        named = workflow_id(workflow)
        body: dict[str, Any]
        if named is not None:
            route, body = _stored_route(named), {"use_cache": True}
            if workflow_version_id is not None:
                body["workflow_version_id"] = workflow_version_id
            describe = partial(
                self._knowledge.signature, f"{route}/describe_interface", body, deadline
            )
            signature = describe()
        else:
            if workflow_version_id is not None:
                raise ValueError("workflow_version_id goes with a workflow given as workspace/id")
            definition = _plain(read_definition(workflow))
            route, body = RUN, {"specification": definition}
            if self._check:
                self._knowledge.require(definition, inputs, deadline)
            signature = self._signature_of(definition, body, serialize, deadline)
        written = self._inputs.write(inputs, signature.inputs)
        body = {**self._key, **body, "inputs": written, "enable_profiling": profiler is not None}
        if not serialize:
            body["lossless"] = True  # other servers leave it alone
        if disable_sinks:
            body["disable_sinks"] = True
        if held is not None:
            body["lock"] = held.model_dump(exclude_none=True)
        started = time.perf_counter_ns() / 1000
        answer = self._connection.post(
            route,
            body,
            timeout=deadline,
            repeatable=signature.repeatable or disable_sinks,
        )
        rows = outputs_of(answer, self.url)
        if held is not None and answer.content.get("lock_digest") != held.digest:
            raise ServerAnswerError(
                f"The server {self.url} ran the workflow and does not say that it checked the "
                "lock; it may be one that knows none.",
                self.url,
            )
        require_rows(rows, signature, written, self.url)
        if named is None:
            require_outputs(rows, signature.outputs, self.url)
        if profiler is not None:
            profiler.add_trace(trace_of(answer, self.url), started)
        if serialize:
            return rows
        if named is not None and any(row.keys() - signature.outputs.keys() for row in rows):
            signature = describe(again=True)  # the stored workflow has changed
        return self._results.read(rows, signature)

    def describe(self, workflow: str) -> Signature:
        """What a stored workflow takes and gives, as the server says it.

        Args:
            workflow: `workspace/id`.

        Raises:
            ValueError: this is no such name.
            WorkflowError: the server has something to say against the workflow.
            RemoteServerError: it cannot be asked, has no such workflow, or answers strangely.
        """
        named = workflow_id(workflow)
        if named is None:
            raise ValueError(f"a stored workflow is named workspace/id, got {workflow!r}")
        return self._knowledge.signature(
            f"{_stored_route(named)}/describe_interface",
            {"use_cache": True},
            Deadline(self._timeout),
        )

    def check(
        self, workflow: WorkflowSource | Workflow, inputs: Mapping[str, Any] | None = None
    ) -> None:
        """Asks the server whether it has everything a workflow needs; runs nothing.

        Args:
            workflow: as for `run`, but no id: the server has what it stores.
            inputs: values of inputs, for models that are named by one.

        Raises:
            MissingOnServerError: it lacks blocks, versions or models; each is named.
            RemoteServerError: it cannot be asked, or it does not know the question.
        """
        definition = _plain(read_definition(workflow))
        deadline = Deadline(self._timeout)
        if not self._knowledge.require(definition, inputs, deadline, again=True):
            raise ServerAnswerError(
                f"The server {self.url} does not tell what it has (it has no {CHECK}).", self.url
            )

    @cached_property
    def models(self) -> RemoteModels:
        """The models of the server with the face of a model manager.

        Example:
            run_locally(
                workflow,
                inputs,
                init_parameters={"model_manager": server.models, "step_execution_mode": "remote"},
            )
        """
        from workflows.remote.models import RemoteModels

        return RemoteModels(self._connection, self._images, self._key, self._timeout)

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()

    def __enter__(self) -> RemoteServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteServer({self.url!r})"

    def _signature_of(
        self, definition: Any, body: Mapping[str, Any], serialize: bool, deadline: Deadline
    ) -> Signature:
        """From the plan where the workflow compiles here, else from the server."""
        try:
            return signature_of_plan(self._session.compile(definition))
        except WorkflowError:
            # The server may have blocks that this side lacks; what is wrong is its to say.
            declared = signature_of_definition(definition)
        if serialize or not isinstance(definition, Mapping):
            return declared
        described = self._knowledge.signature(DESCRIBE, body, deadline)
        return replace(declared, outputs=described.outputs)


def run_remotely(
    workflow: WorkflowSource | Workflow,
    inputs: Mapping[str, Any],
    *,
    server: str | RemoteServer,
    api_key: str | None = None,
    serialize: bool = False,
    timeout: float | None = None,
    retries: int = 3,
    image_format: ImageFormat = "png",
    jpeg_quality: int = 95,
    check: bool = True,
    max_answer_bytes: int | None = None,
    disable_sinks: bool = False,
    workflow_version_id: str | None = None,
    profiler: ChromeTraceProfiler | None = None,
    session: Session | None = None,
    lock: LockSource | None = None,
) -> list[dict[str, Any]]:
    """Runs a workflow on a server and gives what `run_locally` gives.

    A request is repeated when it cannot have run (connection refused, 429); when it may have run
    (502, 503, 504, broken connection) only if no step acts on the world outside, as sinks do.

    Example:
        results = run_remotely("workflow.json", {"image": "street.jpg"}, server="http://gpu:9001")

    Args:
        workflow: a JSON object, JSON text, the path of a file, a `Workflow`, or `workspace/id` for
            the server's own copy.
        inputs: values by name, as for `run_locally`. Files and bytes are sent as they are;
            http(s) addresses are sent for the server to fetch.
        server: address, or a `RemoteServer`, which keeps its connections over many calls and
            brings its own values for `api_key`, `retries`, `image_format`, `jpeg_quality`,
            `check`, `max_answer_bytes` and `session`.
        api_key: key the server asks for.
        serialize: give the JSON data of the answer instead of Python objects.
        timeout: seconds for everything: questions before the run, connecting, sending, waiting,
            receiving the last byte, all repetitions and the pauses between them; no step outlasts
            it. 120, or what the `RemoteServer` has, when None. A repetition that it leaves no time
            for is not begun: the failure before it is what is told.
        retries: most repetitions of a request.
        image_format: how pixels are sent: `png` (without loss) or `jpeg`.
        jpeg_quality: 1 to 100.
        check: ask the server first whether it has all blocks and models.
        max_answer_bytes: largest answer that is read, in bytes of its decoded body; the setting
            `remote_max_answer_bytes` (512 MiB) of the session when None.
        disable_sinks: run without the effects of steps that write and send.
        workflow_version_id: version of the server's copy.
        profiler: gets the trace of the server, beginning at the moment of the request.
        session: whose blocks describe inputs and outputs.
        lock: let the server refuse to run with anything but what this lock says: the path of a lock
            file, its JSON object, or a `Lock`. It is held against the server's blocks and models.

    Returns:
        One object an element of the batch, with one member a declared output.

    Raises:
        WorkflowCompilerError: the definition has problems, all of them in `.errors`;
            `MissingOnServerError` when the server lacks what it needs.
        RuntimeInputError, StepExecutionError and others: as `run_locally`, from the server.
        RemoteServerError: the server cannot be reached, refuses, is too slow, or answers
            strangely: with too many bytes, with more or fewer rows than the inputs allow.
        LockDriftError: something differs from the lock; `.drifts` holds every difference.
        WorkflowLockError: the lock cannot be read.
    """
    options: dict[str, Any] = {
        "serialize": serialize,
        "timeout": timeout,
        "disable_sinks": disable_sinks,
        "workflow_version_id": workflow_version_id,
        "profiler": profiler,
        "lock": lock,
    }
    if isinstance(server, RemoteServer):
        own = (api_key, retries, image_format, jpeg_quality, check, max_answer_bytes, session)
        if own != (None, 3, "png", 95, True, None, None):
            raise ValueError(
                "a RemoteServer brings its own api_key, retries, image_format, jpeg_quality, "
                "check, max_answer_bytes and session; give them when you make it"
            )
        return server.run(workflow, inputs, **options)
    with RemoteServer(
        server,
        api_key=api_key,
        retries=retries,
        image_format=image_format,
        jpeg_quality=jpeg_quality,
        check=check,
        max_answer_bytes=max_answer_bytes,
        session=session,
    ) as made:
        return made.run(workflow, inputs, **options)


def workflow_id(workflow: Any) -> tuple[str, str] | None:
    """(workspace, id) of a workflow given as `workspace/id`; None for a definition or a file."""
    if not isinstance(workflow, str) or not _ID.fullmatch(workflow):
        return None
    if workflow.endswith(".json") or path.isfile(workflow):
        return None
    workspace, own_id = workflow.split("/")
    return workspace, own_id


def read_definition(workflow: WorkflowSource | Workflow) -> Mapping[str, Any]:
    """The definition to send; for a name that is no file the error says how stored ones are named.

    Raises:
        WorkflowError: it cannot be read.
    """
    try:
        return definition_of(workflow)
    except WorkflowDefinitionError as error:
        is_missing = isinstance(error.inner_error, FileNotFoundError)
        if not is_missing or not isinstance(workflow, str) or not _NAME.fullmatch(workflow):
            raise
        raise WorkflowDefinitionError(
            f"{error.public_message} A workflow that the server stores is named workspace/id, such "
            f"as 'shop/{workflow}'.",
            error.context,
            error.inner_error,
        ) from error


def _stored_route(named: tuple[str, str]) -> str:
    return f"/{quote(named[0])}/workflows/{quote(named[1])}"


def _plain(definition: Any) -> Any:
    """The definition as JSON data."""
    try:
        return json_form(definition)
    except (TypeError, ValueError) as error:
        problem = Problem("invalid_json", f"The workflow definition is no JSON: {error}.", "")
        raise WorkflowSyntaxError(
            problem.message, "workflow_compilation | workflow_definition_loading", error, [problem]
        ) from error
