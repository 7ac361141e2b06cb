"""`WeftlensSettings`: what a host permits and how much it spends. Reads the environment only when
an object is made; nothing here acts on a setting.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from execution_engine.images.codec import DEFAULT_MAX_PIXELS

ENVIRONMENT_PREFIX = "WEFTLENS_"
_SERVER_PREFIX = "WEFTLENS_SERVER_"


class WeftlensSettings(BaseSettings):
    """Settings of a session. Values given by name win over environment variables `WEFTLENS_<NAME>`.

    In-process use is trusted as far as the caller himself is: he names image files and model files.
    Whatever a workflow definition could use against its host is off.
    """

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="forbid", frozen=True)

    allow_local_images: bool = Field(
        True, description="Read image inputs that are given as paths of this machine."
    )
    allow_image_urls: bool = Field(
        False, description="Fetch image inputs given as http(s) addresses; public addresses only."
    )
    image_url_max_bytes: PositiveInt = Field(
        50 * 1024 * 1024, description="Largest body fetched from an address, in bytes."
    )
    image_url_timeout: PositiveFloat = Field(
        10.0, description="Seconds a fetch may take in all, redirects among it."
    )
    max_image_pixels: PositiveInt = Field(
        DEFAULT_MAX_PIXELS, description="Largest height times width of an image that is decoded."
    )
    max_batch: PositiveInt | None = Field(None, description="Most elements of one batch input.")
    max_elements: PositiveInt | None = Field(
        None, description="Most elements that one step may make of its batch: slices, crops."
    )
    max_total_pixels: PositiveInt | None = Field(
        None, description="Largest sum of height times width of the images of one run."
    )
    max_image_bytes: PositiveInt | None = Field(
        None, description="Most bytes of all images that the steps of one run make."
    )
    allow_access_to_file_system: bool = Field(
        False, description="Let steps write files of this machine."
    )
    allowed_write_directory: Path | None = Field(
        None, description="The only folder steps may write to; any folder when not set."
    )
    allow_access_to_environmental_variables: bool = Field(
        False, description="Let steps read environment variables of this process."
    )
    allow_custom_python: bool = Field(
        False,
        description="Told to blocks of plug-ins that run Python code of a definition; no block of "
        "weftlens does.",
    )
    plan_cache_size: PositiveInt = Field(256, description="Compiled workflows kept.")
    model_directories: tuple[Path, ...] = Field(
        (), description="Folders with model packages as <folder>/<name>/<version>."
    )
    allow_model_paths: bool = Field(True, description="Accept paths of this machine as model ids.")
    max_model_bytes: PositiveInt | None = Field(
        None, description="Limit on the memory of all loaded models, in bytes."
    )
    step_execution_mode: Literal["local", "remote"] = Field(
        "local", description="Where steps run models: in this process or on `remote_server`."
    )
    remote_server: str | None = Field(
        None, description="Address of the server whose models steps use, http(s)://host:port."
    )
    remote_api_key: SecretStr | None = Field(None, description="Key that this server asks for.")
    remote_timeout: PositiveFloat = Field(
        120.0, description="Seconds a call of a model there may take, repetitions included."
    )
    remote_max_answer_bytes: PositiveInt = Field(
        512 * 1024 * 1024, description="Largest answer of a server that is read, in bytes."
    )
    model_max_batch: PositiveInt = Field(
        1,
        description="Images of calls at the same time that share a run of the network; 1 is off.",
    )
    model_max_delay_ms: NonNegativeFloat = Field(
        2.0, description="Longest wait for calls whose images are being prepared, in milliseconds."
    )
    model_queue_size: PositiveInt = Field(
        128, description="Calls that may wait for a model before more are refused."
    )
    device: str = Field(
        "cpu",
        pattern=r"^(cpu|cuda(:\d+)?)$",
        description="Where models run: cpu, cuda or cuda:<n>.",
    )


def read_settings() -> WeftlensSettings:
    """The settings of this process's environment.

    Raises:
        WorkflowEnvironmentConfigurationError: a variable has a value its setting does not take.
    """
    try:
        return WeftlensSettings()  # type: ignore[call-arg]  # every field has a default
    except ValidationError as error:
        faults = "; ".join(
            f"{ENVIRONMENT_PREFIX}{str(detail['loc'][0]).upper()} is {detail['input']!r}: "
            f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
            for detail in error.errors(include_url=False)
        )
        raise WorkflowEnvironmentConfigurationError(
            f"The environment has settings that cannot be used: {faults}.",
            context="settings",
            inner_error=error,
        ) from error
    except ValueError as error:  # a list or path variable that is no JSON
        raise WorkflowEnvironmentConfigurationError(
            f"The environment has settings that cannot be read: {error}.",
            context="settings",
            inner_error=error,
        ) from error


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Names of variables with our prefix that are no setting, such as misspelt ones.

    Args:
        environment: variables to look at; those of the process when None.
    """
    known = {f"{ENVIRONMENT_PREFIX}{name}".upper() for name in WeftlensSettings.model_fields}
    variables = os.environ if environment is None else environment
    return sorted(
        name
        for name in variables
        if name.upper().startswith(ENVIRONMENT_PREFIX)
        and not name.upper().startswith(_SERVER_PREFIX)
        and name.upper() not in known
    )
