"""`InstanceMasks`: the one carrier of instance masks. Codecs, outlines and overlaps live in their
own modules.

A mask is the crop around its set pixels, the crop's place on a named grid, and nothing else. The
crop is kept as column runs, so n masks of a 4K frame weigh a few hundred kilobytes; bitmaps are
made when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference_models.masks.errors import MaskError, MaskGridError
from inference_models.masks.runs import (
    bitmap_of_runs,
    bounds_of_runs,
    join_touching,
    lengths_per_mask,
    mask_of_runs,
    runs_of_bitmap,
    splits_of_sizes,
    take_masks,
)

Size = tuple[int, int]
Rows = npt.ArrayLike | slice

MAX_SIDE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class InstanceMasks:
    """Masks of n objects on one grid.

    Attributes:
        mask_size: (h, w) of the grid the masks are drawn on; it covers the whole image.
        image_size: (h, w) of the image in px.
        boxes: (n, 4) int32 x0, y0, x1, y1 of each crop on the grid, half-open and tight; all 0 for
            a mask without set pixels.
        runs: (3, m) int32 column, top, bottom of stretches of set pixels, relative to the crop,
            `bottom` exclusive; mask by mask, sorted, not touching inside a column.
        splits: (n + 1,) int64, the runs of mask i are `runs[:, splits[i]:splits[i + 1]]`.
    """

    mask_size: Size
    image_size: Size
    boxes: npt.NDArray[np.int32]
    runs: npt.NDArray[np.int32]
    splits: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mask_size", checked_size("mask_size", self.mask_size))
        object.__setattr__(self, "image_size", checked_size("image_size", self.image_size))
        count = len(self.boxes)
        if self.boxes.shape != (count, 4) or self.splits.shape != (count + 1,):
            raise MaskError(
                f"boxes must be (n, 4) and splits (n + 1,), got {self.boxes.shape} and "
                f"{self.splits.shape}"
            )
        if self.runs.ndim != 2 or len(self.runs) != 3 or self.runs.shape[1] != self.splits[-1]:
            raise MaskError(f"runs must be (3, {self.splits[-1]}), got {self.runs.shape}")
        for array in (self.boxes, self.runs, self.splits):
            array.setflags(write=False)

    @classmethod
    def empty(cls, mask_size: Size, image_size: Size | None = None) -> InstanceMasks:
        """No masks, on a grid of `mask_size` over an image of `image_size` (the grid's when
        None)."""
        return cls(
            mask_size,
            mask_size if image_size is None else image_size,
            np.zeros((0, 4), np.int32),
            np.zeros((3, 0), np.int32),
            np.zeros(1, np.int64),
        )

    @classmethod
    def from_runs(
        cls,
        runs: npt.NDArray[np.int32],
        splits: npt.NDArray[np.int64],
        *,
        mask_size: Size,
        image_size: Size | None = None,
        origin: tuple[int, int] = (0, 0),
    ) -> InstanceMasks:
        """Masks from runs (3, m) whose columns and rows count from `origin` (y, x) of the grid.

        The runs must be sorted and apart as described above and lie on the grid; they are not
        checked again.
        """
        boxes = bounds_of_runs(runs, splits)
        masks = mask_of_runs(splits)
        local = np.empty_like(runs)
        np.subtract(runs[0], boxes[masks, 0], out=local[0])
        tops = boxes[masks, 1]
        np.subtract(runs[1], tops, out=local[1])
        np.subtract(runs[2], tops, out=local[2])
        filled = splits[1:] > splits[:-1]
        boxes[filled] += np.array([*origin[::-1], *origin[::-1]], np.int32)
        return cls(mask_size, image_size or mask_size, boxes, local, splits)

    @classmethod
    def from_dense(
        cls, masks: npt.NDArray[np.generic], image_size: Size | None = None
    ) -> InstanceMasks:
        """Masks from full bitmaps.

        Args:
            masks: (n, h, w), any dtype and memory order; a pixel is set when it is not zero.
            image_size: the image the bitmaps cover; (h, w) when None.

        Raises:
            MaskError: the array does not have three axes.
        """
        masks = np.asarray(masks)
        if masks.ndim != 3:
            raise MaskError(f"dense masks must be (n, h, w), got shape {masks.shape}")
        offsets = np.zeros((len(masks), 2), np.int64)
        crops = []
        for mask, offset in zip(masks, offsets, strict=True):
            rows = np.flatnonzero(mask.any(axis=1))
            if len(rows):
                mask = mask[rows[0] : rows[-1] + 1]
                columns = np.flatnonzero(mask.any(axis=0))
                mask = mask[:, columns[0] : columns[-1] + 1]
                offset[:] = columns[0], rows[0]
            else:
                mask = mask[:0, :0]
            crops.append(mask)
        height, width = masks.shape[1:]
        return cls.from_crops(crops, offsets, (height, width), image_size)

    @classmethod
    def from_crops(
        cls,
        crops: Iterable[npt.NDArray[np.generic]],
        offsets: npt.ArrayLike,
        mask_size: Size,
        image_size: Size | None = None,
    ) -> InstanceMasks:
        """Masks from bitmaps of parts of the grid.

        Args:
            crops: n bitmaps (h_i, w_i); a pixel is set when it is not zero.
            offsets: (n, 2) x, y of their top left corners on the grid; what lies outside of the
                grid is cut away.
            mask_size: the grid.
            image_size: the image it covers; the grid's size when None.

        Raises:
            MaskError: the numbers of crops and offsets differ.
        """
        parts = [runs_of_bitmap(np.asarray(crop)) for crop in crops]
        origins = np.asarray(offsets, np.int64).reshape(-1, 2)
        if len(parts) != len(origins):
            raise MaskError(f"{len(parts)} crops need as many offsets, got {len(origins)}")
        splits = splits_of_sizes(np.array([part.shape[1] for part in parts], np.int64))
        runs = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int32)
        shifts = origins[mask_of_runs(splits)].T
        runs, splits = _clip(runs + shifts[[0, 1, 1]], splits, checked_size("mask_size", mask_size))
        return cls.from_runs(runs, splits, mask_size=mask_size, image_size=image_size)

    def __len__(self) -> int:
        return len(self.boxes)

    def __iter__(self) -> Iterator[InstanceMasks]:
        return (self.select([index]) for index in range(len(self)))

    def __getitem__(self, rows: Rows) -> InstanceMasks:
        return self.select(rows)

    @property
    def areas(self) -> npt.NDArray[np.int64]:
        """Set pixels of each mask on the grid, (n,) int64."""
        return lengths_per_mask(self.runs, self.splits)

    @property
    def on_own_grid(self) -> bool:
        """Whether the grid differs from the image's pixels."""
        return self.mask_size != self.image_size

    def grid_runs(self) -> npt.NDArray[np.int64]:
        """The runs (3, m) int64 with columns and rows counted from the grid's corner."""
        masks = mask_of_runs(self.splits)
        runs = self.runs.astype(np.int64)
        runs[0] += self.boxes[masks, 0]
        runs[1:] += self.boxes[masks, 1]
        return runs

    def crop(self, index: int) -> npt.NDArray[np.bool_]:
        """Bitmap (h, w) of the crop of one mask; (0, 0) for a mask without set pixels."""
        return self.bitmap(index).view(np.bool_)

    def bitmap(self, index: int) -> npt.NDArray[np.uint8]:
        """The same crop as uint8 0 and 1, as OpenCV takes it."""
        x0, y0, x1, y1 = self.boxes[index].tolist()
        runs = self.runs[:, self.splits[index] : self.splits[index + 1]]
        return bitmap_of_runs(runs, (y1 - y0, x1 - x0))

    def crops(self) -> list[npt.NDArray[np.bool_]]:
        """The bitmap of every crop, placed by `boxes`."""
        return [self.crop(index) for index in range(len(self))]

    def to_dense(self) -> npt.NDArray[np.bool_]:
        """All masks as one (n, *mask_size) bool array. Untouched pages of it cost no memory until
        they are read."""
        dense = np.zeros((len(self), *self.mask_size), np.bool_)
        for canvas, (x0, y0, x1, y1), crop in zip(
            dense, self.boxes.tolist(), self.crops(), strict=True
        ):
            canvas[y0:y1, x0:x1] = crop
        return dense

    def select(self, rows: Rows) -> InstanceMasks:
        """The masks of a boolean mask (n,), of integers (in that order, repeats allowed) or of a
        slice.

        Raises:
            MaskError: the boolean mask does not have n entries.
            IndexError: a row does not exist.
        """
        index = row_index(rows, len(self))
        order, splits = take_masks(self.splits, index)
        return InstanceMasks(
            self.mask_size, self.image_size, self.boxes[index], self.runs[:, order], splits
        )

    def moved(
        self, offset: tuple[int, int], mask_size: Size, image_size: Size | None = None
    ) -> InstanceMasks:
        """The masks on another grid whose pixels have the same size, shifted by `offset` (x, y) px
        of it.

        Moves a crop's masks to the image it was cut from, or an image's masks into a window of it
        (negative offset). Only places change; a mask is cut where it leaves the new grid.

        Raises:
            MaskGridError: the masks live on a grid of their own, where a px of the image is no
                whole cell.
        """
        if self.on_own_grid:
            raise MaskGridError(
                f"masks on a {self.mask_size} grid of a {self.image_size} image cannot be moved by "
                "image px; bring them to the image's grid first",
                hint="on_image_grid()",
            )
        height, width = mask_size
        filled = self.splits[1:] > self.splits[:-1]
        shift = np.array([*offset, *offset], np.int64)
        boxes = np.where(filled[:, None], self.boxes + shift, 0)
        outside = (boxes < 0) | (boxes > [width, height, width, height])
        if outside.any():
            runs = self.grid_runs() + np.array([offset[0], offset[1], offset[1]])[:, None]
            clipped, splits = _clip(runs, self.splits, checked_size("mask_size", mask_size))
            return InstanceMasks.from_runs(
                clipped, splits, mask_size=mask_size, image_size=image_size
            )
        return InstanceMasks(
            mask_size, image_size or mask_size, boxes.astype(np.int32), self.runs, self.splits
        )

    def resized(self, mask_size: Size) -> InstanceMasks:
        """The masks on a grid of another size over the same image, by nearest neighbour as OpenCV
        picks it."""
        mask_size = checked_size("mask_size", mask_size)
        if mask_size == self.mask_size:
            return self
        # First new row (column) that reads an old row at or after the given one.
        rows = _first_reader(self.mask_size[0], mask_size[0])
        columns = _first_reader(self.mask_size[1], mask_size[1])
        old = self.grid_runs()
        left, right = columns[old[0]], columns[old[0] + 1]
        tops, bottoms = rows[old[1]], rows[old[2]]
        repeats = np.where(bottoms > tops, right - left, 0)
        masks = mask_of_runs(self.splits)
        source = np.repeat(np.arange(len(repeats)), repeats)
        within = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        new = np.stack([left[source] + within, tops[source], bottoms[source]]).astype(np.int32)
        owner = masks[source]
        # Repeated columns come run by run and must lie column by column. All runs of a new column
        # come from one old column, top to bottom, which a stable sort keeps.
        order = np.argsort(owner * mask_size[1] + new[0], kind="stable")
        new, owner = new[:, order], owner[order]
        new, owner = join_touching(new, owner)
        splits = splits_of_sizes(np.bincount(owner, minlength=len(self)))
        return InstanceMasks.from_runs(new, splits, mask_size=mask_size, image_size=self.image_size)

    def on_image_grid(self) -> InstanceMasks:
        """The masks on the image's own pixels, by nearest neighbour when they live on another
        grid."""
        return self.resized(self.image_size)

    @classmethod
    def concat(cls, parts: Sequence[InstanceMasks]) -> InstanceMasks:
        """The masks of all parts, in order.

        Raises:
            MaskError: there are no parts.
            MaskGridError: the parts live on different grids or describe images of different sizes.
        """
        if not parts:
            raise MaskError("concat needs at least one part: without any, the grid is unknown")
        first = parts[0]
        for part in parts[1:]:
            first.require_same_grid(part)
        return cls(
            first.mask_size,
            first.image_size,
            np.concatenate([part.boxes for part in parts]),
            np.concatenate([part.runs for part in parts], axis=1),
            splits_of_sizes(np.concatenate([np.diff(part.splits) for part in parts])),
        )

    def require_same_grid(self, other: InstanceMasks) -> None:
        """Raises `MaskGridError` unless both live on the same grid of an image of the same size."""
        if (self.mask_size, self.image_size) != (other.mask_size, other.image_size):
            raise MaskGridError(
                f"masks live on different grids: {self.mask_size} of a {self.image_size} image and "
                f"{other.mask_size} of a {other.image_size} image",
                hint="on_image_grid() brings masks of one image to the same grid",
            )


