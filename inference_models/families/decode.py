"""From raw outputs to candidates: boxes, scores and classes above the threshold. Suppression and
masks come later.

Each score rule of `descriptor` is one function here. All of them filter by score before they touch
boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from inference_models.errors import ModelRuntimeError
from inference_models.families.activation import sigmoid
from inference_models.families.descriptor import Family
from inference_models.packages.model_config import DetectionOutputs

_BOX_VALUES = 4
# Variances of the prior boxes in the SSD line of networks.
_CENTRE_VARIANCE, _SIZE_VARIANCE = 0.1, 0.2


@dataclass(frozen=True, slots=True)
class Candidates:
    """Possible objects of one image, n of them.

    Attributes:
        boxes: (n, 4) float32 xyxy in px of the network's input.
        scores: (n,) float32 in 0..1.
        class_ids: (n,) int64 index of the network's class.
        rows: (n,) int64 index of the anchor, row or query in the raw outputs.
    """

    boxes: np.ndarray
    scores: np.ndarray
    class_ids: np.ndarray
    rows: np.ndarray

    def take(self, index: np.ndarray) -> Candidates:
        """The candidates at the given indices, or where a mask is true."""
        return Candidates(
            self.boxes[index], self.scores[index], self.class_ids[index], self.rows[index]
        )


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What decoding needs to know beside the raw outputs.

    Attributes:
        family: the rules.
        class_count: classes of the network.
        extra_values: numbers of a row behind the class scores (mask weights or keypoints).
        thresholds: (class_count,) float32 lowest score of each class.
        network_size: (height, width) of the network's input.
        outputs: names of declared outputs, for graphs with built-in suppression.
        where: the model, for messages.
    """

    family: Family
    class_count: int
    extra_values: int
    thresholds: np.ndarray
    network_size: tuple[int, int]
    outputs: DetectionOutputs | None
    where: str

    def passes(self, scores: np.ndarray, thresholds: np.ndarray | float) -> np.ndarray:
        """Whether scores reach thresholds; NaN never does."""
        if self.family.inclusive_threshold:
            return scores >= thresholds
        return scores > thresholds


