"""Finding and reading barcodes. Knows no manifest and no version."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from blocks.classical_cv.channels import to_gray
from blocks.models.barcode_detector.scanning import scan
from blocks.models.read_codes import ReadCode, distinct_codes, overlap

CLASS_NAME = "barcode"


def read_barcodes(pixels: np.ndarray) -> list[ReadCode]:
    """The barcodes of an image that can be read, from top to bottom.

    EAN-13, EAN-8, UPC-A (12 digits), Code 128 and Code 39 in any direction.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
    """
    gray = to_gray(pixels)
    size = (gray.shape[0], gray.shape[1])
    codes = distinct_codes(scan(gray), size)
    # The boxes of OpenCV are wider than the codes, so it is heard only where there is none.
    others = (code for code in _read_by_opencv(gray) if not any(overlap(code, c) for c in codes))
    return distinct_codes([*codes, *others], size)


def _read_by_opencv(gray: np.ndarray) -> Iterator[ReadCode]:
    """EAN and UPC codes, among them some that are too blurred for single lines."""
    _, texts, corners, _ = cv2.barcode.BarcodeDetector().detectAndDecodeMulti(gray)
    for text, quadrilateral in zip(texts, () if corners is None else corners, strict=True):
        if text:
            yield ReadCode.of_corners(text, quadrilateral)
