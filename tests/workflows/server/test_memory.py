"""Freed memory is kept for the next picture."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from workflows.server.memory import KeptMemory

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
_GIVEN_BACK = """
import ctypes
from pathlib import Path
from workflows.server.memory import give_back_freed_memory, keep_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20

keep_freed_memory()
held = [bytearray(2**20) for _ in range(1000)]
last = bytearray(2**20)  # at the end of the heap, so that nothing is trimmed by itself
del held
before = resident()
give_back_freed_memory()
print(before, resident())
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


class TestKeptMemory:
    def test_goes_back_once_after_the_work(self) -> None:
        """Not while requests are inside or come, and once for each time there was work."""
        kept = KeptMemory(lambda: None, 10)
        moments = [
            (0, False, 0.0), (0, False, 60.0),  # never any work
            (1, True, 61.0), (1, True, 80.0), (2, False, 81.0), (2, False, 90.0),
            (3, False, 91.0), (3, False, 100.9),
        ]  # fmt: skip
        assert all(kept.after(*moment) is None for moment in moments)
        assert kept.after(3, False, 101.0) is not None
        assert kept.after(3, False, 500.0) is None
        assert kept.after(4, False, 501.0) is None
        assert kept.after(4, False, 511.0) is not None

    @pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library has it")
    def test_pages_go_back(self) -> None:
        """A thousand freed blocks of a megabyte are kept, and then are not."""
        done = subprocess.run(
            [sys.executable, "-c", _GIVEN_BACK], capture_output=True, text=True, cwd=ROOT,
            env={name: value for name, value in os.environ.items() if "MALLOC" not in name},
            check=True, timeout=60,
        )  # fmt: skip
        before, after = map(int, done.stdout.split())
        assert after < before - 500


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
