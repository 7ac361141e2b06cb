"""Time and memory of the shipped model on the coin photograph, without torch. Nothing here asserts.

    python -m tests.benchmarks.bench_shipped_model

The package holds the model at 384 px. The inputs of 320 and 640 px are exported from its
safetensors weights in a process of their own, which needs torch; each size is then timed in a fresh
process in which torch cannot be imported.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PHOTOGRAPH = ROOT / "examples" / "images" / "coins.png"
MODEL_ID = "parts-seg/1"
ROUNDS = 21
EXPORT = """
import json, sys
from pathlib import Path
from inference_models.families.native.export import ExportDescription, write_onnx_package
from inference_models.families.native.weights import load_detector
source, target, side = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
names = json.loads((source / "model_config.json").read_text())["class_names"]
network = load_detector(source / "weights.safetensors")
write_onnx_package(network, target, ExportDescription(names, (side, side)), dtype="float16")
"""
TIME = """
import resource, statistics, sys, time
sys.modules["torch"] = None
import cv2
from inference_models.manager import ModelManager
models, photograph, rounds = sys.argv[1], cv2.imread(sys.argv[2]), int(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with ModelManager() as manager:
    start = time.perf_counter()
    manager.warm_up(models)
    loaded = time.perf_counter() - start
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        (found,) = manager.infer(models, photograph, {"confidence": 0.4})
        times.append((time.perf_counter() - start) * 1e3)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{statistics.median(times):6.1f} ms an image ({min(times):.1f} to {max(times):.1f}), "
      f"load {loaded * 1e3:.0f} ms, {len(found)} objects, "
      f"process {after:.0f} MB, {after - before:.0f} MB of it for the model")
"""


def python(code: str, *arguments: object) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout


def main() -> None:
    """One line a size."""
    from inference_models.shipped import shipped_models

    shipped = shipped_models() / MODEL_ID
    with tempfile.TemporaryDirectory() as name:
        for side in (320, 384, 640):
            package = shipped
            if side != 384:
                package = Path(name) / str(side)
                python(EXPORT, shipped, package, side)
            print(f"{side} px: {python(TIME, package, PHOTOGRAPH, ROUNDS).strip()}", flush=True)


if __name__ == "__main__":
    main()
