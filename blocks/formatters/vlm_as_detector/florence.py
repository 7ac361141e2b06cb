"""Boxes in what Florence-2 answers. Knows no manifest.

The forms are those of the model's own post-processing, in px of the image.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.formatters.confidences import UnreadableAnswerError
from blocks.formatters.vlm_as_detector.answers import number_of

REGION = "roi"
UNKNOWN = "unknown"
_MARKS_OF_THE_MODEL = re.compile(r"</?s>|<pad>")
_IDS = 10_000
_DIGITS = 9

ClassIds = Callable[[Sequence[str], Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class FlorenceTask:
    """How an answer to a task is written.

    Attributes:
        class_ids: ids of (names found, names given).
        boxes: key of the boxes.
        labels: key of their names, None when all are regions.
    """

    class_ids: ClassIds
    boxes: str = "bboxes"
    labels: str | None = "labels"


@dataclass(frozen=True, slots=True)
class FlorenceObjects:
    """What Florence-2 found.

    Attributes:
        xyxy: (n, 4) float32, px.
        corners: (n, 4, 2) float32 x, y of turned boxes, px, None for upright ones.
        names: n classes.
        class_ids: n ids.
    """

    xyxy: np.ndarray
    corners: np.ndarray | None
    names: list[str]
    class_ids: list[int]


def read_florence(document: Any, task: FlorenceTask, classes: Sequence[str]) -> FlorenceObjects:
    """The objects of an answer.

    Args:
        document: the JSON of the answer, alone or under the mark of the task (`<OD>`, ...).
        task: how it is written.
        classes: names whose places are the ids where the task takes names.

    Raises:
        UnreadableAnswerError: the answer has another form.
    """
    answer = _unwrapped(document)
    found, labels = answer.get(task.boxes), answer.get(task.labels or "", [])
    if not isinstance(found, list) or not isinstance(labels, list):
        raise UnreadableAnswerError(f"there is no list `{task.boxes}`")
    names = [REGION] * len(found) if task.labels is None else [_name(label) for label in labels]
    if len(names) != len(found):
        raise UnreadableAnswerError(f"{len(found)} boxes have {len(names)} labels")
    length = 8 if task.boxes == "quad_boxes" else 4
    points = np.array([_points(box, length) for box in found], np.float64).reshape(
        -1, length // 2, 2
    )
    xyxy = np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)
    return FlorenceObjects(
        xyxy.astype(np.float32),
        points.astype(np.float32) if length == 8 else None,
        names,
        task.class_ids(names, classes),
    )


def _unwrapped(document: Any) -> Mapping[str, Any]:
    if isinstance(document, Mapping) and len(document) == 1:
        (mark, inside), *_ = document.items()
        if mark.startswith("<"):
            document = inside
    if not isinstance(document, Mapping):
        raise UnreadableAnswerError("the answer is no object")
    return document


def _name(label: Any) -> str:
    if not isinstance(label, str):
        raise UnreadableAnswerError("a label is no text")
    return _MARKS_OF_THE_MODEL.sub("", label) or UNKNOWN


def _points(box: Any, length: int) -> list[float]:
    if not isinstance(box, list) or len(box) != length:
        raise UnreadableAnswerError(f"a box has not {length} numbers")
    return [number_of(value) for value in box]


def _zeros(names: Sequence[str], _: Sequence[str]) -> list[int]:
    return [0] * len(names)


def _from_texts(names: Sequence[str], _: Sequence[str]) -> list[int]:
    """Ids that a name has in every answer, though no list says them: digits of its MD5."""
    digests = [hashlib.md5(name.encode(), usedforsecurity=False).hexdigest() for name in names]
    return [int(digest[:_DIGITS], 16) % _IDS for digest in digests]


def _places(names: Sequence[str], classes: Sequence[str]) -> list[int]:
    return [list(classes).index(name) if name in classes else -1 for name in names]


FLORENCE_TASKS: Mapping[str, FlorenceTask] = {
    "object-detection": FlorenceTask(_from_texts),
    "open-vocabulary-object-detection": FlorenceTask(_places, labels="bboxes_labels"),
    "object-detection-and-caption": FlorenceTask(_zeros),
    "phrase-grounded-object-detection": FlorenceTask(_from_texts),
    "region-proposal": FlorenceTask(_zeros, labels=None),
    "ocr-with-text-detection": FlorenceTask(_zeros, boxes="quad_boxes"),
}
"""Tasks by `task_type`."""
