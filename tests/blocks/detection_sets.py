"""Detections for tests of blocks: on an image, with masks in every form. Tests nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import cv2
import numpy as np
import supervision as sv

from blocks.kinds.detections import attach_lineage
from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.rle import rles_from_compact
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData

MaskForm = Literal["none", "dense", "compact", "rle", "both"]
MASK_FORMS: tuple[MaskForm, ...] = ("none", "dense", "compact", "rle", "both")
WITH_MASKS: tuple[MaskForm, ...] = ("dense", "compact", "rle", "both")


def an_image(
    size: tuple[int, int] = (60, 90), name: str = "image", channels: int = 3
) -> WorkflowImageData:
    """An image of random pixels; `size` is (height, width)."""
    shape = (*size, 3) if channels == 3 else size
    pixels = np.random.default_rng(5).integers(0, 256, shape).astype(np.uint8)
    return WorkflowImageData(ImageParentMetadata(name), numpy_image=pixels)


def a_crop(
    image: WorkflowImageData, box: tuple[int, int, int, int], name: str = "crop"
) -> WorkflowImageData:
    """The part left, top, right, bottom (exclusive) of an image."""
    left, top, right, bottom = box
    pixels = image.numpy_image[top:bottom, left:right]
    return WorkflowImageData.create_crop(image, name, pixels, left, top)


def box_masks(boxes: Any, size: tuple[int, int]) -> np.ndarray:
    """(n, h, w) the pixels from the rounded left upper up to the rounded right lower corner."""
    masks = np.zeros((len(boxes), *size), dtype=bool)
    for mask, (left, top, right, bottom) in zip(masks, np.round(boxes).astype(int), strict=True):
        mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return masks


def ellipses(count: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    """(count, height, width) bool: ellipses that may touch or cross the border."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((count, height, width), np.uint8)
    for mask in masks:
        centre = (int(rng.integers(0, width)), int(rng.integers(0, height)))
        axes = (int(rng.integers(2, width // 3 + 3)), int(rng.integers(2, height // 3 + 3)))
        cv2.ellipse(mask, centre, axes, float(rng.integers(0, 180)), 0, 360, 1, -1)
    return masks.astype(bool)


def some(
    boxes: Sequence[Sequence[float]],
    image: WorkflowImageData | None = None,
    names: Sequence[str] | None = None,
    scores: Sequence[float] | None = None,
    ids: Sequence[str] | None = None,
    masks: np.ndarray | None = None,
    form: MaskForm = "none",
    **data: Any,
) -> sv.Detections:
    """Detections with class names, ids of classes by sorted name, and detection ids.

    Args:
        boxes: xyxy px.
        image: the image they are made on; without it they know no image.
        names: class names, "a" for all when None.
        scores: confidences, falling from 0.9 when None.
        ids: detection ids, "d0", "d1", ... when None.
        masks: (n, h, w), those of the boxes when None and `form` asks for masks.
        form: how masks are carried.
        data: further columns.
    """
    count = len(boxes)
    names = list(names or ["a"] * count)
    known = sorted(set(names))
    corners = np.array(boxes, dtype=np.float32).reshape(-1, 4)
    columns: dict[str, Any] = {
        "class_name": np.array(names, dtype=str),
        "detection_id": np.array(ids or [f"d{row}" for row in range(count)], dtype=str),
        **data,
    }
    mask: Any = None
    if form != "none":
        size = image.size if image is not None else masks.shape[1:]  # type: ignore[union-attr]
        dense = box_masks(corners, size) if masks is None else masks
        compact = compact_from_dense(dense)
        mask = {"dense": dense, "rle": None}.get(form, compact)
        if form in ("rle", "both"):
            column = np.empty(count, dtype=object)
            column[:] = rles_from_compact(compact)
            columns["rle_mask"] = column
    detections = sv.Detections(
        xyxy=corners,
        mask=mask,
        confidence=np.array(
            0.9 - 0.01 * np.arange(count) if scores is None else scores, dtype=np.float32
        ),
        class_id=np.array([known.index(name) for name in names], dtype=np.int64),
        data=columns,
    )
    if image is None:
        return detections
    kind = "object-detection" if form == "none" else "instance-segmentation"
    return attach_lineage(detections, image, kind)


def dense_masks(detections: sv.Detections) -> np.ndarray:
    """(n, h, w) bool masks of detections, from `mask`, else from the RLE."""
    if detections.mask is not None:
        return np.asarray(detections.mask)
    from pycocotools import mask as coco

    codes = [
        {"size": rle["size"], "counts": rle["counts"].encode("ascii")}
        for rle in detections.data["rle_mask"]
    ]
    return np.stack([coco.decode(code) for code in codes]).astype(bool)


def rle_masks(detections: sv.Detections) -> np.ndarray:
    """(n, h, w) bool masks of the RLE column."""
    bare = sv.Detections(xyxy=detections.xyxy, data={"rle_mask": detections.data["rle_mask"]})
    return dense_masks(bare)
