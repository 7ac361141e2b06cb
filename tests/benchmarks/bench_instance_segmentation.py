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


def report(label: str, architecture: str, scene: Scene, outputs: Any, repeats: int) -> None:
    """Prints two lines a factor: the run alone, and with its JSON."""
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
            text = json.dumps(payload)
            memory = memory_growth(lambda run=run: run(True))
            title = f"{label}, factor {factor:g}, {width}x{height}"
            for name, serialize, growth in (("run", False, None), ("run and JSON", True, memory)):
                times = times_ms(lambda run=run, serialize=serialize: run(serialize), repeats)
                target = TARGET if factor == 1 and serialize else None
                print(Row(f"{title}: {name}", times, target, memory=growth), flush=True)
            counts = sum(len(code["counts"]) for code in codes)
            print(
                f"    {len(codes)} instances, JSON {len(text) / 1e3:.0f} kB, "
                f"of it codes of masks {counts / 1e3:.0f} kB"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", choices=sorted(SCENES), default="4k")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    width, height, count, _ = SCENES[arguments.scene]
    print(f"-- {arguments.scene}: {width}x{height}, {count} objects")
    print(
        f"{f'ms of {arguments.repeats} runs':<46}{'median':>9}{'best':>9}{'target':>8}{'':>6}"
        f"{'naive':>9}{'ratio':>8}{'+MB':>8}"
    )
    scene = prototype_scene(arguments.scene)
    report("prototypes", "yolov8", scene, prototype_outputs(scene), arguments.repeats)
    scene = logit_scene(arguments.scene)
    report("queries", "rfdetr", scene, query_outputs(scene), arguments.repeats)


if __name__ == "__main__":
    main()