def row_index(rows: Rows, count: int) -> npt.NDArray[np.int64]:
    """Rows given as a boolean mask, integers or a slice, as non-negative int64 indices.

    Raises:
        MaskError: a boolean mask does not have `count` entries.
        IndexError: a row does not exist.
    """
    if isinstance(rows, slice):
        return np.arange(count)[rows]
    index = np.asarray(rows)
    if index.dtype == np.bool_:
        if index.shape != (count,):
            raise MaskError(f"a boolean selection needs {count} entries, got shape {index.shape}")
        return np.flatnonzero(index)
    index = index.astype(np.int64).reshape(-1)
    if len(index) and not (-count <= index.min() and index.max() < count):
        raise IndexError(f"rows must lie in 0..{count - 1}, got {index.min()}..{index.max()}")
    return np.where(index < 0, index + count, index)


def checked_size(name: str, size: Size) -> Size:
    """The size as two ints; raises `MaskError` unless both are from 1 to 2 ** 20."""
    if len(size) != 2 or not all(1 <= side <= MAX_SIDE for side in size):
        raise MaskError(
            f"{name} must be (height, width), each from 1 to {MAX_SIDE}, got {tuple(size)}"
        )
    return int(size[0]), int(size[1])


def _first_reader(source: int, target: int) -> npt.NDArray[np.int64]:
    import cv2

    # Asking OpenCV for the rule keeps its rounding, which masks resized elsewhere have too.
    ramp = np.arange(source, dtype=np.int32)[None]
    read = cv2.resize(ramp, (target, 1), interpolation=cv2.INTER_NEAREST)[0]
    return np.searchsorted(read, np.arange(source + 1))


def _clip(
    runs: npt.NDArray[np.integer], splits: npt.NDArray[np.int64], size: Size
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    height, width = size
    tops, bottoms = np.clip(runs[1], 0, height), np.clip(runs[2], 0, height)
    kept = (runs[0] >= 0) & (runs[0] < width) & (bottoms > tops)
    sizes = np.bincount(mask_of_runs(splits)[kept], minlength=len(splits) - 1)
    clipped = np.stack([runs[0], tops, bottoms])[:, kept].astype(np.int32)
    return clipped, splits_of_sizes(sizes)
