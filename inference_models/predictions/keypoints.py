"""Skeletons: objects with named points. Drawing and thresholding them is the business of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import Size
from inference_models.predictions.columns import Array, Column, PredictionError, as_array, is_tensor
from inference_models.predictions.detections import ScoredRows

if TYPE_CHECKING:
    import supervision as sv


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeyPoints(ScoredRows):
    """Points of n objects, k slots each.

    A model's position is kept whatever its confidence; whether a point counts as seen is the
    separate `visible`. Slots that a class does not use, and points at NaN or at exactly (0, 0),
    which is how missing points are written, are not visible.

    Attributes:
        xy: (n, k, 2) float32 px of the image.
        keypoint_confidence: (n, k) float32.
        visible: (n, k) bool.
        xyxy: (n, 4) float32 box of the object, px of the image.
        confidence: (n,) float32 of the object.
        class_id: (n,) int32.
        image_size: (h, w) of the image, px.
        class_names: name of each class by id.
        keypoint_names: for each class id the names of its points, at most k.
        covariance: (n, k, 2, 2) float32 px squared, where a model tells how sure a position is.
        tracker_id: (n,) int64, None when nothing tracks.
        data: further columns by name, each with n rows.
        metadata: what is known of the whole.
    """

    xy: Array
    keypoint_confidence: Array
    visible: Array
    xyxy: Array
    confidence: Array
    class_id: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    keypoint_names: tuple[tuple[str, ...], ...] | None = None
    covariance: Array | None = None
    tracker_id: Array | None = None
    data: Mapping[str, Array] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = (
        Column("xy", "float32", (None, 2)),
        Column("keypoint_confidence", "float32", (None,)),
        Column("visible", "bool", (None,)),
        Column("xyxy", "float32", (4,)),
        Column("confidence", "float32"),
        Column("class_id", "int32"),
        Column("covariance", "float32", (None, 2, 2), optional=True),
        Column("tracker_id", "int64", optional=True),
    )

    def __post_init__(self) -> None:
        ScoredRows.__post_init__(self)
        slots = {self.xy.shape[1], self.keypoint_confidence.shape[1], self.visible.shape[1]}
        if self.covariance is not None:
            slots.add(self.covariance.shape[1])
        if len(slots) > 1:
            raise PredictionError(f"columns of KeyPoints disagree on points an object: {slots}")

    @classmethod
    def empty(
        cls,
        image_size: Size,
        slots: int = 0,
        class_names: tuple[str, ...] | None = None,
        keypoint_names: tuple[tuple[str, ...], ...] | None = None,
    ) -> KeyPoints:
        """No objects, with the columns and types of some with `slots` points."""
        return KeyPoints(
            xy=np.zeros((0, slots, 2), np.float32),
            keypoint_confidence=np.zeros((0, slots), np.float32),
            visible=np.zeros((0, slots), np.bool_),
            xyxy=np.zeros((0, 4), np.float32),
            confidence=np.zeros(0, np.float32),
            class_id=np.zeros(0, np.int32),
            image_size=image_size,
            class_names=class_names,
            keypoint_names=keypoint_names,
        )

    def with_visibility(self, threshold: float) -> Self:
        """The same points, `visible` where the confidence is greater than `threshold` and the point
        is not missing."""
        visible = (self.keypoint_confidence > threshold) & ~missing_points(self.xy)
        return self.replace(visible=visible)

    def moved(self, offset: tuple[int, int], image_size: Size) -> Self:
        """The same skeletons on another image; see `Detections.moved`. Missing points stay
        missing."""
        there = ScoredRows.moved(self, offset, image_size)
        missing = missing_points(self.xy)[..., None]
        return there.replace(xy=there.xy * ~missing + self.xy * missing)

    def point_names(self) -> npt.NDArray[np.object_]:
        """Name of every point, (n, k) text in an object array; "" for slots that the class does not
        use."""
        names = np.full(tuple(self.xy.shape[:2]), "", object)
        if self.keypoint_names is None:
            return names
        for row, class_id in enumerate(as_array(self.class_id).tolist()):
            if not 0 <= class_id < len(self.keypoint_names):
                raise PredictionError(
                    f"keypoint_names has no entry for class {class_id} of row {row}"
                )
            used = self.keypoint_names[class_id][: names.shape[1]]
            names[row, : len(used)] = used
        return names

    def to_supervision(self) -> sv.KeyPoints:
        """The same rows as `supervision.KeyPoints`, boxes in `data["xyxy"]`."""
        from inference_models.predictions.supervision_bridge import keypoints_to_supervision

        return keypoints_to_supervision(self)

    def to_supervision_detections(self) -> sv.Detections:
        """The boxes as `supervision.Detections` with the points in `data["keypoints_*"]`."""
        from inference_models.predictions.supervision_bridge import keypoints_to_detections

        return keypoints_to_detections(self)

    @classmethod
    def from_supervision(
        cls,
        key_points: sv.KeyPoints,
        image_size: Size,
        class_names: tuple[str, ...] | None = None,
        keypoint_names: tuple[tuple[str, ...], ...] | None = None,
    ) -> KeyPoints:
        """The rows of `supervision.KeyPoints`; see `supervision_bridge`."""
        from inference_models.predictions.supervision_bridge import keypoints_from_supervision

        return keypoints_from_supervision(key_points, image_size, class_names, keypoint_names)


def missing_points(xy: Any) -> Any:
    """Which points (..., 2) are missing: not a number, or exactly (0, 0)."""
    if is_tensor(xy):
        import torch

        return ~torch.isfinite(xy).all(-1) | (xy == 0).all(-1)
    return ~np.isfinite(xy).all(-1) | (np.asarray(xy) == 0).all(-1)
