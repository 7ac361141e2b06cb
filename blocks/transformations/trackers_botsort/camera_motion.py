"""`CameraMotion`: how the camera moved between two frames of one video. Tracks nothing.

What does not move by itself fills most of a picture, so the motion that most of the picture shares
is that of the camera (BoT-SORT, Aharon et al. 2022, section 3.2; ECC: Evangelidis and Psarakis
2008, "Parametric Image Alignment Using Enhanced Correlation Coefficient Maximization").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.classical_cv.channels import to_gray

Method = Literal["orb", "sift", "sparseOptFlow", "ecc"]
Gray = NDArray[np.uint8]
Floats = NDArray[np.float64]
# Places in the frame before and in this one, (k, 2) x, y each.
_Places = tuple[NDArray[np.float32], NDArray[np.float32]]

_MOST_CORNERS = 1000
# Fewer common places than that tell no motion.
_FEWEST_PLACES = 10
# Share of the places that must move alike, lest chance makes a motion.
_LEAST_AGREEMENT = 0.3
_SMALLEST_SIDE = 16
_ECC_STEPS = 100
_ECC_ENOUGH = 1e-5
# Frames that are less alike after the motion show other places.
_LEAST_CORRELATION = 0.5
# Half of what OpenCV asks of a corner, so that misty pictures have some.
_ORB_CONTRAST = 10
# Lowe's ratio: how much better the best partner must be than the second.
_RATIO = 0.75
# No camera zooms more than that from one frame to the next.
_STRONGEST_ZOOM = 3.0


class CameraMotion:
    """The last frame of a video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._last: tuple[Gray, Gray] | None = None
        self._last_size: tuple[tuple[int, ...], int] | None = None

    def to_frame(self, pixels: np.ndarray, boxes: Floats, method: Method, downscale: int) -> Floats:
        """Takes in the next frame; the motion since the last one.

        Args:
            pixels: (h, w, 3) BGR or (h, w) gray, uint8; not changed.
            boxes: (n, 4) xyxy, px, of objects that may move by themselves; what is in them is left
                out, except by `ecc`, which looks at all pixels.
            method: how places of both frames are found.
            downscale: how many times smaller the frames are looked at.

        Returns:
            (2, 3) affine (turn, shift and, except by `ecc`, zoom) that carries places, px, of the
            last frame to this one. No motion when there was no such frame, its size was another,
            or the frames have too little in common.
        """
        gray = _smaller(to_gray(pixels), downscale)
        background = _background(gray.shape, boxes, pixels.shape)
        last, last_size = self._last, self._last_size
        self._last = (gray, background)
        self._last_size = (pixels.shape[:2], downscale)
        if last is None or last_size != self._last_size or min(gray.shape) < _SMALLEST_SIDE:
            return _no_motion()
        if method == "ecc":
            motion = _aligned(last[0], gray)
        else:
            motion = _common_motion(_PLACES[method](*last, gray, background))
        if motion is None or not _is_likely(motion):
            return _no_motion()
        return _scaled_up(motion, gray.shape, pixels.shape)


def _no_motion() -> Floats:
    return np.eye(2, 3)


