"""What importing the package and compiling a small workflow may cost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

HEAVY = (
    "torch",
    "supervision",
    "onnxruntime",
    "networkx",
    "jsonschema",
    "typer",
    "rich",
    "pydantic_settings",
    "httpx",
    "matplotlib",
    "scipy",
)


def measure(code: str) -> dict[str, Any]:
    """Runs code in a fresh interpreter: which of `HEAVY` it loaded and its peak memory."""
    script = f"""
{code}
import json, re, sys
from pathlib import Path
status = Path("/proc/self/status")
peak = re.search(r"VmHWM:\\s*(\\d+)", status.read_text()) if status.exists() else None
heavy = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps({{"heavy": heavy, "megabytes": int(peak[1]) / 1024 if peak else None}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class TestImport:
    def test_the_package_loads_nothing_heavy(self) -> None:
        """`import workflows` and its names load none of the heavy libraries."""
        names = "run_locally, Session, Workflow, compile_workflow, default_session, RunReport"
        assert measure(f"from workflows import {names}")["heavy"] == []

    def test_compiling_stays_within_the_budget(self, blur_definition: dict[str, Any]) -> None:
        """A compiled workflow needs at most 120 MB, and of the heavy libraries only the one that
        reads settings.
        """
        answer = measure(f"from workflows import *\ncompile_workflow({blur_definition!r})")
        assert set(answer["heavy"]) <= {"pydantic_settings"}
        # Where the system does not tell the peak of one process, only the libraries are checked.
        assert answer["megabytes"] is None or answer["megabytes"] <= 120

    def test_names(self) -> None:
        """Every public name can be had, is listed, and an unknown one is refused by name."""
        import workflows

        for name in workflows.__all__:
            assert getattr(workflows, name) is not None
        assert set(workflows.__all__) <= set(dir(workflows))
        with pytest.raises(AttributeError, match="has no attribute 'run'"):
            _ = workflows.run
