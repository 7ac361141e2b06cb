"""Printed codes that were read, as detections: what QR code and barcode detectors share. Reads no
code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import AliasChoices, Field

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import attach_lineage
from execution_engine.block_api import Selector, WorkflowBlockManifest, WorkflowImageData
from execution_engine.kinds.catalogue import IMAGE_KIND

if TYPE_CHECKING:
    import supervision as sv

# Readings of different texts whose boxes overlap more are readings of one code.
SAME_PLACE_IOU = 0.5


class CodeDetectorManifest(WorkflowBlockManifest):
    """The fields of both."""

    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The images to look at, colour (BGR) or single-channel.",
        examples=["$inputs.image", "$steps.crop.crops"],
        validation_alias=AliasChoices("images", "image"),
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        """The block gets all images of a batch in one call."""
        return ["images"]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class ReadCode(NamedTuple):
    """A code that was read; the box is upright and holds all of its corners, px."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float

    @classmethod
    def of_corners(cls, text: str, corners: np.ndarray) -> ReadCode:
        """A code with its corners (4, 2) in px, in any order."""
        left, top = np.asarray(corners, np.float64).reshape(-1, 2).min(axis=0).tolist()
        right, bottom = np.asarray(corners, np.float64).reshape(-1, 2).max(axis=0).tolist()
        return cls(text, left, top, right, bottom)


def distinct_codes(codes: Iterable[ReadCode], image_size: tuple[int, int]) -> list[ReadCode]:
    """Each code once, from top to bottom.

    Readings of one text whose boxes overlap are parts of one code; of two texts for one place the
    first stays.

    Args:
        codes: readings, of which several may be of one code.
        image_size: (height, width); boxes are clipped to it, px.
    """
    height, width = image_size
    kept: list[ReadCode] = []
    for text, x0, y0, x1, y1 in codes:
        left, right = np.clip((x0, x1), 0, width).tolist()
        top, bottom = np.clip((y0, y1), 0, height).tolist()
        code = ReadCode(text, left, top, right, bottom)
        if any(o.text != text and _iou(code, o) > SAME_PLACE_IOU for o in kept):
            continue
        while parts := [o for o in kept if o.text == text and overlap(code, o)]:
            kept = [other for other in kept if other not in parts]
            code = _around([code, *parts])
        kept.append(code)
    return sorted(kept, key=lambda code: (code.y0, code.x0, code.text))


def overlap(one: ReadCode, other: ReadCode) -> bool:
    """Whether the boxes of two codes share any area."""
    return _iou(one, other) > 0


def as_detections(
    codes: Sequence[ReadCode], image: WorkflowImageData, class_name: str, prediction_type: str
) -> sv.Detections:
    """One row a code, class 0, confidence 1, with its text in the column `data`."""
    import supervision as sv

    count = len(codes)
    rows = sv.Detections(
        xyxy=np.array([code[1:] for code in codes], np.float32).reshape(-1, 4),
        confidence=np.ones(count, np.float32),
        class_id=np.zeros(count, np.int64),
        data={
            keys.CLASS_NAME: np.full(count, class_name),
            keys.DECODED_TEXT: np.array([code.text for code in codes], dtype=str),
        },
    )
    return attach_lineage(rows, image, prediction_type=prediction_type)


def _around(codes: Sequence[ReadCode]) -> ReadCode:
    left, top = min(code.x0 for code in codes), min(code.y0 for code in codes)
    right, bottom = max(code.x1 for code in codes), max(code.y1 for code in codes)
    return ReadCode(codes[0].text, left, top, right, bottom)


def _iou(one: ReadCode, other: ReadCode) -> float:
    shared_x = min(one.x1, other.x1) - max(one.x0, other.x0)
    shared_y = min(one.y1, other.y1) - max(one.y0, other.y0)
    if shared_x <= 0 or shared_y <= 0:
        return 0.0
    shared = shared_x * shared_y
    areas = sum((code.x1 - code.x0) * (code.y1 - code.y0) for code in (one, other))
    return shared / (areas - shared)