def _smaller(gray: Gray, downscale: int) -> Gray:
    height, width = gray.shape
    size = (max(width // downscale, 1), max(height // downscale, 1))
    if size == (width, height):
        return gray.copy()
    return np.asarray(cv2.resize(gray, size, interpolation=cv2.INTER_AREA), np.uint8)


def _background(shape: tuple[int, ...], boxes: Floats, full_shape: tuple[int, ...]) -> Gray:
    mask = np.full(shape, 255, np.uint8)
    share = np.array([shape[1] / full_shape[1], shape[0] / full_shape[0]] * 2)
    limits = np.array([shape[1], shape[0]] * 2)
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    for left, top, right, bottom in np.clip(boxes * share, 0, limits):
        mask[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = 0
    return mask


def _flow_places(last: Gray, last_background: Gray, gray: Gray, background: Gray) -> _Places:
    """Corners of the last frame and where the pixels around them went."""
    corners = cv2.goodFeaturesToTrack(
        last, _MOST_CORNERS, qualityLevel=0.01, minDistance=3, mask=last_background, blockSize=3
    )
    if corners is None or len(corners) < _FEWEST_PLACES:
        return _nowhere()
    moved, found, _ = cv2.calcOpticalFlowPyrLK(last, gray, corners, np.empty_like(corners))
    places = np.asarray(moved, np.float32).reshape(-1, 2)
    height, width = gray.shape
    inside = ((places >= 0) & (places < [width, height])).all(axis=1)
    kept = inside & (found.reshape(-1) > 0)
    kept[kept] = background[tuple(places[kept].astype(int).T[::-1])] > 0
    return np.asarray(corners, np.float32).reshape(-1, 2)[kept], places[kept]


def _described_places(
    make: Callable[[], cv2.Feature2D], norm: int
) -> Callable[[Gray, Gray, Gray, Gray], _Places]:
    """Places of both frames that look the same to a kind of features."""

    def places(last: Gray, last_background: Gray, gray: Gray, background: Gray) -> _Places:
        features = make()
        before, before_looks = features.detectAndCompute(last, last_background)
        after, after_looks = features.detectAndCompute(gray, background)
        if min(len(before), len(after)) < _FEWEST_PLACES:
            return _nowhere()
        pairs = [
            best
            for best, *others in cv2.BFMatcher(norm).knnMatch(before_looks, after_looks, k=2)
            if others and best.distance < _RATIO * others[0].distance
        ]
        return (
            np.array([before[pair.queryIdx].pt for pair in pairs], np.float32).reshape(-1, 2),
            np.array([after[pair.trainIdx].pt for pair in pairs], np.float32).reshape(-1, 2),
        )

    return places


def _orb() -> cv2.Feature2D:
    return cv2.ORB.create(_MOST_CORNERS, fastThreshold=_ORB_CONTRAST)


def _sift() -> cv2.Feature2D:
    return cv2.SIFT.create(_MOST_CORNERS)


_PLACES: Mapping[str, Callable[[Gray, Gray, Gray, Gray], _Places]] = MappingProxyType(
    {
        "sparseOptFlow": _flow_places,
        "orb": _described_places(_orb, cv2.NORM_HAMMING),
        "sift": _described_places(_sift, cv2.NORM_L2),
    }
)


def _nowhere() -> _Places:
    return np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32)


def _common_motion(places: _Places) -> Floats | None:
    before, after = places
    if len(before) < _FEWEST_PLACES:
        return None
    motion, agree = cv2.estimateAffinePartial2D(before, after, method=cv2.RANSAC)
    if motion is None or np.mean(agree) < _LEAST_AGREEMENT:
        return None
    return np.asarray(motion, np.float64)


def _aligned(last: Gray, gray: Gray) -> Floats | None:
    """The turn and shift under which two frames look the same everywhere."""
    enough = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, _ECC_STEPS, _ECC_ENOUGH)
    motion = np.eye(2, 3, dtype=np.float32)
    try:
        alike, _ = cv2.findTransformECC(last, gray, motion, cv2.MOTION_EUCLIDEAN, enough)
    except cv2.error:  # frames without structure or with nothing in common
        return None
    return motion.astype(np.float64) if alike >= _LEAST_CORRELATION else None


def _is_likely(motion: Floats) -> bool:
    if not np.isfinite(motion).all():
        return False
    zoom = float(np.sqrt(abs(np.linalg.det(motion[:, :2]))))
    return 1 / _STRONGEST_ZOOM <= zoom <= _STRONGEST_ZOOM


def _scaled_up(motion: Floats, shape: tuple[int, ...], full_shape: tuple[int, ...]) -> Floats:
    """A motion of pixels of a smaller picture as one of places in the full picture, px."""
    factors = np.array([full_shape[1] / shape[1], full_shape[0] / shape[0]])
    turned = motion[:, :2]
    # OpenCV counts from the centre of the first pixel, boxes from its corner.
    shift = motion[:, 2] + 0.5 - turned @ [0.5, 0.5]
    return np.column_stack([turned * factors[:, None] / factors, shift * factors])
