"""`ServerSettings`: where the server listens and what one request, one client and all of them
together may use. Reads the environment only when an object is made; acts on nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.settings import WeftlensSettings, read_settings

ENVIRONMENT_PREFIX = "WEFTLENS_SERVER_"
_MEBIBYTE = 1024 * 1024


class ServerSettings(BaseSettings):
    """Settings of a server. Values given by name win over variables `WEFTLENS_SERVER_<NAME>`.

    What a client sends is not trusted: paths of this machine are neither images nor model ids here,
    whatever the settings of the session allow elsewhere.
    """

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(9001, ge=0, le=65535, description="Port to listen on; 0 for any free one.")
    models: tuple[Path, ...] = Field(
        (), description="Folders with model packages as <folder>/<name>/<version>."
    )
    warm_up: tuple[str, ...] = Field(
        (), description="Models to load before the server says that it is ready."
    )
    workflows: Path | None = Field(
        None, description="Folder with stored workflows as <id>.json or <workspace>/<id>.json."
    )
    locked: bool = Field(
        False,
        description="Run only what is locked: every stored workflow needs a lock that holds, "
        "every workflow that is sent along brings one.",
    )
    api_keys: Path | None = Field(
        None, description="File of API keys; every request is served when not set."
    )
    device: str = Field(
        "cpu",
        pattern=r"^(cpu|cuda(:\d+)?)$",
        description="Where models run: cpu, cuda or cuda:<n>.",
    )
    allow_image_urls: bool = Field(
        False, description="Fetch image inputs given as http(s) addresses; public addresses only."
    )

    max_body_bytes: PositiveInt = Field(
        64 * _MEBIBYTE, description="Largest request body, in bytes."
    )
    header_timeout: PositiveFloat = Field(
        15.0, description="Seconds in which the headers of a request must arrive."
    )
    max_connections: PositiveInt = Field(
        1024, description="Most connections at the same time; more are answered with 503."
    )
    max_idle_connections: NonNegativeInt = Field(
        4,
        description="Most connections of one address that stay open without a request; an answer "
        "beyond them closes its own.",
    )
    body_timeout: PositiveFloat = Field(
        30.0, description="Seconds in which the whole body of a request must arrive."
    )
    answer_timeout: PositiveFloat = Field(
        30.0,
        description="Seconds in which a client must take some of its answer; else its connection "
        "breaks off.",
    )
    max_unread_bytes: PositiveInt = Field(
        512 * _MEBIBYTE,
        description="Bytes that answers may hold which clients have not taken; beyond them those "
        "that wait longest break off.",
    )
    max_json_values: PositiveInt = Field(
        1_000_000, description="Most values, members and elements in the JSON of a request."
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Web pages that may call the server, as https://host; its own always may."
    )
    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="Names that requests may ask for in their Host header. When not set: any name "
        "where API keys are needed or other machines reach the server, else only names that no "
        "web page can have.",
    )
    max_batch: PositiveInt = Field(64, description="Most elements of one batch input.")
    max_elements: PositiveInt = Field(
        20_000, description="Most elements that the steps of a run may make of one batch."
    )
    max_request_pixels: PositiveInt = Field(
        400_000_000, description="Largest sum of pixels of all images that a request brings."
    )
    max_image_pixels: PositiveInt = Field(
        100_000_000, description="Largest height times width of an image that is decoded."
    )
    max_run_bytes: PositiveInt = Field(
        2048 * _MEBIBYTE, description="Most bytes of all images that the steps of one run make."
    )
    max_steps: PositiveInt = Field(256, description="Most steps of a workflow.")
    max_outputs: PositiveInt = Field(256, description="Most outputs of a workflow.")
    max_nesting: PositiveInt = Field(
        64, description="Deepest nesting of arrays and objects in a request."
    )

    max_concurrency: PositiveInt | None = Field(
        None,
        description="Requests worked on at the same time; when not set, the number of cores, and "
        "with dynamic batching as many more that wait for a batch as fill one.",
    )
    max_queue: PositiveInt = Field(256, description="Requests that may wait for a worker.")
    max_queued_bytes: PositiveInt = Field(
        512 * _MEBIBYTE, description="Bytes that the bodies of all requests inside may take."
    )
    request_timeout: PositiveFloat = Field(
        60.0, description="Seconds from the first byte of a request to its answer."
    )
    shutdown_timeout: NonNegativeFloat = Field(
        30.0, description="Seconds that requests get to finish when the server is stopped."
    )

    dynamic_batching: bool = Field(
        True, description="Run images of several requests through a model together."
    )
    dynamic_batch_size: PositiveInt = Field(4, description="Most images of such a batch.")
    dynamic_batch_delay_ms: NonNegativeFloat = Field(
        2.0,
        description="Milliseconds that a batch waits at most for images that are being prepared.",
    )

    video_folders: tuple[Path, ...] = Field(
        (), description="Folders whose videos pipelines may read, by their names below the folder."
    )
    allow_cameras: bool = Field(False, description="Let pipelines read cameras of this machine.")
    allow_video_urls: bool = Field(
        False, description="Let pipelines read http(s) addresses; public addresses only."
    )
    video_hosts: tuple[str, ...] = Field(
        (),
        description="Hosts that pipelines may reach by any protocol (rtsp among them), wherever "
        "they are; they are trusted not to redirect elsewhere.",
    )
    max_pipelines: PositiveInt = Field(4, description="Pipelines that run at the same time.")
    max_pipelines_per_key: PositiveInt = Field(2, description="Those of one API key.")
    max_pipeline_results: PositiveInt = Field(
        64, description="Most results kept for a pipeline until they are fetched."
    )
    max_pipeline_result_bytes: PositiveInt = Field(
        64 * _MEBIBYTE, description="Bytes that these may take; the oldest go first."
    )

    cv2_threads: PositiveInt = Field(1, description="Threads OpenCV uses in one call.")
    keep_freed_memory: bool = Field(
        True,
        description="Keep the memory of pictures for the next ones, until nothing is asked for 10 "
        "seconds (GNU C library only).",
    )
    expose_tracebacks: bool = Field(
        True, description="Put the traceback of a failed block into the error body."
    )
    metrics: bool = Field(True, description="Serve GET /metrics.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least level of the lines written to the log."
    )

    def session_settings(self) -> WeftlensSettings:
        """Settings of the session behind this server: those of the environment, held to what is
        right for clients that are not trusted.

        Raises:
            WorkflowEnvironmentConfigurationError: the environment has a setting that cannot be
                used.
        """
        own = read_settings()
        return own.model_copy(
            update={
                "allow_local_images": False,
                "allow_model_paths": False,
                "allow_image_urls": self.allow_image_urls,
                "max_image_pixels": self.max_image_pixels,
                "max_total_pixels": self.max_request_pixels,
                "max_batch": self.max_batch,
                "max_image_bytes": self.max_run_bytes,
                "max_elements": self.max_elements,
                "model_directories": (*self.models, *own.model_directories),
                "device": self.device,
                "model_max_batch": self.dynamic_batch_size if self.dynamic_batching else 1,
                "model_max_delay_ms": self.dynamic_batch_delay_ms,
                "model_queue_size": max(self.max_queue, 1),
            }
        )


def read_server_settings(**given: object) -> ServerSettings:
    """The settings of this process's environment, with those given by name on top.

    Raises:
        WorkflowEnvironmentConfigurationError: a value is not one its setting takes.
    """
    try:
        return ServerSettings(**given)  # type: ignore[arg-type]  # checked by the model
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, detail['loc']))} is {detail['input']!r}: "
            f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
            for detail in error.errors(include_url=False)
        )
        raise WorkflowEnvironmentConfigurationError(
            f"The server cannot be set up: {faults} (a setting is an option or the variable "
            f"{ENVIRONMENT_PREFIX}<NAME>).",
            context="server | settings",
            inner_error=error,
        ) from error
    except ValueError as error:  # a list or path variable that is no JSON
        raise WorkflowEnvironmentConfigurationError(
            f"The server cannot be set up: {error}.", context="server | settings", inner_error=error
        ) from error
