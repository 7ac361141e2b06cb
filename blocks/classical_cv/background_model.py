"""What is background in a video: a model for each video that learns from its frames.

What a block makes of the foreground belongs to the block. Maths: adaptive Gaussian mixtures
(Zivkovic 2004), as OpenCV has them.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr
from blocks.parameters import whole_number

MOST_VIDEOS = 16
"""Videos whose background is kept: it takes 200 MB for a video in Full HD."""
LONGEST_HISTORY = 1_000_000
LARGEST_THRESHOLD = 1_000_000


class BackgroundModel:
    """The background of one video; foreground is what does not fit it.

    A model is not to be used by two threads at once: hold `lock` around a frame.

    Attributes:
        lock: for the caller, who may keep more state with the model.
        frames: frames the model has learned from since it began anew.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.frames = 0
        self._mixture: Any = None
        self._shape: tuple[int, ...] = ()

    def foreground_of(self, pixels: np.ndarray, threshold: int, history: int) -> np.ndarray:
        """(h, w) uint8, 255 where the frame does not fit the background and 0 elsewhere.

        The model then learns from the frame. Its first frame is foreground throughout, and so is
        the first of another size: the model begins anew.

        Args:
            pixels: (h, w, 3) BGR or (h, w) uint8.
            threshold: squared distance, in variances, from which a pixel does not fit.
            history: frames that count for the background.

        Raises:
            InvalidFieldValueError: `threshold` or `history` is no whole number in its range.
        """
        limit = whole_number("threshold", threshold, 0, LARGEST_THRESHOLD)
        length = whole_number("history", history, 1, LONGEST_HISTORY)
        frame = pixels if pixels.ndim == 2 else to_bgr(pixels)
        if self._mixture is None or self._shape != frame.shape:
            self._mixture = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
            self._shape, self.frames = frame.shape, 0
        self._mixture.setHistory(length)
        self._mixture.setVarThreshold(limit)
        self.frames += 1
        foreground: np.ndarray = self._mixture.apply(frame)
        if self.frames == 1:
            # How OpenCV marks a frame that it has nothing to compare with differs by release.
            foreground[:] = 255
        return foreground
