"""Costs of the model manager beyond the network itself. Run it as a script; nothing here asserts.

    python tests/benchmarks/bench_manager.py

Prints the time `manager.infer` adds to a network that does nothing, pre-processing against the
plain float computation, suppression of overlaps, and post-processing of a detector's raw outputs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from inference_models.backends import BackendOptions, TensorSpec
from inference_models.families.nms import suppress_overlaps
from inference_models.manager import ModelManager
from inference_models.packages import (
    InferenceConfig,
    ModelConfig,
    ModelPackage,
    package_from_config,
)
from inference_models.preprocessing import PreProcessor

CLASSES = 80
ANCHORS = 8400


class ConstantBackend:
    """Answers with the same raw outputs whatever it sees."""

    threads = 1
    nbytes = 1

    def __init__(self, side: int, outputs: dict[str, np.ndarray]) -> None:
        self.input = TensorSpec("images", (None, 3, side, side), np.dtype("float32"))
        self._answers = outputs
        self.outputs = tuple(
            TensorSpec(name, value.shape, value.dtype) for name, value in outputs.items()
        )

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The constant answers."""
        return dict(self._answers)

    def close(self) -> None:
        """Nothing is held."""


def measure(call: Callable[[], Any], rounds: int = 200) -> str:
    """Median and least milliseconds of a call."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(times):8.3f} ms (min {min(times):.3f})"


def config(side: int, task: str, architecture: str, classes: int) -> dict[str, Any]:
    """A package configuration for the constant backend."""
    return {
        "model_architecture": architecture,
        "backend_type": "constant",
        "task_type": task,
        "class_names": [f"class {n}" for n in range(classes)],
        "inference_config": {
            "network_input": {
                "training_input_size": {"height": side, "width": side},
                "scaling_factor": 255.0,
                "resize_mode": "letterbox",
                "padding_value": 114,
            }
        },
    }


def raw_detections(objects: int) -> np.ndarray:
    """(1, 4 + 80, 8400) raw outputs with some hundred anchors above the threshold."""
    random = np.random.default_rng(0)
    raw = np.zeros((1, 4 + CLASSES, ANCHORS), np.float32)
    raw[0, :2] = random.uniform(40, 600, (2, ANCHORS))
    raw[0, 2:4] = random.uniform(10, 80, (2, ANCHORS))
    raw[0, 4:] = random.uniform(0, 0.2, (CLASSES, ANCHORS))
    centres = random.uniform(60, 580, (2, objects))
    for n in range(objects * 10):
        anchor, which = int(random.integers(ANCHORS)), n % objects
        raw[0, :2, anchor] = centres[:, which] + random.uniform(-3, 3, 2)
        raw[0, 2:4, anchor] = 60
        raw[0, 4 + which % CLASSES, anchor] = random.uniform(0.5, 0.95)
    return raw


def naive_letterbox(image: np.ndarray, side: int) -> np.ndarray:
    """The plain way: float canvas, one float pass after the other."""
    scale = min(side / image.shape[1], side / image.shape[0])
    width, height = int(image.shape[1] * scale), int(image.shape[0] * scale)
    canvas = np.full((side, side, 3), 114.0, np.float32)
    top, left = (side - height) // 2, (side - width) // 2
    canvas[top : top + height, left : left + width] = cv2.resize(image, (width, height))
    canvas = canvas / np.float32(255)
    return np.ascontiguousarray(canvas[:, :, ::-1].transpose(2, 0, 1))


def bench_manager(folder: Path) -> None:
    """Time of `infer` with networks that cost nothing."""
    weights = folder / "weights"
    weights.write_bytes(b"x")
    answers = {
        "classifier": ("classification", 64, 3, {"a": np.zeros((1, 3), np.float32)}),
        "yolov8": ("object-detection", 640, CLASSES, {"a": raw_detections(30)}),
    }
    for architecture, (task, side, classes, outputs) in answers.items():
        content = config(side, task, architecture, classes)
        package = package_from_config(ModelConfig.model_validate(content), weights)

        def opener(
            package: ModelPackage,
            options: BackendOptions,
            side: int = side,
            outputs: dict[str, np.ndarray] = outputs,
        ) -> ConstantBackend:
            return ConstantBackend(side, outputs)

        with ModelManager(backends={"constant": opener}) as manager:
            manager.add("model", package)
            small = np.zeros((side, side, 3), np.uint8)
            large = np.random.default_rng(0).integers(0, 256, (1080, 1920, 3), dtype=np.uint8)

            def infer(manager: ModelManager = manager, image: np.ndarray = small) -> Any:
                return manager.infer("model", image)

            print(f"infer {task:18} {side:4} px image {measure(infer)}")
            if side > 64:
                found = infer(image=large)[0]
                timing = measure(lambda infer=infer, image=large: infer(image=image))
                print(f"infer {task:18} 1080p image   {timing}  {len(found)} objects")


def bench_preprocessing() -> None:
    """One pass into the buffer against the plain computation."""
    description = config(640, "object-detection", "yolov8", 3)["inference_config"]
    preprocessor = PreProcessor(InferenceConfig.model_validate(description))
    for name, size in (("vga", (480, 640)), ("1080p", (1080, 1920)), ("4k", (2160, 3840))):
        image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)

        def ours(image: np.ndarray = image) -> None:
            transform = preprocessor.plan(image)
            batch = preprocessor.allocate(1, transform.network_size)
            preprocessor.write(image, transform, batch[0])

        print(f"letterbox 640, {name:6} ours          {measure(ours)}")
        plain = measure(lambda image=image: naive_letterbox(image, 640))
        print(f"letterbox 640, {name:6} plain float   {plain}")


def bench_suppression() -> None:
    """Suppression of many boxes."""
    random = np.random.default_rng(0)
    for count in (100, 500, 3000):
        corner = random.uniform(0, 600, (count, 2))
        boxes = np.concatenate([corner, corner + random.uniform(5, 60, (count, 2))], axis=1)
        scores, classes = random.random(count), random.integers(0, CLASSES, count)
        timing = measure(
            lambda b=boxes, s=scores, c=classes: suppress_overlaps(b, s, 0.3, c, 300), 50
        )
        print(f"suppress {count:5} boxes                {timing}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        bench_manager(Path(name))
    bench_preprocessing()
    bench_suppression()
