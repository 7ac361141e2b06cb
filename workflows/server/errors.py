"""From an exception to the status, headers and body of an answer. Raises nothing and logs nothing.

Every body has the members `message`, `error_type`, `context`, `blocks_errors` and `request_id`;
where another error was the cause, `inner_error_type` and `inner_error_message`; for faults of a
definition `errors`, one object a problem; for a lock that does not hold `lock_drift`. Values of
secrets are starred in all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from execution_engine import errors as engine
from execution_engine.executor.secrets import Secrets
from workflows.locking.errors import LockDriftError
from workflows.server.faults import DeadlineExceededError, RequestFault

INTERNAL_MESSAGE = "The server failed on this request; its log has the cause under the request id."
_PACKAGES = ("workflows", "blocks", "execution_engine", "inference_models")
_FILE_LINE = re.compile(r'File "(?P<path>[^"\n]+)"')

# The first class an error is an instance of decides; what is missing here is 500.
_STATUS_OF_WORKFLOW_ERROR: tuple[tuple[type[engine.WorkflowError], int], ...] = (
    (engine.PluginLoadingError, 500),
    (engine.PluginInterfaceError, 500),
    (engine.BlockInterfaceError, 500),
    (engine.BlockInitParameterNotProvidedError, 500),
    (engine.WorkflowCompilerError, 400),
    (engine.NotSupportedExecutionEngineError, 400),
    (engine.WorkflowExecutionEngineVersionError, 400),
    (engine.RuntimeInputError, 400),
    (engine.WorkflowImageLoadError, 400),
    (engine.RoboflowQueryLanguageError, 400),
    (engine.DynamicBlockCodeError, 400),
    (engine.RunCancelledError, 503),
    (engine.RunDeadlineExceededError, 504),
)
# By class name, so that nothing about models is imported for a workflow without any.
_STATUS_OF_MODEL_ERROR: Mapping[str, int] = {
    "InvalidParameterError": 400,
    "ModelInputError": 400,
    "InsecureModelIdentifierError": 400,
    "UnauthorizedModelAccessError": 401,
    "PaymentRequiredError": 402,
    "DirectLocalStorageAccessError": 403,
    "ForbiddenModelAccessError": 403,
    "UsagePausedError": 423,
    "ModelNotFoundError": 404,
    "ModelBusyError": 429,
    "ModelCallCancelledError": 503,
    "ModelDeadlineExceededError": 504,
    "ModelManagerClosedError": 503,
    "ModelPackageRestrictedError": 507,
}
# What a step refuses because of the values or wishes of the client; the class of the error stays.
_STATUS_OF_STEP_FAULT: tuple[tuple[type[Exception], int], ...] = (
    (engine.InvalidFieldValueError, 400),
    (engine.ForbiddenByHostError, 403),
)
_MODEL_ERROR_BASE = "InferenceModelsError"


class ErrorAnswer(NamedTuple):
    """An error as it goes out."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str]


def error_answer(
    error: BaseException,
    request_id: str,
    *,
    secrets: Iterable[str] = (),
    hidden_paths: Iterable[Path] = (),
    expose_tracebacks: bool = True,
) -> ErrorAnswer:
    """The answer for an error.

    Args:
        error: what was raised.
        request_id: id of the request, under which the log has more.
        secrets: texts to star, such as the API key of the request.
        hidden_paths: folders of this machine whose names clients have no business with.
        expose_tracebacks: whether the traceback of a failed block goes out.
    """
    status, body = _described(error, expose_tracebacks)
    body["request_id"] = request_id
    starred = Secrets(secrets).in_data(body)
    folders = [str(one) for one in hidden_paths]
    return ErrorAnswer(status, _without_paths(starred, folders), _headers(error))


def status_of_model_error(error: BaseException) -> int | None:
    """Status for an error about a model, None for any other error."""
    names = [cls.__name__ for cls in type(error).__mro__]
    if _MODEL_ERROR_BASE not in names:
        return None
    return next(
        (_STATUS_OF_MODEL_ERROR[one] for one in names if one in _STATUS_OF_MODEL_ERROR), 500
    )


