"""Throughput and latency of `manager.infer` with and without dynamic batching. Run it as a script;
nothing here asserts.

    python tests/benchmarks/bench_batching.py [--calls 64] [--threads 1 4 16 64]

Every thread calls parts-seg/1 with one image and calls again as soon as it has its answer. Compared
are calls that run each on their own thread and batches, both with one forward pass on all cores and
with one on each core.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from pathlib import Path

import cv2
import numpy as np

from inference_models.backends import ThreadBudget
from inference_models.backends.threads import available_cores
from inference_models.manager import ModelManager, dynamic_batching
from inference_models.shipped import shipped_models

MODEL = "parts-seg/1"
IMAGE = Path(__file__).resolve().parents[2] / "examples" / "images" / "coins.png"


def drive(
    manager: ModelManager, image: np.ndarray, threads: int, calls: int
) -> tuple[float, list[float]]:
    """Seconds until all calls are answered, and milliseconds of each call."""
    barrier = threading.Barrier(threads + 1)
    counts = [len(part) for part in np.array_split(np.arange(max(calls, threads)), threads)]
    latencies: list[list[float]] = [[] for _ in range(threads)]

    def work(index: int) -> None:
        barrier.wait()
        for _ in range(counts[index]):
            start = time.perf_counter()
            manager.infer(MODEL, image)
            latencies[index].append((time.perf_counter() - start) * 1000)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start, sorted(itertools.chain.from_iterable(latencies))


def main() -> None:
    """Prints one line a setting and number of threads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=64, help="calls of a line, at least")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--batch", type=int, default=8, help="largest batch")
    options = parser.parse_args()
    cores = available_cores()
    image = cv2.imread(str(IMAGE))
    assert image is not None, f"{IMAGE} cannot be read"
    batching = dynamic_batching(max_batch=options.batch, queue_size=max(options.threads))
    settings = {
        f"each call, {cores} cores a pass": (cores, None),
        "each call, 1 core a pass": (1, None),
        f"batches, {cores} cores a pass": (cores, batching),
        "batches, 1 core a pass": (1, batching),
    }
    print(f"{cores} cores, image {image.shape[0]} x {image.shape[1]} px, {options.calls} calls")
    print(f"{'':28}{'threads':>8}{'calls/s':>9}{'median ms':>11}{'95 % ms':>9}  batches")
    for name, (per_call, dispatcher) in settings.items():
        for threads in options.threads:
            with ModelManager(
                model_directories=[shipped_models()],
                threads=ThreadBudget(total=cores, per_call=per_call),
                dispatcher=dispatcher,
            ) as manager:
                manager.warm_up(MODEL)
                seconds, latencies = drive(manager, image, threads, options.calls)
                statistics = manager.list_models()[0].statistics
            sizes = "" if statistics is None else str(dict(statistics.batch_sizes))
            print(
                f"{name:28}{threads:8}{len(latencies) / seconds:9.1f}"
                f"{latencies[len(latencies) // 2]:11.1f}"
                f"{latencies[int(len(latencies) * 0.95)]:9.1f}  {sizes}",
                flush=True,
            )


if __name__ == "__main__":
    main()
