"""Operations on predictions of classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError

Run = Callable[..., Any]

SINGLE = {
    "image": {"width": 128, "height": 256},
    "predictions": [
        {"class": "cat", "class_id": 0, "confidence": 0.6},
        {"class": "dog", "class_id": 1, "confidence": 0.4},
    ],
    "top": "cat",
    "confidence": 0.6,
}
MULTI = {
    "image": {"width": 128, "height": 256},
    "predictions": {
        "A": {"class_id": 0, "confidence": 0.7},
        "C": {"class_id": 3, "confidence": 0.0},
        "B": {"class_id": 1, "confidence": 0.6},
    },
    "predicted_classes": ["A", "B"],
}
NONE_PREDICTED = {**MULTI, "predicted_classes": []}


class TestClassificationPropertyExtract:
    @pytest.mark.parametrize(
        ("prediction", "name", "expected"),
        [
            (SINGLE, "top_class", "cat"),
            (SINGLE, "top_class_confidence", 0.6),
            (SINGLE, "top_class_confidence_single", 0.6),
            (SINGLE, "all_classes", ["cat", "dog"]),
            (SINGLE, "all_confidences", [0.6, 0.4]),
            (MULTI, "top_class", ["A", "B"]),
            (MULTI, "top_class_confidence", [0.7, 0.6]),
            (MULTI, "top_class_confidence_single", 0.7),
            (MULTI, "all_classes", ["A", "B", "C"]),
            (MULTI, "all_confidences", [0.7, 0.6, 0.0]),
            (NONE_PREDICTED, "top_class", []),
            (NONE_PREDICTED, "top_class_confidence", []),
            (NONE_PREDICTED, "top_class_confidence_single", 0.0),
        ],
    )
    def test_values(self, run: Run, prediction: Any, name: str, expected: Any) -> None:
        """Single-label predictions have one top class, multi-label ones a list ordered by id."""
        operation = {"type": "ClassificationPropertyExtract", "property_name": name}
        assert run(prediction, operation) == expected

    def test_result_is_not_the_prediction(self, run: Run) -> None:
        """Writing to the result leaves the prediction as it is."""
        operation = {"type": "ClassificationPropertyExtract", "property_name": "top_class"}
        run(MULTI, operation).append("Z")
        assert MULTI["predicted_classes"] == ["A", "B"]

    @pytest.mark.parametrize("value", [None, "cat", [SINGLE]])
    def test_refuses(self, run: Run, value: Any) -> None:
        """Anything but a prediction is refused."""
        with pytest.raises(InvalidInputTypeError, match="expects a classification prediction"):
            run(value, {"type": "ClassificationPropertyExtract", "property_name": "top_class"})

    @pytest.mark.parametrize("value", [{}, {"predictions": None, "predicted_classes": ["A"]}])
    def test_incomplete(self, run: Run, value: Any) -> None:
        """A prediction that lacks what is asked for says what."""
        operation = {"type": "ClassificationPropertyExtract", "property_name": "all_classes"}
        with pytest.raises(OperationError, match="does not give 'all_classes'"):
            run(value, operation)
