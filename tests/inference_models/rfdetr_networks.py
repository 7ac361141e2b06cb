"""RF-DETR networks that answer with prepared numbers, so the right boxes and masks are known. Tests
nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.manager import ModelManager
from tests.inference_models.colour_networks import ColourBoxGraph

INPUT = (48, 64)
BACKGROUND = "background_class83422"
NAMES = (BACKGROUND, "cat", "dog")
MEANS, STDS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Centre and size as fractions, and the logit of each class of a query: background, cat, dog, and
# the column behind the last class that stands for nothing. The last two queries see nothing: there
# are as many places for pairs of query and class as queries.
BOXES = np.array(
    [
        [0.5, 0.5, 0.5, 0.5], [0.25, 0.25, 0.25, 0.5], [0.75, 0.75, 0.25, 0.25],
        *[[0.5, 0.5, 1, 1]] * 3,
    ],
    np.float32,
)  # fmt: skip
LOGITS = np.array(
    [[-9, 2, 1, -9], [-9, -9, 3, -9], [4, -9, -9, -9], [-9, -9, -9, 5], *[[-9] * 4] * 2],
    np.float32,
)
GRID = (12, 16)


def mask_logits(grid: tuple[int, int] = GRID) -> np.ndarray:
    """(6, h, w): a smooth blob a query, in and around its box."""
    y, x = (np.mgrid[: grid[0], : grid[1]] + 0.5) / np.reshape(grid, (2, 1, 1))
    return np.stack(
        [3.3 - 12 * np.hypot((x - cx) / w, (y - cy) / h) ** 2 for cx, cy, w, h in BOXES.tolist()]
    ).astype(np.float32)


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def constants_graph(
    path: Path,
    outputs: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
    batch: int | None = None,
) -> Path:
    """A network that answers every image with `outputs` plus nothing of the image."""
    graph = ColourBoxGraph(INPUT, batch)
    mean = graph.node("ReduceMean", "images", axes=[1, 2, 3], keepdims=0)
    nothing = graph.node("Mul", mean, graph.constant(0))
    for name, value in outputs.items():
        shape = graph.constant([-1] + [1] * value.ndim, np.int64)
        zeros = graph.node("Reshape", nothing, shape)
        graph.output(graph.node("Add", zeros, graph.constant(value)), name, value.ndim + 1)
    return graph.save(path, metadata)


def raw(masks: bool, names: tuple[str, ...] = ("dets", "labels", "masks")) -> dict[str, Any]:
    values = (BOXES, LOGITS, mask_logits())
    return dict(zip(names, values if masks else values[:2], strict=False))


def inference_config(**network: Any) -> dict[str, Any]:
    return {
        "image_pre_processing": {},
        "network_input": {
            "training_input_size": {"height": INPUT[0], "width": INPUT[1]},
            "dynamic_spatial_size_supported": False,
            "color_mode": "rgb",
            "resize_mode": "stretch",
            "input_channels": 3,
            "normalization": [MEANS, STDS],
        }
        | network,
        "forward_pass": {"max_dynamic_batch_size": 4},
        "class_names_operations": [{"type": "class_name_removal", "class_name": BACKGROUND}],
    }


def write_folder(folder: Path, masks: bool, backend: str = "onnx", **network: Any) -> Path:
    """A package folder without weights, its parts in files of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_architecture": "rfdetr",
        "task_type": "instance-segmentation" if masks else "object-detection",
        "backend_type": backend,
    }
    (folder / "model_config.json").write_text(json.dumps(config))
    (folder / "inference_config.json").write_text(json.dumps(inference_config(**network)))
    (folder / "class_names.txt").write_text("\n".join(NAMES) + "\n")
    return folder


def infer(place: Path, size: tuple[int, int] = (96, 256), **parameters: Any) -> Any:
    with ModelManager() as manager:
        (found,) = manager.infer(str(place), np.zeros((*size, 3), np.uint8), parameters)
    return found


def assert_found(found: Any, size: tuple[int, int]) -> None:
    """The dog of the second query, and cat and dog of the first: its box counts twice."""
    assert found.class_names == ("cat", "dog")
    assert found.class_name.tolist() == ["dog", "cat", "dog"]
    np.testing.assert_allclose(found.confidence, [sigmoid(3), sigmoid(2), sigmoid(1)], rtol=1e-5)
    height, width = size
    first = np.array([0.25, 0.25, 0.75, 0.75]) * [width, height, width, height]
    second = np.array([0.125, 0, 0.375, 0.5]) * [width, height, width, height]
    np.testing.assert_allclose(found.xyxy, [second, first, first], atol=1e-4)


def torch_masks(values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """What torch makes of the logits: enlarged, then cut at 0."""
    torch = pytest.importorskip("torch")
    enlarged = torch.nn.functional.interpolate(
        torch.from_numpy(values)[None], size=size, mode="bilinear", align_corners=False,
        antialias=True,
    )  # fmt: skip
    return (enlarged[0] > 0).numpy()  # type: ignore[no-any-return]
