"""What a picture shows, in the form losses work with: one picture's `Targets` and a padded
`TargetBatch`. Reading and drawing pictures is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


@dataclass(frozen=True, slots=True)
class Targets:
    """The n objects of one picture; row i of every field is the same object.

    Fields an object kind does not need stay empty (no rows) while others have n rows.

    Attributes:
        boxes: (n, 4) float32 xyxy px of the network's input.
        labels: (n,) int64 class ids from 0.
        masks: (n, h, w) uint8 share of each cell of the prototype grid that the object covers, 255
            for all of it; or (0, 0, 0).
        rotated_boxes: (n, 5) float32 (cx, cy, w, h, radians), or (0, 5).
        keypoints: (n, k, 2) float32 xy px, or (0, 0, 2).
        visibility: (n, k) int64: 0 unlabelled, 1 hidden, 2 visible; or (0, 0).

    Raises:
        ValueError: a field has the wrong number of axes or rows.
        TypeError: a field has the wrong dtype.
    """

    boxes: Tensor
    labels: Tensor
    masks: Tensor = field(default_factory=lambda: _empty(0, 0, 0, dtype=torch.uint8))
    rotated_boxes: Tensor = field(default_factory=lambda: _empty(0, 5))
    keypoints: Tensor = field(default_factory=lambda: _empty(0, 0, 2))
    visibility: Tensor = field(default_factory=lambda: _empty(0, 0, dtype=torch.int64))

    def __post_init__(self) -> None:
        count = self.boxes.shape[0]
        rules = (
            ("boxes", self.boxes, torch.float32, 2, 4),
            ("labels", self.labels, torch.int64, 1, None),
            ("masks", self.masks, torch.uint8, 3, None),
            ("rotated_boxes", self.rotated_boxes, torch.float32, 2, 5),
            ("keypoints", self.keypoints, torch.float32, 3, 2),
            ("visibility", self.visibility, torch.int64, 2, None),
        )
        for name, value, dtype, axes, last in rules:
            if value.dtype != dtype:
                raise TypeError(f"{name} must be {dtype}, got {value.dtype}")
            if value.dim() != axes or (last is not None and value.shape[-1] != last):
                raise ValueError(f"{name} has the wrong shape {list(value.shape)}")
            optional = name not in ("boxes", "labels")
            if value.shape[0] != count and not (optional and value.shape[0] == 0):
                raise ValueError(f"{name} has {value.shape[0]} rows for {count} boxes")
        if self.visibility.shape != self.keypoints.shape[:2]:
            raise ValueError(
                f"visibility {list(self.visibility.shape)} does not fit keypoints "
                f"{list(self.keypoints.shape)}"
            )

    def __len__(self) -> int:
        return self.boxes.shape[0]

    def select(self, keep: Tensor) -> Targets:
        """The objects where a mask is true, copied.

        Args:
            keep: (n,) bool.

        Raises:
            ValueError: the mask has the wrong length.
            TypeError: it is no bool tensor.
        """
        if keep.dtype != torch.bool:
            raise TypeError(f"keep must be torch.bool, got {keep.dtype}")
        if keep.shape != (len(self),):
            raise ValueError(f"keep must have the shape [{len(self)}], got {list(keep.shape)}")
        names = ("boxes", "labels", "masks", "rotated_boxes", "keypoints", "visibility")
        changes = {}
        for name in names:
            value = getattr(self, name)
            changes[name] = value[keep] if value.shape[0] == len(self) else value.clone()
        return replace(self, **changes)


@dataclass(slots=True)
class TargetBatch:
    """Targets of b pictures, padded to the most objects n any of them has.

    Not frozen: Lightning moves its tensors in place.

    Attributes:
        boxes: (b, n, 4) float32 xyxy px; zeros where padded.
        labels: (b, n) int64; 0 where padded.
        present: (b, n) bool, whether a row is an object.
        masks: (b, n, h, w) uint8 as in `Targets`, or None.
        rotated_boxes: (b, n, 5) float32 or None.
        keypoints: (b, n, k, 2) float32 or None.
        visibility: (b, n, k) int64 or None.
    """

    boxes: Tensor
    labels: Tensor
    present: Tensor
    masks: Tensor | None = None
    rotated_boxes: Tensor | None = None
    keypoints: Tensor | None = None
    visibility: Tensor | None = None

    @classmethod
    def pad(cls, targets: Sequence[Targets]) -> TargetBatch:
        """The batch of some pictures.

        Raises:
            ValueError: some pictures with objects have a field that others lack, or it differs in
                its other axes.
        """
        counts = [len(one) for one in targets]
        most = max(counts, default=0)
        present = torch.arange(most)[None] < torch.tensor(counts, dtype=torch.int64)[:, None]

        def padded(name: str) -> Tensor | None:
            filled = [getattr(one, name) for one in targets if len(one)]
            shapes = {tuple(value.shape[1:]) for value in filled if value.shape[0]}
            if not shapes:
                return None
            if len(shapes) > 1 or any(not value.shape[0] for value in filled):
                raise ValueError(f"pictures of one batch disagree about {name}: {sorted(shapes)}")
            rest = shapes.pop()
            result = torch.zeros((len(targets), most, *rest), dtype=filled[0].dtype)
            for row, one in enumerate(targets):
                if len(one):
                    result[row, : len(one)] = getattr(one, name)
            return result

        boxes, labels = padded("boxes"), padded("labels")
        if boxes is None or labels is None:
            boxes = torch.zeros((len(targets), 0, 4))
            labels = torch.zeros((len(targets), 0), dtype=torch.int64)
        return cls(
            boxes,
            labels,
            present,
            padded("masks"),
            padded("rotated_boxes"),
            padded("keypoints"),
            padded("visibility"),
        )