def decode_candidates(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    """Candidates of one image.

    Args:
        raw: outputs of the graph for one image by role (by name for declared outputs), without the
            batch axis.
        context: the rules and the request.

    Raises:
        ModelRuntimeError: an output does not have the shape its family says.
    """
    candidates = _RULES[context.family.score_rule](raw, context)
    # A box that is not a number can be neither compared nor drawn.
    return candidates.take(np.isfinite(candidates.boxes).all(axis=1))


def _decode_best_class(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    predictions = _feature_rows(raw["predictions"], _BOX_VALUES, context)
    scores = predictions[_BOX_VALUES : _BOX_VALUES + context.class_count]
    # The largest score of an anchor decides whether its class is worth looking up.
    best = scores.max(axis=0)
    rows = np.flatnonzero(context.passes(best, context.thresholds.min()))
    class_ids = scores[:, rows].argmax(axis=0)
    return _above_threshold(predictions[:_BOX_VALUES, rows].T, best[rows], class_ids, rows, context)


def _decode_objectness(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    predictions = _feature_rows(raw["predictions"], _BOX_VALUES + 1, context)
    objectness = predictions[_BOX_VALUES]
    # A class probability is at most 1, so the objectness alone already refuses most anchors.
    rows = np.flatnonzero(context.passes(objectness, context.thresholds.min()))
    first = _BOX_VALUES + 1
    scores = predictions[first : first + context.class_count, rows] * objectness[rows]
    class_ids = scores.argmax(axis=0)
    best = scores.max(axis=0) if rows.size else np.zeros(0, dtype=np.float32)
    return _above_threshold(predictions[:_BOX_VALUES, rows].T, best, class_ids, rows, context)


def _decode_rows(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    predictions = raw["predictions"]
    expected = _BOX_VALUES + 2 + context.extra_values
    if predictions.ndim != 2 or predictions.shape[1] != expected:
        raise ModelRuntimeError(
            f"{context.where}: its first output must hold rows of {expected} numbers "
            f"(box, score, class, {context.extra_values} more), got {list(predictions.shape)}"
        )
    scores = predictions[:, _BOX_VALUES]
    # Rows that only fill the output up have the score 0.
    rows = np.flatnonzero(context.passes(scores, context.thresholds.min()) & (scores > 0))
    class_ids = predictions[rows, _BOX_VALUES + 1].astype(np.int64)
    _require_known_classes(class_ids, context)
    return _above_threshold(predictions[rows, :_BOX_VALUES], scores[rows], class_ids, rows, context)


def _decode_queries(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    """The Q best of all pairs of query and class; one query may answer with several classes.

    Pairs of classes that are no classes of the model take part in the choice, as they did in
    training.
    """
    boxes, logits = raw["boxes"], raw["logits"]
    if boxes.ndim != 2 or logits.ndim != 2 or len(boxes) != len(logits) or boxes.shape[1] != 4:
        raise ModelRuntimeError(
            f"{context.where}: boxes (Q, 4) and logits (Q, C) must agree, "
            f"got {list(boxes.shape)} and {list(logits.shape)}"
        )
    queries, columns = logits.shape
    flat = logits.ravel()
    chosen = np.arange(flat.size)
    if flat.size > queries:
        chosen = np.sort(np.argpartition(-flat, queries - 1)[:queries])
    rows, class_ids = np.divmod(chosen, columns)
    scores = sigmoid(flat[chosen])
    known = class_ids < context.class_count
    rows, class_ids, scores = rows[known], class_ids[known], scores[known]
    return _above_threshold(boxes[rows], scores, class_ids, rows, context)


def _decode_priors(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    scores = raw["scores"]
    if scores.ndim != 2 or scores.shape[1] != context.class_count + 1:
        raise ModelRuntimeError(
            f"{context.where}: scores must have a background column and {context.class_count} "
            f"classes, got {list(scores.shape)}"
        )
    best = scores[:, 1:].max(axis=1)
    rows = np.flatnonzero(context.passes(best, context.thresholds.min()))
    class_ids = scores[rows, 1:].argmax(axis=1)
    offsets, priors = raw["offsets"][rows], raw["priors"][rows]
    sizes = priors[:, 2:] * np.exp(_SIZE_VARIANCE * offsets[:, 2:])
    centres = priors[:, :2] + _CENTRE_VARIANCE * offsets[:, :2] * priors[:, 2:]
    boxes = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)
    return _above_threshold(boxes, best[rows], class_ids, rows, context)


def _decode_declared(raw: Mapping[str, np.ndarray], context: DecodeContext) -> Candidates:
    outputs = context.outputs
    assert outputs is not None
    boxes = raw[outputs.boxes].reshape(-1, _BOX_VALUES)
    scores = raw[outputs.scores].reshape(-1)
    count = len(boxes)
    if outputs.count is not None:
        count = min(count, int(np.rint(raw[outputs.count].reshape(-1)[0])))
    if len(scores) != len(boxes):
        raise ModelRuntimeError(
            f"{context.where}: {outputs.boxes} has {len(boxes)} rows, "
            f"{outputs.scores} has {len(scores)}"
        )
    scores = scores[:count]
    rows = np.flatnonzero(context.passes(scores, context.thresholds.min()) & (scores > 0))
    class_ids = np.zeros(len(rows), dtype=np.int64)
    if outputs.classes is not None:
        numbers = raw[outputs.classes].reshape(-1)[rows]
        class_ids = np.rint(numbers).astype(np.int64) - outputs.first_class_id
    _require_known_classes(class_ids, context)
    order = [1, 0, 3, 2] if outputs.box_format == "yxyx" else [0, 1, 2, 3]
    return _above_threshold(boxes[rows][:, order], scores[rows], class_ids, rows, context)


_RULES: Mapping[str, Callable[[Mapping[str, np.ndarray], DecodeContext], Candidates]] = {
    "best-class": _decode_best_class,
    "objectness-times-class": _decode_objectness,
    "row": _decode_rows,
    "query-sigmoid": _decode_queries,
    "softmax-with-background": _decode_priors,
    "declared-outputs": _decode_declared,
}


def _feature_rows(predictions: np.ndarray, leading: int, context: DecodeContext) -> np.ndarray:
    """Predictions as (features, anchors), whichever way they lie."""
    expected = leading + context.class_count + context.extra_values
    features_first = context.family.layout == "features-first"
    if predictions.ndim == 2:
        features = predictions if features_first else predictions.T
        if features.shape[0] == expected:
            return features
    layout = f"[{expected}, anchors]" if features_first else f"[anchors, {expected}]"
    raise ModelRuntimeError(
        f"{context.where}: its first output must be {layout} for {context.class_count} classes "
        f"and {context.extra_values} more values, got {list(predictions.shape)}"
    )


def _above_threshold(
    boxes: np.ndarray,
    scores: np.ndarray,
    class_ids: np.ndarray,
    rows: np.ndarray,
    context: DecodeContext,
) -> Candidates:
    """Candidates that reach the threshold of their class, boxes in px."""
    keep = context.passes(scores, context.thresholds[class_ids])
    boxes = _corners(boxes[keep].astype(np.float32), context)
    return Candidates(
        boxes, scores[keep].astype(np.float32), class_ids[keep].astype(np.int64), rows[keep]
    )


def _corners(boxes: np.ndarray, context: DecodeContext) -> np.ndarray:
    box_format, unit = context.family.box_format, context.family.box_unit
    if context.outputs is not None and context.family.score_rule == "declared-outputs":
        box_format = "cxcywh" if context.outputs.box_format == "cxcywh" else "xyxy"
        unit = context.outputs.box_unit
    if box_format == "cxcywh":
        half = boxes[:, 2:] / 2
        boxes = np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    if unit == "fraction":
        height, width = context.network_size
        boxes = boxes * np.array([width, height, width, height], dtype=np.float32)
    return boxes


def _require_known_classes(class_ids: np.ndarray, context: DecodeContext) -> None:
    if class_ids.size and not 0 <= class_ids.min() <= class_ids.max() < context.class_count:
        raise ModelRuntimeError(
            f"{context.where} answered with class {int(class_ids.max())}, "
            f"its package names {context.class_count} classes (0..{context.class_count - 1})"
        )
