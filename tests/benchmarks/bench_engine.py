"""Prints what the engine itself costs: a step, an element, a compilation, a start, two steps at
once.

Run it with `python -m tests.benchmarks.bench_engine`. Each figure is a median; the targets stand
beside them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from execution_engine import ExecutionEngine, PlanCache, compile_definition, discover_registry
from tests.execution_engine.toy_blocks import batch_input, block, step, toy_registry, workflow

RUNS = 9
STEPS = 50
ELEMENTS = 256
IMAGE = {"type": "WorkflowImage", "name": "image"}
FRESH_PROCESS = """
import json, re, sys, time
from pathlib import Path
definition = json.loads(sys.stdin.read())
started = time.perf_counter()
from execution_engine import compile_definition, discover_registry
imported = time.perf_counter()
registry = discover_registry({})
discovered = time.perf_counter()
compile_definition(definition, registry)
compiled = time.perf_counter()
peak = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())
print(json.dumps([imported - started, discovered - imported, compiled - discovered,
                  int(peak[1]) / 1024, len(sys.modules)]))
"""


def chain(steps: int = STEPS, tag: str = "s") -> dict[str, Any]:
    """A chain of property definitions: each turns the value of the one before into text."""
    first = step(
        "roboflow_core/property_definition@v1",
        f"{tag}0",
        data="$inputs.image",
        operations=[{"type": "ExtractImageProperty", "property_name": "width"}],
    )
    rest = [
        step(
            "roboflow_core/property_definition@v1",
            f"{tag}{i}",
            data=f"$steps.{tag}{i - 1}.output",
            operations=[{"type": "ToString"}],
        )
        for i in range(1, steps)
    ]
    return workflow([IMAGE], [first, *rest], {"o": f"$steps.{tag}{steps - 1}.output"})


def median_seconds(work: Callable[[], Any], runs: int = RUNS, repeats: int = 1) -> float:
    """Median time of one call, over `runs` measurements of `repeats` calls after one that warms
    up.
    """
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        times.append((time.perf_counter() - started) / repeats)
    return statistics.median(times)


def report(what: str, value: float, unit: str, target: float) -> None:
    """One line: the figure, the target, and whether it is met."""
    verdict = "ok" if value <= target else "MISSED"
    print(f"{what:<52}{value:9.3f} {unit:<3} target <= {target:g} {unit} {verdict}")


def step_overhead() -> None:
    """A chain of 50 steps on one image, work of the blocks included."""
    inputs = {"image": np.zeros((48, 64, 3), np.uint8)}
    with ExecutionEngine.init(chain(), registry=discover_registry({})) as engine:
        seconds = median_seconds(lambda: engine.run(inputs), repeats=50)
    report("a step (chain of 50 property definitions)", seconds / STEPS * 1e6, "us", 15)


def element_overhead() -> None:
    """256 elements through one element-wise block, against a block that does nothing with them."""
    echo = block("bench/echo@v1", lambda x: {"out": x})
    echo.run = lambda self, x: {"out": x}  # type: ignore[method-assign]
    definition = workflow(
        [batch_input("x")], [step("bench/echo@v1", "e", x="$inputs.x")], {"o": "$steps.e.out"}
    )
    inputs = {"x": list(range(ELEMENTS))}
    with ExecutionEngine.init(definition, registry=toy_registry(echo)) as engine:
        seconds = median_seconds(lambda: engine.run(inputs), repeats=50)
    report("an element (256 through one block, whole run)", seconds / ELEMENTS * 1e6, "us", 3)


def compilation() -> None:
    """Compilation of 50 steps: not seen before, seen before, and seen before with making the
    engine.
    """
    registry = discover_registry({})
    tags = iter(range(10_000))
    new = median_seconds(
        lambda: compile_definition(chain(tag=f"t{next(tags)}_"), registry), runs=5 * RUNS
    )
    report("compile 50 steps, new definition", new * 1e3, "ms", 3)
    cache = PlanCache(registry)
    definition = chain()
    repeat = median_seconds(lambda: cache.get(definition), repeats=20)
    report("compile 50 steps, seen before (cache of plans)", repeat * 1e3, "ms", 0.2)
    engine = median_seconds(lambda: ExecutionEngine.init(definition, plan_cache=cache), repeats=5)
    print(f"{'  the same with 50 block instances made':<52}{engine * 1e3:9.3f} ms")


def fresh_process() -> None:
    """Import, discovery and the first compilation in fresh interpreters."""
    root = Path(__file__).parents[2]
    runs = []
    for _ in range(RUNS + 1):
        finished = subprocess.run(
            [sys.executable, "-c", FRESH_PROCESS],
            input=json.dumps(chain()),
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(finished.stdout))
    imports, discoveries, compilations, memory, modules = (
        statistics.median(column) for column in zip(*runs[1:], strict=True)
    )
    report("compile 50 steps, first in a process", compilations * 1e3, "ms", 60)
    print(f"{'  import of the engine':<52}{imports * 1e3:9.1f} ms")
    print(f"{'  discovery of the blocks':<52}{discoveries * 1e3:9.1f} ms")
    report("import, discovery and compilation", imports + discoveries + compilations, "s", 0.5)
    report("peak memory after them", memory, "MB", 120)
    print(f"{'  modules loaded':<52}{modules:9.0f}")


def overlap() -> None:
    """Two steps of 0.3 s with four workers."""
    nap = block("bench/nap@v1", lambda seconds: {"out": time.sleep(seconds)})
    definition = workflow([], [step("bench/nap@v1", name, seconds=0.3) for name in "ab"])
    with ExecutionEngine.init(
        definition, max_concurrent_steps=4, registry=toy_registry(nap)
    ) as engine:
        seconds = median_seconds(lambda: engine.run({}), runs=5)
    report("two steps of 0.3 s with 4 workers", seconds, "s", 0.4)


def main() -> None:
    """Prints every figure."""
    step_overhead()
    element_overhead()
    compilation()
    fresh_process()
    overlap()


if __name__ == "__main__":
    main()
