"""The networks of `colour_networks` in the output formats of families with masks or points. Tests
nothing.

Every network finds the box of each colour; its mask is the pixels of that colour on a grid of a
quarter of the input, its points are the box's left upper and right lower corner and, where a third
slot exists, its centre.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.inference_models.colour_networks import SCORES, ColourBoxGraph

SEGMENTERS = ("yolov8", "yolov8-fused", "yolov5", "yolov7", "yolo26", "yolact", "rfdetr")
POINT_SCORES = (0.9, 0.6, 0.3)

_LOGITS = np.log(np.array(SCORES) / (1 - np.array(SCORES)))
# What a pixel of the colour adds to the logit of its mask.
_STRENGTH = 20.0


def segmenter_graph(path: Path, family: str, size: tuple[int, int] = (64, 64)) -> Path:
    """A network of one of `SEGMENTERS`, with the raw outputs of that family in their order."""
    graph = ColourBoxGraph(size)
    corners, present = graph.corners()
    pooled = graph.node("AveragePool", "images", kernel_shape=[4, 4], strides=[4, 4])
    protos = graph.node("Sub", pooled, graph.constant(0.5))
    _FORMATS[family](graph, corners, present, protos)
    return graph.save(path)


def keypoint_graph(path: Path, end_to_end: bool = False) -> Path:
    """A network of the yolov8 (or yolo26) pose format with three slots of points."""
    graph = ColourBoxGraph()
    corners, present = graph.corners()
    x1, y1, x2, y2 = corners
    half = graph.constant(0.5)
    centre_x = graph.node("Mul", graph.node("Add", x1, x2), half)
    centre_y = graph.node("Mul", graph.node("Add", y1, y2), half)
    points = []
    for x, y, score in zip((x1, x2, centre_x), (y1, y2, centre_y), POINT_SCORES, strict=True):
        points += [x, y, graph.node("Mul", present, graph.constant(score))]
    if end_to_end:
        rows = graph.node("Concat", *corners, *_best(graph, present), *points, axis=2)
        graph.output(rows, "output0", 3)
    else:
        scores = graph.node("Mul", present, graph.constant(np.diag(SCORES)))
        rows = graph.node("Concat", graph.centre_boxes(corners), scores, *points, axis=2)
        graph.output(graph.node("Transpose", rows, perm=[0, 2, 1]), "output0", 3)
    return graph.save(path)


def multi_label_graph(path: Path) -> Path:
    """Logits (b, 3): above 0 where a colour fills more than a tenth of the image."""
    graph = ColourBoxGraph()
    mean = graph.node("ReduceMean", "images", axes=[2, 3], keepdims=0)
    share = graph.node("Sub", mean, graph.constant(0.1))
    graph.output(graph.node("Mul", share, graph.constant(20.0)), "logits", 2)
    return graph.save(path)


def _best(graph: ColourBoxGraph, present: str) -> list[str]:
    """Score and class of each row, (b, 3, 1)."""
    scores = graph.node("Mul", present, graph.constant(np.reshape(SCORES, (1, 3, 1))))
    zeros = graph.node("Mul", present, graph.constant(0))
    classes = graph.node("Add", zeros, graph.constant(np.reshape([0, 1, 2], (1, 3, 1))))
    return [scores, classes]


def _weights(graph: ColourBoxGraph, present: str) -> str:
    return graph.node("Mul", present, graph.constant(np.eye(3) * _STRENGTH))


def _anchor_free(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    scores = graph.node("Mul", present, graph.constant(np.diag(SCORES)))
    rows = graph.node(
        "Concat", graph.centre_boxes(corners), scores, _weights(graph, present), axis=2
    )
    graph.output(graph.node("Transpose", rows, perm=[0, 2, 1]), "output0", 3)
    graph.output(protos, "output1", 4)


def _final_rows(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    rows = graph.node("Concat", *corners, *_best(graph, present), _weights(graph, present), axis=2)
    graph.output(rows, "output0", 3)
    graph.output(protos, "output1", 4)


def _objectness_rows(graph: ColourBoxGraph, corners: list[str], present: str) -> None:
    """Objectness 1 where the colour is, the class scores behind it."""
    scores = graph.node("Mul", present, graph.constant(np.diag(SCORES)))
    parts = [graph.centre_boxes(corners), present, scores, _weights(graph, present)]
    graph.output(graph.node("Concat", *parts, axis=2), "output0", 3)


def _yolov5(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    _objectness_rows(graph, corners, present)
    graph.output(protos, "output1", 4)


def _yolov7(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    _objectness_rows(graph, corners, present)
    for place in range(1, 4):
        graph.output(present, f"output{place}", 3)
    graph.output(protos, "output4", 4)


def _yolact(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    height, width = graph.size or (1, 1)
    sides = graph.constant([width, height, width, height])
    priors = graph.node("Div", graph.centre_boxes(corners), sides)
    background = graph.node("Sub", graph.constant(1), present)
    scores = graph.node("Mul", present, graph.constant(np.diag(SCORES)))
    graph.output(graph.node("Mul", priors, graph.constant(0)), "loc", 3)
    graph.output(graph.node("Concat", background, scores, axis=2), "conf", 3)
    graph.output(_weights(graph, present), "mask", 3)
    graph.output(priors, "prior", 3)
    graph.output(graph.node("Transpose", protos, perm=[0, 2, 3, 1]), "proto", 4)


def _rfdetr(graph: ColourBoxGraph, corners: list[str], present: str, protos: str) -> None:
    height, width = graph.size or (1, 1)
    sides = graph.constant([width, height, width, height])
    graph.output(graph.node("Div", graph.centre_boxes(corners), sides), "dets", 3)
    # A colour that is absent, and every other class, has a logit of about -20.
    logits = graph.node("Mul", present, graph.constant(np.diag(_LOGITS + 20)))
    graph.output(graph.node("Sub", logits, graph.constant(20)), "labels", 3)
    graph.output(graph.node("Mul", protos, graph.constant(_STRENGTH)), "masks", 4)


_FORMATS = {
    "yolov8": _anchor_free,
    "yolov8-fused": _final_rows,
    "yolov5": _yolov5,
    "yolov7": _yolov7,
    "yolo26": _final_rows,
    "yolact": _yolact,
    "rfdetr": _rfdetr,
}
