"""Objects with boxes: upright, with masks, and oriented. Exchange with supervision lives in its own
module."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, Size
from inference_models.predictions.columns import (
    Array,
    Column,
    ColumnRows,
    PredictionError,
    as_array,
    is_tensor,
)

if TYPE_CHECKING:
    import supervision as sv

_SCORED = (Column("confidence", "float32"), Column("class_id", "int32"))
_TRACKED = Column("tracker_id", "int64", optional=True)


class ScoredRows(ColumnRows):
    """Rows with a class and a confidence."""

    __slots__ = ()
    confidence: Array
    class_id: Array
    class_names: tuple[str, ...] | None

    def filter(
        self, min_confidence: float | None = None, class_names: Collection[str] | None = None
    ) -> Self:
        """The rows with at least this confidence and one of these classes, in order.

        Raises:
            PredictionError: classes are named and the prediction does not know the names of its
                classes.
        """
        kept = np.ones(len(self), np.bool_)
        if min_confidence is not None:
            kept &= as_array(self.confidence) >= min_confidence
        if class_names is not None:
            kept &= np.isin(self.class_name, list(class_names))
        return self.select(kept)

    def moved(self, offset: tuple[int, int], image_size: Size) -> Self:
        """The same objects on another image, such as the one theirs was cut from.

        Args:
            offset: (x, y) px of their image's corner on the other image.
            image_size: (h, w) of the other image. Boxes and points may leave it, masks are cut
                there; masks on a grid of their own move on the image's pixels.
        """
        fields: dict[str, Any] = {"image_size": image_size}
        for name, repeats in (("xyxy", 2), ("corners", 1), ("xy", 1)):
            if any(column.name == name for column in self.COLUMNS):
                fields[name] = _shifted(getattr(self, name), [*offset] * repeats)
        if hasattr(self, "masks"):
            masks: InstanceMasks = self.masks
            fields["masks"] = masks.on_image_grid().moved(offset, image_size)
        return self.replace(**fields)

    @property
    def class_name(self) -> npt.NDArray[np.str_]:
        """Name of each row's class, (n,) text.

        Raises:
            PredictionError: there is no table of names, or an id lies outside of it.
        """
        if self.class_names is None:
            raise PredictionError(f"{type(self).__name__} has no class_names to name classes with")
        ids = as_array(self.class_id)
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self.class_names)):
            raise PredictionError(
                f"class ids must lie in 0..{len(self.class_names) - 1}, got "
                f"{ids.min()}..{ids.max()}"
            )
        # Without classes the table would be an array of numbers.
        return np.array(self.class_names or ("",), dtype=np.str_)[ids]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Detections(ScoredRows):
    """Boxes of n objects, best first where a model made them.

    Attributes:
        xyxy: (n, 4) float32 px of the image.
        confidence: (n,) float32 in 0..1.
        class_id: (n,) int32.
        image_size: (h, w) of the image, px.
        class_names: name of each class by id.
        tracker_id: (n,) int64, None when nothing tracks.
        data: further columns by name, each with n rows.
        metadata: what is known of the whole, such as where it was made when there are no rows.
    """

    xyxy: Array
    confidence: Array
    class_id: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    tracker_id: Array | None = None
    data: Mapping[str, Array] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = (Column("xyxy", "float32", (4,)), *_SCORED, _TRACKED)

    @classmethod
    def empty(cls, image_size: Size, class_names: tuple[str, ...] | None = None) -> Detections:
        """No objects, with the columns and types of some."""
        return Detections(**_no_rows(Detections), image_size=image_size, class_names=class_names)

    def to_supervision(self) -> sv.Detections:
        """The same rows as `supervision.Detections`."""
        from inference_models.predictions.supervision_bridge import detections_to_supervision

        return detections_to_supervision(self)

    @classmethod
    def from_supervision(
        cls,
        detections: sv.Detections,
        image_size: Size | None = None,
        class_names: tuple[str, ...] | None = None,
    ) -> Detections:
        """The rows of `supervision.Detections`, masks left out; see `supervision_bridge`."""
        from inference_models.predictions.supervision_bridge import detections_from_supervision

        return detections_from_supervision(detections, image_size, class_names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InstanceDetections(ScoredRows):
    """Boxes and masks of n objects.

    Attributes:
        xyxy: (n, 4) float32 px of the image, whatever grid the masks live on.
        masks: one mask a row, on `masks.mask_size`.
        confidence, class_id, image_size, class_names, tracker_id, data, metadata: as in
            `Detections`.
    """

    xyxy: Array
    confidence: Array
    class_id: Array
    masks: InstanceMasks
    image_size: Size
    class_names: tuple[str, ...] | None = None
    tracker_id: Array | None = None
    data: Mapping[str, Array] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = Detections.COLUMNS

    def __post_init__(self) -> None:
        ColumnRows.__post_init__(self)
        if len(self.masks) != len(self):
            raise PredictionError(f"{len(self)} rows need as many masks, got {len(self.masks)}")
        if self.masks.image_size != self.image_size:
            raise PredictionError(
                f"masks of a {self.masks.image_size} image cannot belong to a {self.image_size} "
                "image"
            )

    @property
    def mask_size(self) -> Size:
        """(h, w) of the grid the masks live on."""
        return self.masks.mask_size

    @classmethod
    def empty(
        cls,
        image_size: Size,
        mask_size: Size | None = None,
        class_names: tuple[str, ...] | None = None,
    ) -> InstanceDetections:
        """No objects, with the columns and types of some, on the mask grid of some."""
        return InstanceDetections(
            **_no_rows(InstanceDetections),
            masks=InstanceMasks.empty(mask_size or image_size, image_size),
            image_size=image_size,
            class_names=class_names,
        )

    def boxes_on_mask_grid(self) -> npt.NDArray[np.float32]:
        """The boxes (n, 4) float32 xyxy in cells of the masks' grid."""
        (height, width), (rows, columns) = self.image_size, self.mask_size
        scale = np.array([columns / width, rows / height] * 2, np.float32)
        return as_array(self.xyxy) * scale

    def without_masks(self) -> Detections:
        """The same rows as plain detections."""
        return Detections(
            xyxy=self.xyxy,
            confidence=self.confidence,
            class_id=self.class_id,
            image_size=self.image_size,
            class_names=self.class_names,
            tracker_id=self.tracker_id,
            data=self.data,
            metadata=self.metadata,
        )

    def to_supervision(self, *, with_rle: bool = False) -> sv.Detections:
        """The same rows as `supervision.Detections` with a `CompactMask` of the image's size.

        Args:
            with_rle: also give each row its COCO code in `data["rle_mask"]`. Masks on a grid of
                their own always get one, since only its `size` still names that grid.
        """
        from inference_models.predictions.supervision_bridge import instances_to_supervision

        return instances_to_supervision(self, with_rle=with_rle)

    @classmethod
    def from_supervision(
        cls,
        detections: sv.Detections,
        image_size: Size | None = None,
        class_names: tuple[str, ...] | None = None,
    ) -> InstanceDetections:
        """The rows of `supervision.Detections` with masks or codes; see `supervision_bridge`."""
        from inference_models.predictions.supervision_bridge import instances_from_supervision

        return instances_from_supervision(detections, image_size, class_names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OrientedDetections(ScoredRows):
    """Rotated boxes of n objects.

    Attributes:
        corners: (n, 4, 2) float32 px of the image, around the box. Kept as given, so nothing is
            lost on the way through.
        confidence, class_id, image_size, class_names, tracker_id, data, metadata: as in
            `Detections`.
    """

    corners: Array
    confidence: Array
    class_id: Array
    image_size: Size
    class_names: tuple[str, ...] | None = None
    tracker_id: Array | None = None
    data: Mapping[str, Array] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = (Column("corners", "float32", (4, 2)), *_SCORED, _TRACKED)

    @classmethod
    def empty(
        cls, image_size: Size, class_names: tuple[str, ...] | None = None
    ) -> OrientedDetections:
        """No objects, with the columns and types of some."""
        return OrientedDetections(
            **_no_rows(OrientedDetections), image_size=image_size, class_names=class_names
        )

    @classmethod
    def from_xywhr(cls, xywhr: Array, **columns: Any) -> OrientedDetections:
        """Boxes given as (n, 5) centre x, y, width, height in px and the angle in radians.

        The angle turns the side called width from the x axis towards the y axis, clockwise on the
        screen. Other fields are those of the class.
        """
        math = _namespace(xywhr)
        x, y, width, height, angle = (xywhr[:, place] for place in range(5))
        cos, sin = math.cos(angle), math.sin(angle)
        across = math.stack([cos * width / 2, sin * width / 2], 1)
        along = math.stack([-sin * height / 2, cos * height / 2], 1)
        centre = math.stack([x, y], 1)
        corners = [
            centre - across - along,
            centre + across - along,
            centre + across + along,
            centre - across + along,
        ]
        return OrientedDetections(corners=math.stack(corners, 1), **columns)

    @property
    def xyxy(self) -> Array:
        """(n, 4) float32 upright boxes around the rotated ones, px."""
        math = _namespace(self.corners)
        low, high = math.amin(self.corners, 1), math.amax(self.corners, 1)
        xyxy: Array = math.concatenate([low, high], 1)
        return xyxy

    @property
    def xywhr(self) -> Array:
        """(n, 5) float32 centre, width, height in px and angle in radians; width is the side from
        corner 0 to 1."""
        math = _namespace(self.corners)
        corners = self.corners
        across, along = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0]
        centre = corners.mean(1)
        columns = [
            centre[:, 0],
            centre[:, 1],
            math.hypot(across[:, 0], across[:, 1]),
            math.hypot(along[:, 0], along[:, 1]),
            math.arctan2(across[:, 1], across[:, 0]),
        ]
        xywhr: Array = math.stack(columns, 1)
        return xywhr

    def to_supervision(self) -> sv.Detections:
        """The same rows as `supervision.Detections` with the corners in `data["xyxyxyxy"]`."""
        from inference_models.predictions.supervision_bridge import oriented_to_supervision

        return oriented_to_supervision(self)

    @classmethod
    def from_supervision(
        cls,
        detections: sv.Detections,
        image_size: Size | None = None,
        class_names: tuple[str, ...] | None = None,
    ) -> OrientedDetections:
        """The rows of `supervision.Detections` that carry corners; see `supervision_bridge`."""
        from inference_models.predictions.supervision_bridge import oriented_from_supervision

        return oriented_from_supervision(detections, image_size, class_names)


def _shifted(points: Any, shift: list[int]) -> Array:
    """Coordinates plus a shift along the last axis."""
    if is_tensor(points):
        import torch

        step = torch.tensor(shift, dtype=points.dtype, device=points.device)
        moved: Array = points + step
    else:
        moved = points + np.array(shift, np.float32)
    return moved


def _namespace(value: Array) -> Any:
    """numpy, or torch for tensors: the few functions used here have the same names and orders of
    arguments in both."""
    if is_tensor(value):
        import torch

        return torch
    return np


def _no_rows(kind: type[ColumnRows]) -> dict[str, Any]:
    """The obligatory columns without rows."""
    return {
        column.name: np.zeros((0, *(length or 0 for length in column.tail)), column.dtype)
        for column in kind.COLUMNS
        if not column.optional
    }
