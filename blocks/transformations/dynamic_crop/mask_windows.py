"""Each of many masks cut to a window of its own, all at once. Knows no detections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from inference_models.masks import InstanceMasks, encode_masks
from inference_models.masks.runs import mask_of_runs, splits_of_sizes

if TYPE_CHECKING:
    import supervision as sv


class MaskWindows:
    """n masks, each in px of its window of the image and without what lies outside of it.

    Args:
        masks: n masks on the pixels of the image.
        windows: (n, 4) left, top, exclusive right and bottom inside the image, px; a window without
            pixels has an empty mask.
    """

    def __init__(self, masks: InstanceMasks, windows: NDArray[np.int64]) -> None:
        from inference_models.predictions.supervision_bridge import compact_mask

        self._sizes = np.maximum(windows[:, [3, 2]] - windows[:, [1, 0]], 1)
        owners = mask_of_runs(masks.splits)
        corners, sizes = windows[owners, :2], self._sizes[owners]
        columns, tops, bottoms = masks.grid_runs()
        columns = columns - corners[:, 0]
        tops = np.maximum(tops - corners[:, 1], 0)
        bottoms = np.minimum(bottoms - corners[:, 1], sizes[:, 0])
        inside = (columns >= 0) & (columns < sizes[:, 1]) & (bottoms > tops)
        runs = np.stack([columns, tops, bottoms])[:, inside].astype(np.int32)
        splits = splits_of_sizes(np.bincount(owners[inside], minlength=len(masks)))
        # One grid that holds every window; each mask ends inside its own.
        largest = self._sizes.max(axis=0, initial=1)
        grid = (int(largest[0]), int(largest[1]))
        self._masks = InstanceMasks.from_runs(runs, splits, mask_size=grid)
        self._compact = compact_mask(self._masks)

    def size(self, row: int) -> tuple[int, int]:
        """(height, width) of a window, px."""
        height, width = self._sizes[row].tolist()
        return height, width

    def compact(self, row: int) -> sv.CompactMask:
        """One mask as `sv.CompactMask` (1) on its window."""
        whole = self._compact
        return type(whole)(
            [whole._rles[row]],
            whole._crop_shapes[row : row + 1],
            whole._offsets[row : row + 1],
            self.size(row),
        )

    def rle(self, row: int) -> NDArray[np.object_]:
        """One mask as a column (1,) of RLE on its window."""
        own = self._masks.select([row])
        size = self.size(row)
        column = np.empty(1, dtype=object)
        column[0] = encode_masks(InstanceMasks(size, size, own.boxes, own.runs, own.splits))[0]
        return column

    def outside(self, row: int) -> NDArray[np.bool_]:
        """(h, w) the pixels of a window that are not in its mask."""
        outside = np.ones(self.size(row), dtype=bool)
        left, top, right, bottom = self._masks.boxes[row].tolist()
        outside[top:bottom, left:right] = ~self._masks.crop(row)
        return outside

    def fields(self, row: int, with_rle: bool) -> tuple[sv.CompactMask, dict[str, Any]]:
        """(`sv.CompactMask`, data columns) of one mask, as `mask_fields` gives them."""
        return self.compact(row), {keys.RLE_MASK: self.rle(row)} if with_rle else {}
