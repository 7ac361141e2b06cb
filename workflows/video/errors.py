"""What can go wrong with a video before or beside a run; `status_code` is what a server answers.
Imports no decoder.
"""

from __future__ import annotations

from execution_engine.errors import WorkflowEnvironmentConfigurationError, WorkflowError

_CONTEXT = "video_processing"


class VideoOptionError(WorkflowEnvironmentConfigurationError):
    """An option is not known, out of range, or cannot be had here."""

    status_code = 400


class VideoSourceError(WorkflowError):
    """A source cannot be opened, is refused by the host, or was lost for good."""

    status_code = 400

    def __init__(self, public_message: str, inner_error: BaseException | None = None) -> None:
        super().__init__(public_message, f"{_CONTEXT} | source", inner_error)


class VideoWriterError(WorkflowError):
    """An annotated video cannot be written."""

    def __init__(self, public_message: str, inner_error: BaseException | None = None) -> None:
        super().__init__(public_message, f"{_CONTEXT} | writer", inner_error)


class PipelineNotFoundError(WorkflowError):
    """There is no pipeline of this id that the caller may see."""

    status_code = 404


class TooManyPipelinesError(WorkflowError):
    """No more pipelines can be started now."""

    status_code = 429


class FrameDecodeError(Exception):
    """One frame, or a part of the data, cannot be decoded; the stream may go on after it."""


class ConnectionLostError(Exception):
    """An opened source delivers no more; a live one may come back."""
