"""Moving detections from the image they were made on to the workflow's input image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.compact import as_compact
from blocks.kinds.detections.rle import compact_from_rles, rles_from_compact

if TYPE_CHECKING:
    import supervision as sv

_NEEDED = (
    keys.ROOT_PARENT_ID,
    keys.ROOT_PARENT_COORDINATES,
    keys.ROOT_PARENT_DIMENSIONS,
)


class _Placement:
    """Where each row's image lies in its root: root = own / scale + offset, px.

    Attributes:
        offsets: (n, 2) x, y of the image in the root.
        scales: (n,) size of the image over the size of its region in the root.
        root_sizes: (n, 2) height, width of the root.
    """

    def __init__(self, detections: sv.Detections) -> None:
        data = detections.data
        count = len(detections)
        self.offsets = _table(data[keys.ROOT_PARENT_COORDINATES], count, 2)
        self.root_sizes = _table(data[keys.ROOT_PARENT_DIMENSIONS], count, 2).astype(np.int64)
        scales = data.get(keys.SCALING_RELATIVE_TO_ROOT_PARENT)
        self.scales = np.ones(count) if scales is None else _table(scales, count, 1).reshape(count)
        if not (self.scales > 0).all():
            raise ValueError(f"{keys.SCALING_RELATIVE_TO_ROOT_PARENT} must be positive")
        self.sizes = None
        if keys.IMAGE_DIMENSIONS in data:
            self.sizes = _table(data[keys.IMAGE_DIMENSIONS], count, 2).astype(np.int64)

    def is_identity(self) -> bool:
        """Whether the image is its root."""
        return bool(
            not self.offsets.any()
            and (self.scales == 1).all()
            and (self.sizes is None or (self.sizes == self.root_sizes).all())
        )

    def moved(self, points: NDArray[Any]) -> NDArray[Any]:
        """Points (n, ..., 2) in the root; a floating type stays, others become float32."""
        middle = (1,) * (points.ndim - 2)
        count = len(points)
        result = points / self.scales.reshape(count, *middle, 1)
        result = result + self.offsets.reshape(count, *middle, 2)
        return result.astype(points.dtype if points.dtype.kind == "f" else np.float32)

    def moved_row(self, row: int, points: Any) -> NDArray[Any]:
        """Points (k, 2) of one row in the root; whole numbers stay whole when nothing is scaled."""
        array = np.asarray(points).reshape(-1, 2)
        if array.dtype.kind in "iu" and self.scales[row] == 1:
            return array + self.offsets[row].astype(np.int64)
        return array / self.scales[row] + self.offsets[row]


def _table(column: Any, count: int, width: int) -> NDArray[np.float64]:
    array = column if isinstance(column, np.ndarray) and column.dtype != object else list(column)
    return np.asarray(array, dtype=np.float64).reshape(count, width)


def to_root(detections: sv.Detections) -> sv.Detections:
    """The detections in the space of the workflow's input image; never in place.

    Boxes, keypoints, polygons and rectangles are moved, masks get new offsets (dense ones become
    `sv.CompactMask`), RLE is written again on the root's grid, parts outside the root are cut from
    masks. The rows then name the root as their parent. Detections that do not know their root, or
    whose image is the root, are returned as they are. With zero rows the metadata name the root.

    Raises:
        ValueError: masks lie in roots of different sizes.
    """
    if len(detections) == 0:
        return _empty_to_root(detections)
    data = detections.data
    if any(key not in data for key in _NEEDED):
        return detections
    placement = _Placement(detections)
    if placement.is_identity():
        return detections
    import supervision as sv

    moved = dict(data)
    corners = np.asarray(detections.xyxy).reshape(-1, 2, 2)
    for key in (keys.KEYPOINTS_XY, keys.POLYGON, keys.RECT, keys.ORIENTED_BOX):
        if key in data:
            moved[key] = _moved_column(data[key], placement)
    for key in (keys.WIDTH, keys.HEIGHT):
        if key in data:
            moved[key] = np.asarray(data[key], dtype=np.float64) / placement.scales
    mask = None
    if detections.mask is not None or keys.RLE_MASK in data:
        size = _one_root_size(placement)
        if detections.mask is not None:
            mask = _moved_mask(as_compact(detections.mask), placement, size)
        if keys.RLE_MASK in data:
            moved[keys.RLE_MASK] = _moved_rles(data[keys.RLE_MASK], placement, size)
    moved.update(_root_lineage(data, placement))
    return sv.Detections(
        xyxy=placement.moved(corners).reshape(-1, 4),
        mask=mask,
        confidence=detections.confidence,
        class_id=detections.class_id,
        tracker_id=detections.tracker_id,
        data=moved,
        metadata=dict(detections.metadata),
    )


def _moved_column(column: Any, placement: _Placement) -> Any:
    if isinstance(column, np.ndarray) and column.dtype != object:
        return placement.moved(column)
    result = np.empty(len(column), dtype=object)
    for row, points in enumerate(column):
        result[row] = None if points is None else placement.moved_row(row, points)
    return result


def _one_root_size(placement: _Placement) -> tuple[int, int]:
    sizes = np.unique(placement.root_sizes, axis=0)
    if len(sizes) > 1:
        raise ValueError(
            f"masks of one set of detections must lie in one root image, "
            f"got roots of (height, width) {sizes.tolist()}"
        )
    return int(sizes[0, 0]), int(sizes[0, 1])


def _moved_mask(mask: Any, placement: _Placement, root_size: tuple[int, int]) -> Any:
    """`sv.CompactMask` on the root; rows that move alike are moved together."""
    from supervision import CompactMask

    shifts = np.column_stack([np.round(placement.offsets), placement.scales])
    kinds, group_of = np.unique(shifts, axis=0, return_inverse=True)
    group_of = group_of.reshape(-1)
    if len(kinds) == 1:
        return _shifted(mask, kinds[0], root_size)
    order = np.argsort(group_of, kind="stable")
    parts = [
        _shifted(mask[np.flatnonzero(group_of == group)], kind, root_size)
        for group, kind in enumerate(kinds)
    ]
    return CompactMask.merge(parts)[np.argsort(order)]


def _shifted(mask: Any, shift: NDArray[np.float64], root_size: tuple[int, int]) -> Any:
    x, y, scale = shift
    if scale != 1:
        height, width = mask.image_shape
        mask = mask.resize((max(1, round(height / scale)), max(1, round(width / scale))))
    return mask.with_offset(int(x), int(y), root_size)


def _moved_rles(rles: Any, placement: _Placement, root_size: tuple[int, int]) -> NDArray[Any]:
    # The grid of an RLE may be coarser than its image: the root's grid is the image's own.
    sizes = placement.sizes
    if sizes is None or (sizes == sizes[0]).all():
        own = tuple(sizes[0]) if sizes is not None else tuple(rles[0]["size"])
        mask = _moved_mask(compact_from_rles(list(rles), own), placement, root_size)
        written = rles_from_compact(mask)
    else:
        written = []
        for row, rle in enumerate(rles):
            own_mask = compact_from_rles([rle], (int(sizes[row, 0]), int(sizes[row, 1])))
            shift = np.array([*np.round(placement.offsets[row]), placement.scales[row]])
            written += rles_from_compact(_shifted(own_mask, shift, root_size))
    return np.fromiter(written, object, len(written))


def _root_lineage(data: Any, placement: _Placement) -> dict[str, Any]:
    count = len(placement.scales)
    columns: dict[str, Any] = {
        keys.PARENT_ID: np.array([str(item) for item in data[keys.ROOT_PARENT_ID]], dtype=str),
        keys.IMAGE_DIMENSIONS: placement.root_sizes.copy(),
        keys.PARENT_COORDINATES: np.zeros((count, 2), np.int64),
        keys.PARENT_DIMENSIONS: placement.root_sizes.copy(),
        keys.ROOT_PARENT_COORDINATES: np.zeros((count, 2), np.int64),
    }
    for key in (keys.SCALING_RELATIVE_TO_PARENT, keys.SCALING_RELATIVE_TO_ROOT_PARENT):
        if key in data:
            columns[key] = np.ones(count)
    return columns


def _empty_to_root(detections: sv.Detections) -> sv.Detections:
    known = detections.metadata
    if keys.ROOT_PARENT_DIMENSIONS not in known or keys.ROOT_PARENT_ID not in known:
        return detections
    import supervision as sv

    height, width = (int(side) for side in known[keys.ROOT_PARENT_DIMENSIONS])
    metadata = {
        **known,
        keys.IMAGE_DIMENSIONS: [height, width],
        keys.PARENT_ID: known[keys.ROOT_PARENT_ID],
        keys.PARENT_COORDINATES: [0, 0],
        keys.PARENT_DIMENSIONS: [height, width],
        keys.ROOT_PARENT_COORDINATES: [0, 0],
    }
    for key in (keys.SCALING_RELATIVE_TO_PARENT, keys.SCALING_RELATIVE_TO_ROOT_PARENT):
        if key in known:
            metadata[key] = 1.0
    mask = detections.mask
    if mask is not None:
        mask = sv.CompactMask(
            [], np.empty((0, 2), np.int32), np.empty((0, 2), np.int32), (height, width)
        )
    return sv.Detections(
        xyxy=detections.xyxy,
        mask=mask,
        confidence=detections.confidence,
        class_id=detections.class_id,
        tracker_id=detections.tracker_id,
        data=dict(detections.data),
        metadata=metadata,
    )
