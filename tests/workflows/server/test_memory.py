"""Freed memory is kept for the next picture."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_CODE = """
import resource
import numpy as np
from workflows.server.memory import keep_freed_memory

kept = keep_freed_memory() if {keep} else None
for _ in range(20):
    np.ones((1000, 1000, 3), np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    np.ones((1000, 1000, 3), np.uint8)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _run(keep: bool, **environment: str) -> tuple[str, int]:
    """What `keep_freed_memory` gave, and the page faults of a hundred pictures."""
    variables = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(keep=keep)],
        capture_output=True, text=True, cwd=ROOT, env=variables | environment, check=True,
        timeout=60,
    )  # fmt: skip
    kept, faults = done.stdout.split()
    return kept, int(faults)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library has it")
class TestKeepFreedMemory:
    def test_fetches_no_page_twice(self) -> None:
        """A hundred pictures of 3 MB need hardly a page more than twenty."""
        kept, faults = _run(True)
        assert kept == "True"
        assert faults < 100

    def test_leaves_it_to_the_environment(self) -> None:
        """Who tunes the library himself is not overruled."""
        kept, _ = _run(True, MALLOC_TRIM_THRESHOLD_="131072")
        assert kept == "False"
