"""Hands secrets from the host's environment to other steps. Prints and stores no value."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import ForbiddenByHostError
from execution_engine.kinds.catalogue import SECRET_KIND


class EnvironmentSecretsStoreManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Environment Secrets Store",
            "version": "v1",
            "short_description": "Read secrets from environment variables of the host.",
            "long_description": (
                "Makes environment variables of the machine that runs the workflow available to "
                "other steps, so that keys and passwords stay out of workflow definitions. Each "
                "variable becomes an output named like it in lower case: `MY_API_KEY` becomes "
                "`my_api_key`. The host must allow workflows to read its environment; it does not "
                "by default."
            ),
            "license": "Apache-2.0",
            "block_type": "secrets_provider",
            "search_keywords": ["credentials", "password", "api key", "environment variable"],
        }
    )
    type: Literal["roboflow_core/environment_secrets_store@v1"]
    variables_storing_secrets: list[str] = Field(
        min_length=1,
        title="Variables Storing Secrets",
        description="Names of the environment variables to read.",
        examples=[["MY_API_KEY", "OTHER_API_KEY"]],
    )

    @field_validator("variables_storing_secrets")
    @classmethod
    def _outputs_are_distinct(cls, variables: list[str]) -> list[str]:
        owners: dict[str, str] = {}
        for variable in variables:
            if not variable:
                raise ValueError("the name of an environment variable must not be empty")
            other = owners.setdefault(variable.lower(), variable)
            if other != variable or variables.count(variable) > 1:
                raise ValueError(
                    f"{other} and {variable} would both become the output {variable.lower()}"
                )
        return variables

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("*")]

    def get_actual_outputs(self) -> list[OutputDefinition]:
        return [
            OutputDefinition(variable.lower(), [SECRET_KIND])
            for variable in self.variables_storing_secrets
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.4.0,<2.0.0"


class EnvironmentSecretsStoreBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, allow_access_to_environmental_variables: bool) -> None:
        self._allowed = allow_access_to_environmental_variables

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["allow_access_to_environmental_variables"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return EnvironmentSecretsStoreManifest

    def run(self, variables_storing_secrets: list[str]) -> BlockResult:
        """One output for each variable: its value.

        Raises:
            ForbiddenByHostError: the host does not let workflows read its environment.
            ValueError: a variable is not set; the text names it.
        """
        if not self._allowed:
            raise ForbiddenByHostError(
                "environment_secrets_store may not read environment variables on this host; the "
                "host allows it with the init parameter allow_access_to_environmental_variables"
            )
        missing = [name for name in variables_storing_secrets if name not in os.environ]
        if missing:
            raise ValueError(f"environment variables not set on this host: {', '.join(missing)}")
        return {name.lower(): os.environ[name] for name in variables_storing_secrets}
