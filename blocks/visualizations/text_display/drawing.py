"""Draws a block of text on pixels: its size, place and look. Knows no manifests."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from blocks.visualizations.colour_text import Bgr
from blocks.visualizations.drawn_text import drawable_text

FONT = cv2.FONT_HERSHEY_SIMPLEX
TAB = "    "
# Part of a line's height that stays free between two lines.
LINE_GAP = 0.3

_HORIZONTAL = {"left": 0.0, "center": 0.5, "right": 1.0}
_VERTICAL = {"top": 0.0, "center": 0.5, "bottom": 1.0}


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a block of text looks.

    Attributes:
        colour: of the letters, BGR.
        background: of the box behind the text, BGR; None for no box.
        opacity: of the box, 0 to 1.
        font_scale: size of the letters relative to the font's own.
        thickness: of the strokes, px.
        padding: between text and edge of the box, px.
        align: `left`, `center` or `right` for lines shorter than the longest.
        border_radius: of the corners of the box, px.
    """

    colour: Bgr
    background: Bgr | None
    opacity: float
    font_scale: float
    thickness: int
    padding: int
    align: str
    border_radius: int


class TextBlock:
    """Lines of text with the size they take up.

    Args:
        text: lines separated by line feeds.
        style: how it looks.

    Attributes:
        size_wh: (width, height) of the box, px.
    """

    def __init__(self, text: str, style: TextStyle) -> None:
        self.lines = drawable_text(text).replace("\r\n", "\n").replace("\t", TAB).split("\n")
        self.style = style
        self._widths = [self._measure(line)[0] for line in self.lines]
        _, self._ascent, self._descent = self._measure("Ag")
        self._line_height = self._ascent + self._descent
        self._gap = round(LINE_GAP * self._line_height)
        count = len(self.lines)
        self.size_wh = (
            max(self._widths) + 2 * style.padding,
            count * self._line_height + (count - 1) * self._gap + 2 * style.padding,
        )

    def draw(self, pixels: np.ndarray, left: int, top: int) -> None:
        """Draws box and text on (h, w, 3) BGR uint8 pixels, in place; what lies outside is cut off.

        Args:
            pixels: where to draw.
            left: left edge of the box, px.
            top: upper edge of the box, px.
        """
        style = self.style
        if style.background is not None:
            _fill_box(pixels, (left, top), self.size_wh, style)
        free = self.size_wh[0] - 2 * style.padding
        baseline = top + style.padding + self._ascent
        for line, width in zip(self.lines, self._widths, strict=True):
            x = left + style.padding + round((free - width) * _HORIZONTAL[style.align])
            cv2.putText(
                pixels, line, (x, baseline), FONT, style.font_scale, style.colour, style.thickness,
                cv2.LINE_AA,
            )  # fmt: skip
            baseline += self._line_height + self._gap

    def _measure(self, line: str) -> tuple[int, int, int]:
        (width, ascent), descent = cv2.getTextSize(
            line, FONT, self.style.font_scale, self.style.thickness
        )
        return width, ascent, descent


def place_in_image(
    image_wh: tuple[int, int], box_wh: tuple[int, int], anchor: str, offset: tuple[int, int]
) -> tuple[int, int]:
    """(left, top) of a box at an anchor of the image, moved as little as needed to lie inside.

    A box larger than the image starts at the image's edge.

    Args:
        image_wh: (width, height) of the image, px.
        box_wh: (width, height) of the box, px.
        anchor: `center`, or vertical and horizontal place such as `top_left` or `center_right`.
        offset: (right, down) from the anchor, px.
    """
    vertical, _, horizontal = anchor.partition("_")
    fractions = (_HORIZONTAL[horizontal or "center"], _VERTICAL[vertical])
    left, top = (
        max(0, min(round((image - box) * fraction) + shift, image - box))
        for image, box, fraction, shift in zip(image_wh, box_wh, fractions, offset, strict=True)
    )
    return left, top


def _fill_box(
    pixels: np.ndarray, left_top: tuple[int, int], size_wh: tuple[int, int], style: TextStyle
) -> None:
    height, width = pixels.shape[:2]
    left, top = left_top
    x_min, x_max = max(left, 0), min(left + size_wh[0], width)
    y_min, y_max = max(top, 0), min(top + size_wh[1], height)
    if x_max <= x_min or y_max <= y_min:
        return
    assert style.background is not None
    area = pixels[y_min:y_max, x_min:x_max]
    # The mask covers the visible part only: a box of huge letters must not take memory.
    mask = np.zeros(area.shape[:2], np.uint8)
    _rounded_rectangle(mask, (left - x_min, top - y_min), size_wh, style.border_radius)
    weight = mask[:, :, None].astype(np.float32) * (style.opacity / 255.0)
    blended = area * (1.0 - weight) + np.array(style.background, np.float32) * weight
    area[:] = np.rint(blended).astype(np.uint8)


def _rounded_rectangle(
    mask: np.ndarray, left_top: tuple[int, int], size_wh: tuple[int, int], radius: int
) -> None:
    left, top = left_top
    right, bottom = left + size_wh[0] - 1, top + size_wh[1] - 1
    radius = min(radius, (size_wh[0] - 1) // 2, (size_wh[1] - 1) // 2)
    if radius < 1:
        cv2.rectangle(mask, (left, top), (right, bottom), 255, cv2.FILLED)
        return
    cv2.rectangle(mask, (left + radius, top), (right - radius, bottom), 255, cv2.FILLED)
    cv2.rectangle(mask, (left, top + radius), (right, bottom - radius), 255, cv2.FILLED)
    for x in (left + radius, right - radius):
        for y in (top + radius, bottom - radius):
            cv2.circle(mask, (x, y), radius, 255, cv2.FILLED, cv2.LINE_AA)
