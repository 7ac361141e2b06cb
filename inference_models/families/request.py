"""`Request`: the parameters of a call after the package's and the host's defaults filled the gaps.
Pure bookkeeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from inference_models.families.parameters import InferenceParameters, ParameterDefaults
from inference_models.packages.model_config import RecommendedParameters
from inference_models.packages.package import ModelPackage

_T = TypeVar("_T")


class ClassTable:
    """The classes of a network and those of its model, which may be fewer.

    Args:
        network_names: names of the network's classes by index.
        removed: names that are no classes of the model.
    """

    def __init__(self, network_names: Sequence[str], removed: frozenset[str] = frozenset()) -> None:
        kept = [index for index, name in enumerate(network_names) if name not in removed]
        self.network_names = tuple(network_names)
        self.names = tuple(network_names[index] for index in kept)
        # One more entry than classes: a background column behind the last class is no class either.
        self.to_model = np.full(len(network_names) + 1, -1, dtype=np.int64)
        self.to_model[kept] = np.arange(len(kept))

    @cached_property
    def unchanged(self) -> bool:
        """Whether every class of the network is one of the model."""
        return len(self.names) == len(self.network_names)


@dataclass(frozen=True, slots=True)
class Request:
    """One call's parameters, complete.

    Attributes:
        thresholds: (classes of the network,) float32 lowest score of each class.
        iou_threshold: overlap two boxes may have.
        max_detections: most results of an image.
        max_candidates: most boxes that enter the suppression.
        class_agnostic_nms: whether classes suppress each other.
        wanted: (classes of the model,) bool, the classes to report; None for all.
        masks_resolution_factor: 0 for the network's mask grid, 1 for the image's size.
        keypoint_confidence: confidence above which a point is visible.
    """

    thresholds: np.ndarray
    iou_threshold: float
    max_detections: int
    max_candidates: int
    class_agnostic_nms: bool
    wanted: np.ndarray | None
    masks_resolution_factor: float
    keypoint_confidence: float

    @property
    def threshold(self) -> float:
        """The lowest score of any class."""
        return float(self.thresholds.min())


def complete_request(
    parameters: InferenceParameters,
    package: ModelPackage,
    classes: ClassTable,
    defaults: ParameterDefaults,
) -> Request:
    """Fills what the call leaves open."""
    wanted = None
    if parameters.class_filter is not None:
        names = set(parameters.class_filter)
        wanted = np.array([name in names for name in classes.names], dtype=bool)
    return Request(
        thresholds=_thresholds(
            parameters.confidence, package.recommended, classes.network_names, defaults.confidence
        ),
        iou_threshold=_chosen(parameters.iou_threshold, defaults.iou_threshold),
        max_detections=_chosen(parameters.max_detections, defaults.max_detections),
        max_candidates=_chosen(parameters.max_candidates, defaults.max_candidates),
        class_agnostic_nms=_chosen(parameters.class_agnostic_nms, defaults.class_agnostic_nms),
        wanted=wanted,
        masks_resolution_factor=_chosen(
            parameters.masks_resolution_factor, defaults.masks_resolution_factor
        ),
        keypoint_confidence=_chosen(parameters.keypoint_confidence, defaults.keypoint_confidence),
    )


def _chosen(value: _T | None, default: _T) -> _T:
    return default if value is None else value


def _thresholds(
    asked: float | str | None,
    recommended: RecommendedParameters,
    names: Sequence[str],
    default: float,
) -> np.ndarray:
    """The lowest score of each class; `best` takes the package's, class by class where it has
    them."""
    if asked is None or asked == "default":
        value = default
    elif asked == "best":
        value = default if recommended.confidence is None else recommended.confidence
        per_class = recommended.per_class_confidence
        if per_class and recommended.confidence is not None:
            return np.array([per_class.get(name, value) for name in names], dtype=np.float32)
    else:
        value = float(asked)
    return np.full(len(names), value, dtype=np.float32)
