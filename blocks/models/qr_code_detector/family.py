"""Finding and reading QR codes with OpenCV. Knows no manifest and no version."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from blocks.classical_cv.channels import to_gray
from blocks.models.read_codes import ReadCode, distinct_codes

CLASS_NAME = "qr_code"


def read_qr_codes(pixels: np.ndarray) -> list[ReadCode]:
    """The QR codes of an image that can be read, from top to bottom.

    A code that is found but not read is left out: it has no text, and textures are often taken for
    one.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
    """
    gray = to_gray(pixels)
    return distinct_codes(_readings(gray), (gray.shape[0], gray.shape[1]))


def _readings(gray: np.ndarray) -> Iterator[ReadCode]:
    # The two find the marks in the corners in different ways; each reads codes the other misses.
    for detector in (cv2.QRCodeDetectorAruco(), cv2.QRCodeDetector()):
        _, texts, corners, _ = detector.detectAndDecodeBytesMulti(gray)
        for data, quadrilateral in zip(texts, () if corners is None else corners, strict=True):
            if data:
                yield ReadCode.of_corners(text_of(data), quadrilateral)


def text_of(data: bytes) -> str:
    """The content of a QR code as text: UTF-8 where it is that, kanji mode, or ISO-8859-1, which
    is the standard's own.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    # In kanji mode every character is two bytes of Shift JIS; what follows the first is checked
    # by the decoder.
    leads = data[::2]
    if len(data) % 2 == 0 and all(0x81 <= b <= 0x9F or 0xE0 <= b <= 0xEB for b in leads):
        try:
            return data.decode("shift_jis")
        except UnicodeDecodeError:
            pass
    return data.decode("iso-8859-1")
