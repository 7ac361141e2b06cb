"""Sessions: plans, engines, models, settings."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from execution_engine import BlockRegistry, ChromeTraceProfiler, Plugin
from execution_engine.block_api import OutputDefinition, WorkflowBlock, WorkflowBlockManifest
from execution_engine.errors import (
    RuntimeInputError,
    StepExecutionError,
    WorkflowEnvironmentConfigurationError,
    WorkflowSyntaxError,
)
from workflows import Session, WeftlensSettings, Workflow, run_locally
from workflows.session import CORE_SOURCE, definition_of


class ParametersManifest(WorkflowBlockManifest):
    type: str = "toy/parameters@v1"

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("seen")]


def registry_of(*names: str, source: str = "toy", **initializers: Any) -> BlockRegistry:
    """A registry with one block that gives back the constructor arguments `names`."""
    from typing import Literal

    class Manifest(ParametersManifest):
        type: Literal["toy/parameters@v1"]

    arguments = ", ".join(names)
    made: dict[str, Any] = {}
    exec(f"def __init__(self, {arguments}): self.seen = dict({'=, '.join(names)}=None)", made)

    class Block(WorkflowBlock):
        returns_futures = False

        def __init__(self, **given: Any) -> None:
            self.seen = given

        @classmethod
        def get_init_parameters(cls) -> list[str]:
            return list(names)

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return Manifest

        def run(self) -> dict[str, Any]:
            return {"seen": self.seen}

    Manifest.__annotations__["type"] = Literal["toy/parameters@v1"]
    return BlockRegistry([Plugin(source, blocks=(Block,), initializers=initializers)])
