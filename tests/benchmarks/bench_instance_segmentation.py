"""Instance Segmentation Model v5 on a 4K frame with 300 instances: time, memory and size of the
JSON at each mask resolution.

    python tests/benchmarks/bench_instance_segmentation.py [--scene 4k] [--repeats 5]

The network answers at once with prepared raw outputs, so the figures are those of everything
around it: pre-processing, suppression, masks, lineage, and with JSON the serialisation. The whole
workflow runs, as `run_locally` runs it. `prototypes` is a letterboxed yolov8 export, `queries` a
stretched one with a grid of logits an instance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from inference_models.backends import BackendOptions, TensorSpec
from inference_models.manager import ModelManager
from inference_models.packages import ModelConfig, ModelPackage, package_from_config
from workflows import Session, WeftlensSettings, run_locally

sys.path.insert(0, str(Path(__file__).parent))
from bench_masks import Row, memory_growth, times_ms
from mask_inputs import CLASSES, SCENES, Scene, logit_scene, prototype_scene

FACTORS = (1.0, 0.5, 0.25, 0.0)
ANCHORS = 8400
# ms for all of a 4K frame at full resolution, masks to RLE among it.
TARGET = 100.0


class PreparedBackend:
    """Answers with the same raw outputs whatever it sees."""

    threads = 1
    nbytes = 1

    def __init__(self, size: tuple[int, int], outputs: Mapping[str, np.ndarray]) -> None:
        self.input = TensorSpec("images", (None, 3, *size), np.dtype("float32"))
        self._answers = outputs
        self.outputs = tuple(
            TensorSpec(name, value.shape, value.dtype) for name, value in outputs.items()
        )

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The prepared answers."""
        return dict(self._answers)

    def close(self) -> None:
        """Nothing is held."""


def prototype_outputs(scene: Scene) -> dict[str, np.ndarray]:
    """(1, 4 + classes + 32, anchors) rows and (1, 32, h, w) prototypes."""
    assert scene.coefficients is not None
    count = len(scene.boxes)
    rows = np.zeros((1, 4 + CLASSES + 32, ANCHORS), np.float32)
    rows[0, :2, :count] = ((scene.boxes[:, :2] + scene.boxes[:, 2:]) / 2).T
    rows[0, 2:4, :count] = (scene.boxes[:, 2:] - scene.boxes[:, :2]).T
    rows[0, 4 + np.arange(count) % CLASSES, np.arange(count)] = scene.confidence
    rows[0, 4 + CLASSES :, :count] = scene.coefficients.T
    return {"output0": rows, "output1": scene.grids[None]}


def query_outputs(scene: Scene) -> dict[str, np.ndarray]:
    """Boxes as fractions, logits of classes, and a grid of logits a query."""
    count, (height, width) = len(scene.boxes), scene.inference_size
    centres = np.concatenate(
        [(scene.boxes[:, :2] + scene.boxes[:, 2:]) / 2, scene.boxes[:, 2:] - scene.boxes[:, :2]], 1
    )
    logits = np.full((count, CLASSES), -20, np.float32)
    scores = np.clip(scene.confidence, 0.45, 0.99)
    logits[np.arange(count), np.arange(count) % CLASSES] = np.log(scores / (1 - scores))
    boxes = (centres / [width, height, width, height]).astype(np.float32)
    return {"dets": boxes[None], "labels": logits[None], "masks": scene.grids[None, :count]}


@contextmanager
def prepared_session(
    architecture: str, scene: Scene, outputs: Mapping[str, np.ndarray]
) -> Iterator[Session]:
    """A session whose model `bench/1` gives the prepared outputs."""
    height, width = scene.inference_size
    config = {
        "model_architecture": architecture,
        "backend_type": "prepared",
        "task_type": "instance-segmentation",
        "class_names": [f"class {number}" for number in range(CLASSES)],
        "inference_config": {
            "network_input": {
                "training_input_size": {"height": height, "width": width},
                "resize_mode": "letterbox" if any(scene.pads) else "stretch",
                "padding_value": 114,
                "scaling_factor": 255,
            }
        },
    }

    def opener(package: ModelPackage, options: BackendOptions) -> PreparedBackend:
        return PreparedBackend(scene.inference_size, outputs)

    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights"
        weights.write_bytes(b"x")
        with (
            ModelManager(backends={"prepared": opener}) as manager,
            Session(WeftlensSettings(), model_manager=manager) as session,
        ):
            manager.add("bench/1", package_from_config(ModelConfig.model_validate(config), weights))
            yield session


