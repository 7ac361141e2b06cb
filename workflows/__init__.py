"""The user's side of weftlens: run workflows, look at them, check them.

Names load when they are first used, so that importing this package costs next to nothing. Nothing
may be computed here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from execution_engine.errors import Problem, WorkflowError
    from execution_engine.executor.limits import CancellationToken
    from execution_engine.executor.report import RunReport
    from execution_engine.profiling import ChromeTraceProfiler
    from workflows.locking.errors import LockDriftError
    from workflows.remote.client import RemoteServer, run_remotely
    from workflows.running import compile_workflow, default_session, run_locally
    from workflows.session import Session
    from workflows.settings import WeftlensSettings
    from workflows.video.pipeline import InferencePipeline
    from workflows.video.running import run_on_video
    from workflows.workflow import Workflow

_PLACES = {
    "CancellationToken": "execution_engine.executor.limits",
    "ChromeTraceProfiler": "execution_engine.profiling",
    "InferencePipeline": "workflows.video.pipeline",
    "LockDriftError": "workflows.locking.errors",
    "Problem": "execution_engine.errors",
    "RemoteServer": "workflows.remote.client",
    "RunReport": "execution_engine.executor.report",
    "Session": "workflows.session",
    "WeftlensSettings": "workflows.settings",
    "Workflow": "workflows.workflow",
    "WorkflowError": "execution_engine.errors",
    "compile_workflow": "workflows.running",
    "default_session": "workflows.running",
    "run_locally": "workflows.running",
    "run_on_video": "workflows.video.running",
    "run_remotely": "workflows.remote.client",
}

__all__ = [
    "CancellationToken",
    "ChromeTraceProfiler",
    "InferencePipeline",
    "LockDriftError",
    "Problem",
    "RemoteServer",
    "RunReport",
    "Session",
    "WeftlensSettings",
    "Workflow",
    "WorkflowError",
    "compile_workflow",
    "default_session",
    "run_locally",
    "run_on_video",
    "run_remotely",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'workflows' has no attribute {name!r}")
    return getattr(importlib.import_module(place), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