def _headers(error: BaseException) -> dict[str, str]:
    if isinstance(error, RequestFault):
        return dict(error.headers)
    cause = error.inner_error if isinstance(error, engine.WorkflowError) else error
    seconds = getattr(cause, "retry_after", None)
    return {} if seconds is None else {"Retry-After": str(max(1, math.ceil(seconds)))}


def _described(error: BaseException, expose_tracebacks: bool) -> tuple[int, dict[str, Any]]:
    if isinstance(error, engine.WorkflowError):
        return _workflow_error(error, expose_tracebacks)
    if isinstance(error, RequestFault):
        blocks_errors = []
        if isinstance(error, DeadlineExceededError) and error.step is not None:
            blocks_errors = [_block_error(error.step, None, error.message)]
        # What caused it stays here: texts of validators show the values they were given.
        return error.status, _body(
            error.message, type(error).__name__, error.context, None, blocks_errors
        )
    status = status_of_model_error(error)
    if status is not None:
        return status, _body(str(error), type(error).__name__, "model", error.__cause__)
    return 500, _body(INTERNAL_MESSAGE, "InternalServerError", "request", None)


def _workflow_error(
    error: engine.WorkflowError, expose_tracebacks: bool
) -> tuple[int, dict[str, Any]]:
    status = getattr(error, "status_code", None)
    if isinstance(error, engine.StepExecutionError) and status is None:
        status = next(
            (code for cls, code in _STATUS_OF_STEP_FAULT if isinstance(error.inner_error, cls)),
            None,
        )
    if status is None:
        status = next(
            (code for cls, code in _STATUS_OF_WORKFLOW_ERROR if isinstance(error, cls)), 500
        )
    body = _body(error.public_message, type(error).__name__, error.context, error.inner_error)
    if isinstance(error, engine.WorkflowCompilerError):
        body["blocks_errors"] = [asdict(one) for one in error.blocks_errors]
        body["errors"] = [problem.to_dict() for problem in error.errors]
    elif isinstance(error, LockDriftError):
        body["lock_drift"] = error.to_dict()
    elif isinstance(error, engine.DynamicBlockCodeError):
        body["blocks_errors"] = [
            _block_error(error.block_id, error.block_type, error.public_message, error)
            | {"property_name": "Python code"}
        ]
    elif isinstance(error, engine.StepExecutionError):
        shown = error if expose_tracebacks and status >= 500 else None
        body["blocks_errors"] = [
            _block_error(error.block_id, error.block_type, error.public_message, shown)
        ]
    return status, body


def _body(
    message: str,
    error_type: str,
    context: str,
    inner: BaseException | None,
    blocks_errors: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    body: dict[str, Any] = {"message": message, "error_type": error_type, "context": context}
    if inner is not None:
        # Clients print these wherever they are there.
        body["inner_error_type"] = type(inner).__name__
        body["inner_error_message"] = str(inner)
    body["blocks_errors"] = blocks_errors or []
    return body


def _block_error(
    block_id: str | None,
    block_type: str | None,
    details: str,
    traced: engine.StepExecutionError | None = None,
) -> dict[str, Any]:
    trace = None if traced is None else traced.block_traceback
    if trace is not None:
        trace_data = asdict(trace)
        trace_data["traceback"] = _with_short_paths(trace.traceback)
    return asdict(
        engine.WorkflowBlockError(block_id=block_id, block_type=block_type, block_details=details)
    ) | {"block_traceback": None if trace is None else trace_data}


def _with_short_paths(text: str) -> str:
    """A traceback whose file names begin at a package, not at the root of this machine."""

    def shortened(match: re.Match[str]) -> str:
        parts = Path(match["path"]).parts
        for position, part in enumerate(parts):
            if part in ("site-packages", "dist-packages") or part.startswith("python3"):
                kept = parts[position + 1 :]
                if kept and kept[0] not in ("site-packages", "dist-packages"):
                    return f'File "{"/".join(kept)}"'
        starts = [index for index, part in enumerate(parts) if part in _PACKAGES]
        kept = parts[starts[0] :] if starts else parts[-1:]
        return f'File "{"/".join(kept)}"'

    return _FILE_LINE.sub(shortened, text)


def _without_paths(value: Any, folders: list[str]) -> Any:
    if not folders:
        return value
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, "<folder>")
        return value
    if isinstance(value, dict):
        return {key: _without_paths(item, folders) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_paths(item, folders) for item in value]
    return value
