"""Operations on predictions of classifiers, which are plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.site import Parameters, Site, Step


def property_of_classification(operation: Operation, site: Site) -> Step:
    """`ClassificationPropertyExtract`: classes or confidences, single-label or multi-label.

    The class of a multi-label prediction is a list, all its labels come in the order of their ids.
    """
    name = operation.parameters["property_name"]
    read = _READERS[name]

    def step(value: Any, parameters: Parameters) -> Any:
        if not isinstance(value, dict):
            raise site.wrong_input("a classification prediction", value)
        try:
            return read(value)
        except (KeyError, TypeError, AttributeError) as error:
            raise site.failed(
                f"the classification prediction does not give '{name}'"
                f" ({type(error).__name__}: {error})",
                error,
            ) from error

    return step


def _is_multi_label(prediction: dict[str, Any]) -> bool:
    return "predicted_classes" in prediction


def _top_class(prediction: dict[str, Any]) -> Any:
    if _is_multi_label(prediction):
        return list(prediction["predicted_classes"])
    return prediction["top"]


def _top_class_confidence(prediction: dict[str, Any]) -> Any:
    if _is_multi_label(prediction):
        return [
            prediction["predictions"][name]["confidence"]
            for name in prediction["predicted_classes"]
        ]
    return prediction["confidence"]


def _top_class_confidence_single(prediction: dict[str, Any]) -> Any:
    confidence = _top_class_confidence(prediction)
    return max(confidence, default=0.0) if isinstance(confidence, list) else confidence


def _all_classes(prediction: dict[str, Any]) -> list[Any]:
    if _is_multi_label(prediction):
        return [name for name, _ in _labels_by_id(prediction)]
    return [label["class"] for label in prediction["predictions"]]


def _all_confidences(prediction: dict[str, Any]) -> list[Any]:
    if _is_multi_label(prediction):
        return [label["confidence"] for _, label in _labels_by_id(prediction)]
    return [label["confidence"] for label in prediction["predictions"]]


def _labels_by_id(prediction: dict[str, Any]) -> list[tuple[str, Any]]:
    labels = prediction["predictions"].items()
    return sorted(labels, key=lambda named: named[1]["class_id"])


_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "top_class": _top_class,
    "top_class_confidence": _top_class_confidence,
    "top_class_confidence_single": _top_class_confidence_single,
    "all_classes": _all_classes,
    "all_confidences": _all_confidences,
}
