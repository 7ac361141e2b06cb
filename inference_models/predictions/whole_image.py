"""Predictions about an image as a whole: its class, its classes, the class of each of its
pixels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from inference_models.masks.carrier import InstanceMasks, Size, checked_size
from inference_models.predictions.columns import (
    Array,
    PredictionError,
    as_array,
    as_tensor,
    is_tensor,
)
from inference_models.predictions.detections import InstanceDetections

if TYPE_CHECKING:
    import supervision as sv
    import torch


class _Movable:
    """Frozen dataclasses with `ARRAYS` that can change from numpy to torch and back."""

    __slots__ = ()
    # (field, element type, number of axes)
    ARRAYS: ClassVar[tuple[tuple[str, str, int], ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "image_size",
            checked_size("image_size", self.image_size),  # type: ignore[attr-defined]
        )
        for name, dtype, axes in self.ARRAYS:
            value = getattr(self, name)
            if is_tensor(value):
                import torch

                value = value.to(getattr(torch, dtype))
            else:
                value = np.asarray(value, dtype)
            if value.ndim != axes:
                raise PredictionError(
                    f"{type(self).__name__}.{name} must have {axes} axes, got shape "
                    f"{tuple(value.shape)}"
                )
            object.__setattr__(self, name, value)

    @property
    def device(self) -> str:
        """Where the arrays live: "numpy", or the name of a torch device."""
        first = getattr(self, self.ARRAYS[0][0])
        return str(first.device) if is_tensor(first) else "numpy"

    def to_numpy(self) -> Self:
        """The same prediction with numpy arrays."""
        return self._mapped(as_array)

    def to_torch(self, device: torch.device | str = "cpu") -> Self:
        """The same prediction with torch tensors on `device`."""
        return self._mapped(lambda value: as_tensor(value, device))

    def to(self, device: torch.device | str) -> Self:
        """The same prediction on a torch device, or with numpy arrays for "numpy"."""
        return self.to_numpy() if device == "numpy" else self.to_torch(device)

    def _mapped(self, change: Any) -> Self:
        changed = {name: change(getattr(self, name)) for name, _, _ in self.ARRAYS}
        return dataclasses.replace(self, **changed)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassificationPrediction(_Movable):
    """The class of an image.

    Attributes:
        confidence: (C,) float32 probability of every class.
        image_size: (h, w) of the image, px.
        class_names: name of each class by id.
        metadata: what is known beside it, such as the image it was made on.
    """

    confidence: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    ARRAYS: ClassVar = (("confidence", "float32", 1),)

    def __post_init__(self) -> None:
        _Movable.__post_init__(self)
        _require_names(self)
        if len(self.confidence) == 0:
            raise PredictionError("a classification needs at least one class")

    @property
    def class_id(self) -> int:
        """The most probable class, the first of several."""
        return int(as_array(self.confidence).argmax())

    @property
    def top_confidence(self) -> float:
        """Probability of the most probable class."""
        return float(as_array(self.confidence).max())

    def to_supervision(self) -> sv.Classifications:
        """Every class and its probability as `supervision.Classifications`."""
        return _classifications(self.confidence)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MultiLabelClassificationPrediction(_Movable):
    """The classes of an image, of which there may be none or several.

    Attributes:
        confidence: (C,) float32 probability of every class.
        class_ids: (m,) int32 classes the image has, by the model's threshold.
        image_size: (h, w) of the image, px.
        class_names: name of each class by id.
        metadata: what is known beside it, such as the image it was made on.
    """

    confidence: Array
    class_ids: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    ARRAYS: ClassVar = (("confidence", "float32", 1), ("class_ids", "int32", 1))

    def __post_init__(self) -> None:
        _Movable.__post_init__(self)
        _require_names(self)
        ids = as_array(self.class_ids)
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self.confidence)):
            raise PredictionError(
                f"class ids must lie in 0..{len(self.confidence) - 1}, got {ids.min()}..{ids.max()}"
            )

    @classmethod
    def from_threshold(
        cls,
        confidence: Array,
        threshold: float,
        image_size: Size,
        class_names: tuple[str, ...] | None = None,
    ) -> MultiLabelClassificationPrediction:
        """The classes with at least `threshold`."""
        ids = np.flatnonzero(as_array(confidence) >= threshold).astype(np.int32)
        return MultiLabelClassificationPrediction(
            confidence=confidence,
            class_ids=as_tensor(ids, confidence.device) if is_tensor(confidence) else ids,
            image_size=image_size,
            class_names=class_names,
        )

    def to_supervision(self) -> sv.Classifications:
        """Every class and its probability as `supervision.Classifications`."""
        return _classifications(self.confidence)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SemanticSegmentationResult(_Movable):
    """The class of every pixel.

    Attributes:
        segmentation_map: (h, w) int32 class ids, on the image's own pixels.
        confidence: (h, w) float32 score of that class.
        image_size: (h, w) of the image, px.
        class_names: name of each class by id.
        background_id: the class that stands for "nothing"; it has no mask of its own. None when
            every class counts.
    """

    segmentation_map: Array
    confidence: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    background_id: int | None = None

    ARRAYS: ClassVar = (("segmentation_map", "int32", 2), ("confidence", "float32", 2))

    def __post_init__(self) -> None:
        _Movable.__post_init__(self)
        for name in ("segmentation_map", "confidence"):
            shape = tuple(getattr(self, name).shape)
            if shape != self.image_size:
                raise PredictionError(
                    f"{name} must be of the image's size {self.image_size}, got {shape}"
                )

    def to_instances(self) -> InstanceDetections:
        """One row a class that occurs, by rising id: its mask, the box around it and its mean
        score."""
        classes, scores = as_array(self.segmentation_map), as_array(self.confidence)
        ids = np.unique(classes)
        if self.background_id is not None:
            ids = ids[ids != self.background_id]
        ids = ids[ids >= 0]
        parts = [InstanceMasks.empty(self.image_size)]
        parts += [InstanceMasks.from_dense((classes == one)[None]) for one in ids]
        return InstanceDetections(
            xyxy=np.concatenate([part.boxes for part in parts]).astype(np.float32),
            confidence=np.array([_mean(scores[classes == one]) for one in ids], np.float32),
            class_id=ids.astype(np.int32),
            masks=InstanceMasks.concat(parts),
            image_size=self.image_size,
            class_names=self.class_names,
        )

    def to_supervision(self) -> sv.Detections:
        """One row a class that occurs, with its COCO code in `data["rle_mask"]`."""
        return self.to_instances().to_supervision(with_rle=True)


def _mean(scores: Any) -> float:
    # Not in float32: the mean of equal scores is that score.
    return float(scores.mean(dtype=np.float64))


def _require_names(
    prediction: ClassificationPrediction | MultiLabelClassificationPrediction,
) -> None:
    names = prediction.class_names
    if names is not None and len(names) != len(prediction.confidence):
        raise PredictionError(
            f"{len(prediction.confidence)} probabilities need as many class names, got {len(names)}"
        )


def _classifications(confidence: Array) -> sv.Classifications:
    import supervision as sv

    scores = as_array(confidence)
    return sv.Classifications(class_id=np.arange(len(scores)), confidence=scores)
