"""Directions in which text is read, and boxes as seen along them. Groups nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes
from blocks.kinds.detections.lineage import class_names_from_ids
from blocks.parameters import choice

if TYPE_CHECKING:
    import supervision as sv

Direction = Literal[
    "left_to_right",
    "right_to_left",
    "vertical_top_to_bottom",
    "vertical_bottom_to_top",
    "auto",
]
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Reading:
    """A direction of reading.

    Attributes:
        is_vertical: whether lines are columns.
        is_backward: whether a line is read from its far end.
        from_last_line: whether the line with the largest coordinate is read first.
    """

    is_vertical: bool
    is_backward: bool
    from_last_line: bool

    def joined(self, lines: list[str]) -> str:
        """The text of lines that are given by their place."""
        ordered = lines[::-1] if self.from_last_line else lines
        return (" " if self.is_vertical else "\n").join(ordered)


READINGS: Mapping[str, Reading] = {
    "left_to_right": Reading(False, False, False),
    "right_to_left": Reading(False, True, False),
    "vertical_top_to_bottom": Reading(True, False, False),
    "vertical_bottom_to_top": Reading(True, True, True),
}


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Pieces of text along a direction, n of them.

    Attributes:
        texts: what they say.
        along: (n, 2) where each begins and ends along its line, growing as the text is read, px.
        across: (n, 2) from where to where it reaches across the lines, px.
    """

    texts: list[str]
    along: NDArray[np.float64]
    across: NDArray[np.float64]


def reading_of(direction: str, detections: sv.Detections) -> Reading:
    """The direction of a text; `auto` takes columns for lines unless boxes are wider than high, in
    the mean.

    Raises:
        InvalidFieldValueError: the direction is not known.
    """
    if direction != AUTO:
        return choice("reading_direction", direction, READINGS)
    boxes = as_boxes(detections.xyxy)
    width, height = (boxes[:, 2:] - boxes[:, :2]).sum(axis=0)
    tall = len(boxes) > 0 and width <= height
    return READINGS["vertical_top_to_bottom" if tall else "left_to_right"]


def glyphs_of(detections: sv.Detections, reading: Reading) -> Glyphs:
    """Detections as pieces of text, in their order."""
    boxes = as_boxes(detections.xyxy)
    columns, rows = boxes[:, [0, 2]], boxes[:, [1, 3]]
    along, across = (rows, columns) if reading.is_vertical else (columns, rows)
    names = detections.data.get(keys.CLASS_NAME)
    if names is None:
        names = class_names_from_ids(detections.class_id, len(boxes))
    return Glyphs(
        [str(name) for name in names],
        -along[:, ::-1] if reading.is_backward else along,
        across,
    )
