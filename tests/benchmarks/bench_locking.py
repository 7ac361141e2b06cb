"""Prints what locks cost: making one for 50 different blocks, and checking one at every run.

Run it with `python -m tests.benchmarks.bench_locking`. Figures are medians.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.blocks.released.records import read_records, runs_a_model
from workflows import Session, WeftlensSettings
from workflows.locking.lock_file import write_lock
from workflows.locking.making import make_lock

STEPS = 50
CALLS = 300
ROUNDS = 7
PARTS = Path(__file__).parents[2] / "examples" / "find_parts.json"


def different_steps(count: int = STEPS) -> dict[str, Any]:
    """A workflow of steps of different blocks, side by side."""
    inputs: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []
    for record in read_records().values():
        case = record["case"]["definition"]
        if len(case["steps"]) != 1 or runs_a_model(record["case"]):
            continue
        name = f"s{len(steps)}"
        text = json.dumps(case["steps"][0])
        text = re.sub(r"\$inputs\.([\w-]+)", rf"$inputs.{name}_\1", text)
        steps.append({**json.loads(text), "name": name})
        for one in case["inputs"]:
            own = f"{name}_{one['name']}"
            inputs[own] = {**one, "name": own}
        if len(steps) == count:
            break
    return {"version": "1.0", "inputs": list(inputs.values()), "steps": steps, "outputs": []}


def median_ms(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median milliseconds of an action."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def check_us(session: Session, definition: Any, lock: Any) -> float:
    """Microseconds a check adds to a run."""
    session.locks.check(definition, lock, {})

    def many() -> None:
        for _ in range(CALLS):
            session.locks.check(definition, lock, {})

    return median_ms(many) * 1000 / CALLS


def main() -> None:
    """Prints all figures."""
    fifty = different_steps()
    parts = json.loads(PARTS.read_text(encoding="utf-8"))

    def make() -> None:
        with Session(WeftlensSettings()) as session:
            make_lock(session, fifty)

    print(
        f"lock of {STEPS} steps of different blocks, compilation included: {median_ms(make):.0f} ms"
    )
    with Session(WeftlensSettings()) as session, tempfile.TemporaryDirectory() as folder:
        time.sleep(2.1)  # files of this checkout count as settled
        lock = make_lock(session, fifty)
        print(f"check of it, no model, lock as object: {check_us(session, fifty, lock):.0f} us")
        lock, path = make_lock(session, parts), Path(folder) / "parts.lock.json"
        write_lock(lock, path)
        time.sleep(2.1)
        print(f"check of 8 steps, model of 5 files: {check_us(session, parts, lock):.0f} us")
        print(f"the same, lock as a path: {check_us(session, parts, path):.0f} us")


if __name__ == "__main__":
    main()