def workflow(factor: float) -> dict[str, Any]:
    """One step of the block at a factor."""
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [
            {
                "type": "roboflow_core/roboflow_instance_segmentation_model@v5",
                "name": "model",
                "images": "$inputs.image",
                "model_id": "bench/1",
                "confidence_mode": "custom",
                "custom_confidence": 0.2,
                # All objects stay, so that every factor has the same number of masks.
                "iou_threshold": 1.0,
                "mask_decode_mode": "tradeoff",
                "tradeoff_factor": factor,
            }
        ],
        "outputs": [{"type": "JsonField", "name": "found", "selector": "$steps.model.predictions"}],
    }


def scene_of(label: str, name: str) -> tuple[str, Scene, dict[str, np.ndarray]]:
    """Architecture, scene and raw outputs of `prototypes` or `queries`."""
    if label == "prototypes":
        scene = prototype_scene(name)
        return "yolov8", scene, prototype_outputs(scene)
    scene = logit_scene(name)
    return "rfdetr", scene, query_outputs(scene)


def memory_of_first_run(label: str, name: str, factor: float) -> float | None:
    """Growth of resident memory, MB, in the first run of a process on a frame; the libraries are
    loaded by a run on a small image before."""
    architecture, scene, outputs = scene_of(label, name)
    image = np.zeros((*scene.image_size, 3), np.uint8)
    with prepared_session(architecture, scene, outputs) as session:

        def run(image: np.ndarray) -> object:
            inputs = {"image": image}
            return run_locally(workflow(factor), inputs, session=session, serialize=True)

        run(np.zeros((9, 16, 3), np.uint8))
        return memory_growth(lambda: run(image))


def measured_memory(label: str, name: str, factor: float) -> float | None:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--scene", name, "--memory", label, str(factor)]
    answer: float | None = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    )
    return answer


def report(label: str, name: str, repeats: int) -> None:
    """Prints two lines a factor: the run alone, and with its JSON."""
    architecture, scene, outputs = scene_of(label, name)
    image = np.random.default_rng(0).integers(0, 256, (*scene.image_size, 3), dtype=np.uint8)
    with prepared_session(architecture, scene, outputs) as session:
        for factor in FACTORS:
            definition = workflow(factor)

            def run(serialize: bool, definition: Any = definition) -> list[dict[str, Any]]:
                return run_locally(
                    definition, {"image": image}, session=session, serialize=serialize
                )

            payload = run(True)[0]["found"]
            codes = [row["rle_mask"] for row in payload["predictions"]]
            height, width = codes[0]["size"]
            title = f"{label}, factor {factor:g}, {width}x{height}"
            for what, serialize in (("run", False), ("run and JSON", True)):
                times = times_ms(lambda run=run, serialize=serialize: run(serialize), repeats)
                full = factor == 1 and serialize and name == "4k"
                growth = measured_memory(label, name, factor) if serialize else None
                row = Row(f"{title}: {what}", times, TARGET if full else None, memory=growth)
                print(row, flush=True)
            size = len(json.dumps(payload)) / 1e3
            counts = sum(len(code["counts"]) for code in codes) / 1e3
            print(
                f"    {len(codes)} instances, JSON {size:.0f} kB, of it codes {counts:.0f} kB",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", choices=sorted(SCENES), default="4k")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--memory", nargs=2, metavar=("LABEL", "FACTOR"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        label, factor = arguments.memory
        print(json.dumps(memory_of_first_run(label, arguments.scene, float(factor))))
        return
    width, height, count, _ = SCENES[arguments.scene]
    print(f"-- {arguments.scene}: {width}x{height}, {count} objects")
    heads = f"{'median':>9}{'best':>9}{'target':>8}{'':>6}{'naive':>9}{'ratio':>8}{'+MB':>8}"
    print(f"{f'ms of {arguments.repeats} runs':<46}{heads}")
    for label in ("prototypes", "queries"):
        report(label, arguments.scene, arguments.repeats)


if __name__ == "__main__":
    main()
