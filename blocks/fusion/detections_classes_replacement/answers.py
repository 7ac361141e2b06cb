"""What a classifier or a text model says about crops of detections, per detection."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import select, with_columns
from blocks.kinds.detections.lineage import detection_ids
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

LARGEST_ID = sys.maxsize


class Answer(NamedTuple):
    """A class, with an id and a confidence where they are known."""

    class_name: str
    class_id: int | None
    confidence: float | None


def with_answers(
    detections: sv.Detections, answers: Sequence[Answer | None], fallback: Answer | None
) -> sv.Detections:
    """The detections with the classes, ids and scores of answers, and fresh detection ids.

    Detections without an answer get the fallback, or are left out when there is none. An answer
    without a confidence leaves that of the detection. Names without an id are numbered among
    themselves in sorted order.

    Args:
        detections: n rows; not changed.
        answers: n answers.
        fallback: what rows without an answer get.
    """
    found = [fallback if answer is None else answer for answer in answers]
    kept = select(detections, np.array([answer is not None for answer in found], dtype=bool))
    given = [answer for answer in found if answer is not None]
    if not given:
        return kept
    unnumbered = sorted({answer.class_name for answer in given if answer.class_id is None})
    ids = {name: index for index, name in enumerate(unnumbered)}
    own = [None] * len(kept) if kept.confidence is None else kept.confidence.tolist()
    scores = [
        score if answer.confidence is None else answer.confidence
        for answer, score in zip(given, own, strict=True)
    ]
    columns: dict[str, Any] = {
        keys.CLASS_NAME: np.array([answer.class_name for answer in given], dtype=str),
        keys.DETECTION_ID: detection_ids(len(kept)),
        "class_id": np.array(
            [
                ids[answer.class_name] if answer.class_id is None else answer.class_id
                for answer in given
            ],
            dtype=np.int64,
        ),
    }
    if any(score is not None for score in scores):
        filled = [np.nan if score is None else score for score in scores]
        columns["confidence"] = np.array(filled, dtype=np.float64)
    return with_columns(kept, columns)


def answers_for(
    detections: sv.Detections, predictions: Iterable[tuple[int, Any]]
) -> list[Answer | None]:
    """The answer for each detection, None where there is none.

    A classification belongs to the detection whose `detection_id` is its `parent_id`; text, or a
    list of texts, belongs to the detection at its place.

    Args:
        detections: n rows with ids.
        predictions: place among the crops of the detections, and what was predicted there.

    Raises:
        ValueError: a prediction is neither, or the detections have no ids.
    """
    answers: list[Answer | None] = [None] * len(detections)
    row_of: dict[str, int] | None = None
    for place, prediction in predictions:
        if prediction is None:
            continue
        if isinstance(prediction, Mapping):
            if row_of is None:
                row_of = _rows_by_id(detections)
            row = row_of.get(str(prediction.get("parent_id")))
            answer = _of_classification(prediction)
        else:
            row = place if place < len(answers) else None
            answer = _of_text(prediction)
        if row is not None:
            answers[row] = answer
    return answers


def _rows_by_id(detections: sv.Detections) -> dict[str, int]:
    ids = detections.data.get(keys.DETECTION_ID)
    if ids is None:
        if len(detections):
            raise InvalidFieldValueError(f"the detections must carry `{keys.DETECTION_ID}`")
        return {}
    return {str(item): row for row, item in enumerate(ids)}


def _of_classification(prediction: Mapping[str, Any]) -> Answer | None:
    """The top class, or the most confident of the predicted classes; None without any."""
    classes = prediction.get("predictions")
    if isinstance(classes, Mapping):
        predicted = [name for name in prediction.get("predicted_classes", ()) if name in classes]
        if not predicted:
            return None
        best = max(predicted, key=lambda name: float(classes[name]["confidence"]))
        return _answer(best, classes[best])
    top = prediction.get("top")
    if not top:
        return None
    entries = [entry for entry in classes or () if entry.get("class") == top]
    if entries:
        return _answer(top, max(entries, key=lambda entry: float(entry["confidence"])))
    return _answer(top, prediction)


def _answer(name: Any, entry: Mapping[str, Any]) -> Answer:
    class_id, confidence = entry.get("class_id"), entry.get("confidence")
    return Answer(
        str(name),
        None if class_id is None else int(class_id),
        None if confidence is None else float(confidence),
    )


def _of_text(prediction: Any) -> Answer | None:
    texts = [prediction] if isinstance(prediction, str) else prediction
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise InvalidFieldValueError(
            "a class must come from a classification, from text or from a list of texts, got "
            f"{type(prediction).__name__} {prediction!r:.60}"
        )
    joined = " ".join(text.strip() for text in texts if text.strip())
    return Answer(joined, None, None) if joined else None
