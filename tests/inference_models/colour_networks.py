"""Networks for tests, built node by node: real detectors of coloured rectangles whose right answers
are known. Tests nothing.

A network here takes (b, 3, h, w) RGB in 0..1 and finds, for red, green and blue, the bounding box
of the pixels of that colour. It answers in the format of a family, so whole chains can be tested
without trained weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COLOURS = ("red", "green", "blue")
SCORES = (0.9, 0.8, 0.7)


class ColourBoxGraph:
    """Builds the ONNX graph of a colour box network.

    Args:
        size: (h, w) of the input; None for one that may vary.
        batch: images of one call; None for any number.
    """

    def __init__(self, size: tuple[int, int] | None = (64, 64), batch: int | None = None) -> None:
        self._helper = pytest.importorskip("onnx.helper")
        self._onnx = pytest.importorskip("onnx")
        self.size, self.batch = size, batch
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._count = 0

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Adds a constant and returns its name."""
        self._count += 1
        name = f"constant{self._count}"
        array = np.asarray(value, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node and returns the name of its output."""
        self._count += 1
        name = attributes.pop("name", f"value{self._count}")
        self._nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def output(self, value: str, name: str, rank: int) -> None:
        """Makes a value an output of the graph."""
        self.node("Identity", value, name=name)
        shape = [self.batch or "b", *(f"{name}_{axis}" for axis in range(1, rank))]
        self._outputs.append(
            self._helper.make_tensor_value_info(name, self._onnx.TensorProto.FLOAT, shape)
        )

    def corners(self) -> tuple[list[str], str]:
        """Names of x1, y1, x2, y2, each (b, 3, 1), and of (b, 3, 1) 1 where the colour is
        present."""
        on = self.node("Greater", "images", self.constant(0.5))
        on = self.node("Cast", on, to=1)
        found: dict[str, str] = {}
        for axis, low, high in ((2, "x1", "x2"), (3, "y1", "y2")):
            line = self.node("ReduceMax", on, axes=[axis], keepdims=0)
            # Index of each pixel of the line: a running sum over ones minus one.
            ones = self.node("Add", self.node("Mul", line, self.constant(0)), self.constant(1))
            after = self.node("CumSum", ones, self.constant(2, np.int64))
            length = self.node("ReduceMax", after, axes=[2], keepdims=1)
            before = self.node("Sub", self.node("Sub", length, after), self.constant(-1))
            reach = self.node("ReduceMax", self.node("Mul", line, before), axes=[2], keepdims=1)
            found[low] = self.node("Sub", length, reach)
            found[high] = self.node(
                "ReduceMax", self.node("Mul", line, after), axes=[2], keepdims=1
            )
        present = self.node("ReduceMax", on, axes=[2, 3], keepdims=0)
        present = self.node("Unsqueeze", present, self.constant([2], np.int64))
        return [found[name] for name in ("x1", "y1", "x2", "y2")], present

    def centre_boxes(self, corners: list[str]) -> str:
        """(b, 3, 4) cxcywh."""
        x1, y1, x2, y2 = corners
        half = self.constant(0.5)
        parts = [
            self.node("Mul", self.node("Add", x1, x2), half),
            self.node("Mul", self.node("Add", y1, y2), half),
            self.node("Sub", x2, x1),
            self.node("Sub", y2, y1),
        ]
        return self.node("Concat", *parts, axis=2)

    def save(self, path: Path, metadata: Mapping[str, str] | None = None) -> Path:
        """Writes the file."""
        onnx, helper = self._onnx, self._helper
        sides = list(self.size or ("h", "w"))
        images = helper.make_tensor_value_info(
            "images", onnx.TensorProto.FLOAT, [self.batch or "b", 3, *sides]
        )
        graph = helper.make_graph(
            self._nodes, "colour_boxes", [images], self._outputs, self._constants
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        helper.set_model_props(model, dict(metadata or {}))
        onnx.checker.check_model(model)
        onnx.save(model, str(path))
        return path


def anchor_free_graph(
    path: Path,
    *,
    masks: bool = False,
    copies: int = 1,
    size: tuple[int, int] | None = (64, 64),
    batch: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """A network that answers like the yolov8 family: (b, 4 + 3 [+ 3], 3 * copies) and, with masks,
    prototypes."""
    graph = ColourBoxGraph(size, batch)
    corners, present = graph.corners()
    boxes = graph.centre_boxes(corners)
    scores = graph.node("Mul", present, graph.constant(np.diag(SCORES)))
    parts = [boxes, scores]
    if masks:
        # Each colour has a prototype of its own, positive inside of the colour.
        parts.append(graph.node("Mul", present, graph.constant(np.eye(3) * 20)))
    rows = graph.node("Concat", *parts, axis=2)
    if copies > 1:
        rows = graph.node("Concat", *[rows] * copies, axis=1)
    graph.output(graph.node("Transpose", rows, perm=[0, 2, 1]), "output0", 3)
    if masks:
        pooled = graph.node("AveragePool", "images", kernel_shape=[4, 4], strides=[4, 4])
        graph.output(graph.node("Sub", pooled, graph.constant(0.5)), "output1", 4)
    return graph.save(path, metadata)


def fused_graph(path: Path, metadata: Mapping[str, str] | None = None) -> Path:
    """The same network with suppression inside: rows x1, y1, x2, y2, score, class."""
    graph = ColourBoxGraph()
    corners, present = graph.corners()
    scores = graph.node("Mul", present, graph.constant(np.reshape(SCORES, (1, 3, 1))))
    zeros = graph.node("Mul", present, graph.constant(0))
    classes = graph.node("Add", zeros, graph.constant(np.reshape([0, 1, 2], (1, 3, 1))))
    graph.output(graph.node("Concat", *corners, scores, classes, axis=2), "output0", 3)
    return graph.save(path, metadata)


def declared_graph(path: Path, size: tuple[int, int] = (64, 64)) -> Path:
    """The same network with named outputs: yxyx fractions, scores, classes counted from 1, number
    of rows."""
    graph = ColourBoxGraph(size)
    (x1, y1, x2, y2), present = graph.corners()
    height, width = (graph.constant(float(side)) for side in size)
    parts = [
        graph.node("Div", y1, height),
        graph.node("Div", x1, width),
        graph.node("Div", y2, height),
        graph.node("Div", x2, width),
    ]
    graph.output(graph.node("Concat", *parts, axis=2), "found_boxes", 3)
    flat = graph.node("Squeeze", present, graph.constant([2], np.int64))
    graph.output(graph.node("Mul", flat, graph.constant(SCORES)), "found_scores", 2)
    zeros = graph.node("Mul", flat, graph.constant(0))
    graph.output(graph.node("Add", zeros, graph.constant([1, 2, 3])), "found_classes", 2)
    graph.output(
        graph.node(
            "ReduceSum",
            graph.node("Add", zeros, graph.constant(1)),
            graph.constant([1], np.int64),
            keepdims=0,
        ),
        "found_count",
        1,
    )
    return graph.save(path)


def semantic_graph(path: Path, scale: float = 20.0, channels: int = 3) -> Path:
    """Scores (b, channels, h / 2, w / 2): above 0 where the pixel has the channel's colour."""
    graph = ColourBoxGraph()
    pooled = graph.node("AveragePool", "images", kernel_shape=[2, 2], strides=[2, 2])
    logits = graph.node(
        "Mul", graph.node("Sub", pooled, graph.constant(0.5)), graph.constant(scale)
    )
    if channels < 3:
        indices = graph.constant(list(range(channels)), np.int64)
        logits = graph.node("Gather", logits, indices, axis=1)
    graph.output(logits, "scores", 4)
    return graph.save(path)


def classifier_graph(path: Path) -> Path:
    """Logits (b, 3): four times the mean of each colour."""
    graph = ColourBoxGraph()
    mean = graph.node("ReduceMean", "images", axes=[2, 3], keepdims=0)
    graph.output(graph.node("Mul", mean, graph.constant(4.0)), "logits", 2)
    return graph.save(path)


def yolo_metadata(task: str = "detect", **changes: Any) -> dict[str, str]:
    """The metadata common exporters write, for the networks of this file."""
    metadata = {
        "task": task,
        "names": str(dict(enumerate(COLOURS))),
        "imgsz": "[64, 64]",
        "stride": "32",
        "batch": "1",
    }
    return metadata | {key: str(value) for key, value in changes.items()}


def package_config(**changes: Any) -> dict[str, Any]:
    """A complete `model_config.json` for the yolov8-like network; dotted keys reach into
    sections."""
    config: dict[str, Any] = {
        "model_architecture": "yolov8",
        "backend_type": "onnx",
        "task_type": "object-detection",
        "class_names": list(COLOURS),
        "inference_config": {
            "network_input": {
                "training_input_size": {"height": 64, "width": 64},
                "color_mode": "rgb",
                "resize_mode": "letterbox",
                "padding_value": 0,
                "scaling_factor": 255,
            },
            "post_processing": {"type": "nms", "fused": False},
        },
    }
    for key, value in changes.items():
        section = config
        *parents, last = key.split("__")
        for parent in parents:
            section = section.setdefault(parent, {})
        if value is None:
            section.pop(last, None)
        else:
            section[last] = value
    return config


def write_directory(
    directory: Path, config: Mapping[str, Any], write_weights: Callable[[Path], Any]
) -> Path:
    """A package folder with the given configuration and weights."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model_config.json").write_text(json.dumps(config))
    write_weights(directory / config.get("weights", "weights.onnx"))
    return directory


def rectangles(size: tuple[int, int], **boxes: tuple[int, int, int, int]) -> np.ndarray:
    """A black (h, w, 3) BGR image with one filled rectangle (x1, y1, x2, y2, half-open) per named
    colour."""
    image = np.zeros((*size, 3), dtype=np.uint8)
    for colour, (x1, y1, x2, y2) in boxes.items():
        image[y1:y2, x1:x2, 2 - COLOURS.index(colour)] = 255
    return image
