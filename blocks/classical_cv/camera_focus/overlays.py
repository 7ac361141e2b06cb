"""What Camera Focus draws over an image. Each function returns a new image; none measures focus.

All images are (h, w, 3) BGR uint8.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

ZEBRA_PERIOD = 16
ZEBRA_OPACITY = 0.5
UNDEREXPOSED_BGR = (255, 0, 0)
OVEREXPOSED_BGR = (0, 0, 255)
PEAKING_BGR = (0, 255, 0)
PEAKING_OPACITY = 0.6
# A pixel is in focus when its measure, on a scale of 0..255 up to the largest one, is above 30 %.
PEAKING_LEVEL = 76
GRID_BGR = (128, 128, 128)
WHITE = (255, 255, 255)
FONT = cv2.FONT_HERSHEY_SIMPLEX
PANEL_OPACITY = 0.7
PANEL_BORDER_BGR = (80, 80, 80)
CHANNELS_BGR = ((255, 0, 0), (0, 255, 0), (0, 0, 255))


def draw_zebra(image: np.ndarray, gray: np.ndarray, darkest: int, brightest: int) -> np.ndarray:
    """Diagonal stripes, blue where `gray < darkest` and red where `gray > brightest`."""
    rows, columns = np.ogrid[: gray.shape[0], : gray.shape[1]]
    stripes = (rows + columns) % ZEBRA_PERIOD < ZEBRA_PERIOD // 2
    result = _tint(image, (gray < darkest) & stripes, UNDEREXPOSED_BGR, ZEBRA_OPACITY)
    return _tint(result, (gray > brightest) & stripes, OVEREXPOSED_BGR, ZEBRA_OPACITY)


def draw_focus_peaking(image: np.ndarray, measure: np.ndarray) -> np.ndarray:
    """Green over the sharpest places; `measure` is (h, w)."""
    largest = float(measure.max())
    if largest == 0:
        return image
    # floor(255 m / largest) > level, without an array of the quotients.
    return _tint(
        image, measure >= (PEAKING_LEVEL + 1) * largest / 255, PEAKING_BGR, PEAKING_OPACITY
    )


def draw_center_marker(image: np.ndarray) -> np.ndarray:
    """A white cross in the middle."""
    result = image.copy()
    height, width = image.shape[:2]
    scale = _drawing_scale(image)
    arm, thickness = int(20 * scale), max(1, int(1.6 * scale))
    x, y = width // 2, height // 2
    cv2.line(result, (x - arm, y), (x + arm, y), WHITE, thickness)
    cv2.line(result, (x, y - arm), (x, y + arm), WHITE, thickness)
    return result


def draw_grid(image: np.ndarray, divisions: int) -> np.ndarray:
    """Gray lines that part the image into `divisions` columns and rows."""
    result = image.copy()
    height, width = image.shape[:2]
    for part in range(1, divisions):
        x, y = width * part // divisions, height * part // divisions
        cv2.line(result, (x, 0), (x, height), GRID_BGR, 1)
        cv2.line(result, (0, y), (width, y), GRID_BGR, 1)
    return result


def draw_panel(
    image: np.ndarray, focus_value: float, original: np.ndarray, gray: np.ndarray
) -> np.ndarray:
    """A panel, top left, with the focus value and the histograms of `original` and `gray`."""
    scale = _drawing_scale(image)
    layout = _PanelLayout.for_texts(scale, f"{focus_value:.1f}")
    result = image.copy()
    _darken(result, layout)
    thickness = max(1, int(1.6 * scale))
    for text in layout.texts:
        cv2.putText(result, text.content, text.at, FONT, text.size, (0, 0, 0), thickness + 2)
        cv2.putText(result, text.content, text.at, FONT, text.size, WHITE, thickness)
    x, y = layout.histogram_at
    width, height = layout.histogram_wh
    cv2.rectangle(result, (x, y), (x + width - 1, y + height - 1), (0, 0, 0), -1)
    curves = [(gray, 0, WHITE)]
    if original.ndim == 3 and original.shape[2] >= 3:
        curves = [(original, i, color) for i, color in enumerate(CHANNELS_BGR)] + curves
    for source, channel, color in curves:
        counts = cv2.calcHist([source], [channel], None, [256], [0, 256]).ravel()
        tops = y + height - 1 - (counts / counts.max() * (height - 1)).astype(np.int32)
        lefts = np.linspace(x, x + width - 1, len(counts)).astype(np.int32)
        curve = np.stack([lefts, tops], axis=1)
        cv2.polylines(result, [curve], False, color, thickness)
    return result


@dataclass(frozen=True, slots=True)
class _Text:
    content: str
    at: tuple[int, int]
    size: float


@dataclass(frozen=True, slots=True)
class _PanelLayout:
    """Places of the panel's parts, px; `box` is x, y, width, height."""

    box: tuple[int, int, int, int]
    texts: tuple[_Text, ...]
    histogram_at: tuple[int, int]
    histogram_wh: tuple[int, int]

    @classmethod
    def for_texts(cls, scale: float, value: str) -> _PanelLayout:
        """Layout of a panel showing `value`; at scale 1 it suits an image of 720 px."""
        margin, padding, gap = int(12 * scale), int(14 * scale), int(12 * scale)
        histogram_wh = (max(2, int(180 * scale)), max(2, int(50 * scale)))
        large, small = 0.5 * scale, 0.4 * scale
        thickness = max(1, int(1.6 * scale))
        (label_width, label_height), _ = cv2.getTextSize("TFM Focus", FONT, large, thickness)
        (value_width, _), _ = cv2.getTextSize(value, FONT, large, thickness)
        (_, caption_height), _ = cv2.getTextSize("Exposure", FONT, small, thickness)
        content_width = max(label_width + int(20 * scale) + value_width, histogram_wh[0])
        left = margin + padding
        first_line = margin + padding + label_height
        second_line = first_line + gap + caption_height
        histogram_y = second_line + int(6 * scale)
        return cls(
            box=(
                margin,
                margin,
                content_width + 2 * padding,
                histogram_y + histogram_wh[1] + padding - margin,
            ),
            texts=(
                _Text("TFM Focus", (left, first_line), large),
                _Text(value, (left + content_width - value_width, first_line), large),
                _Text("Exposure", (left, second_line), small),
            ),
            histogram_at=(left, histogram_y),
            histogram_wh=histogram_wh,
        )


def _darken(image: np.ndarray, layout: _PanelLayout) -> None:
    x, y, width, height = layout.box
    under = image[y : y + height, x : x + width]
    under[:] = (under * (1 - PANEL_OPACITY)).astype(np.uint8)
    cv2.rectangle(image, (x, y), (x + width, y + height), PANEL_BORDER_BGR, 1)


def _drawing_scale(image: np.ndarray) -> float:
    return max(0.4, min(min(image.shape[:2]) / 720, 2.5))


def _tint(
    image: np.ndarray, where: np.ndarray, color: tuple[int, int, int], opacity: float
) -> np.ndarray:
    result = image.copy()
    result[where] = (image[where] * (1 - opacity) + np.array(color) * opacity).astype(np.uint8)
    return result
