"""Taking the distortion of a lens out of images. Knows no manifest.

Maths: the pinhole camera with radial and tangential distortion (Brown-Conrady) as OpenCV has it,
and for fisheye lenses the division model (Fitzgibbon 2001): a point at radius s on the sensor, in
focal lengths, belongs at s / (1 + k1 s^2 + k2 s^4 + k3 s^6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.parameters import MOST_PIXELS_ACROSS, number
from execution_engine.errors import InvalidFieldValueError

SMALLEST_FOCAL_LENGTH = 1e-3
FARTHEST = 1e6
"""Largest focal length and distance of the centre from the corner of the image, px."""
LARGEST_COEFFICIENT = 1e6
_OUTSIDE = -1e4
_RADII = 1 << 16

Maps = tuple[NDArray[Any], NDArray[Any]]
"""Where each new pixel comes from, in the form that `cv2.remap` is fastest with."""


class Camera(NamedTuple):
    """A lens: focal lengths and centre in px, distortion without unit."""

    fx: float
    fy: float
    cx: float
    cy: float
    k1: float
    k2: float
    k3: float
    p1: float
    p2: float

    @property
    def matrix(self) -> NDArray[np.float64]:
        """(3, 3) camera matrix."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]], np.float64)


def camera_of(**fields: Any) -> Camera:
    """The camera that fields of a step describe; no value for a coefficient counts as 0.

    Raises:
        InvalidFieldValueError: a focal length or the centre is missing, or a number is out of
            range.
    """
    for name in ("fx", "fy", "cx", "cy"):
        if fields[name] is None:
            raise InvalidFieldValueError(f"Field `{name}` must be a number of px, got None.")
    return Camera(
        **{name: number(name, fields[name], SMALLEST_FOCAL_LENGTH, FARTHEST)
           for name in ("fx", "fy")},
        **{name: number(name, fields[name], -FARTHEST, FARTHEST) for name in ("cx", "cy")},
        **{name: number(name, 0 if fields[name] is None else fields[name],
                        -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
           for name in ("k1", "k2", "k3", "p1", "p2")},
    )  # fmt: skip


def check_size(height: int, width: int) -> None:
    """Refuses what OpenCV cannot warp.

    Raises:
        InvalidFieldValueError: a side is too long.
    """
    if max(height, width) > MOST_PIXELS_ACROSS:
        raise InvalidFieldValueError(
            f"Field `image` must be an image of at most {MOST_PIXELS_ACROSS} px a side, got "
            f"{width} x {height} px."
        )


def pinhole_maps(camera: Camera, height: int, width: int) -> Maps:
    """Maps that straighten an image and keep all of its pixels in view; the rest is black."""
    coefficients = np.array([camera.k1, camera.k2, camera.p1, camera.p2, camera.k3])
    size = (width, height)
    matrix, _ = cv2.getOptimalNewCameraMatrix(camera.matrix, coefficients, size, 1.0, size)
    # Distortion beyond what a lens can do has no view that holds all pixels.
    if not np.isfinite(matrix).all() or min(matrix[0, 0], matrix[1, 1]) <= 0:
        matrix = camera.matrix
    return cv2.initUndistortRectifyMap(
        camera.matrix, coefficients, None, matrix, size, cv2.CV_16SC2
    )


def fisheye_maps(camera: Camera, height: int, width: int) -> Maps:
    """Maps that straighten an image of a fisheye lens, with the camera matrix as it is."""
    x = (np.arange(width) - camera.cx) / camera.fx
    y = (np.arange(height) - camera.cy) / camera.fy
    radii = np.sqrt(x[None, :] ** 2 + y[:, None] ** 2)
    factors = _outward(radii, camera)
    columns = x[None, :] * factors * camera.fx + camera.cx
    rows = y[:, None] * factors * camera.fy + camera.cy
    sampled = []
    for places, length in ((columns, width), (rows, height)):
        inside = (places > -1) & (places < length)
        sampled.append(np.where(inside, places, _OUTSIDE).astype(np.float32))
    return cv2.convertMaps(sampled[0], sampled[1], cv2.CV_16SC2)


def _outward(radii: NDArray[np.float64], camera: Camera) -> NDArray[np.float64]:
    """What to multiply straight radii with to come to those on the sensor; NaN where there is none.

    The model is tabulated over the radii of the image, as far as it rises, and read backwards.
    """
    farthest = float(radii.max())
    sensor = np.linspace(0, farthest, _RADII)
    squared = sensor**2
    bottom = 1 + squared * (camera.k1 + squared * (camera.k2 + squared * camera.k3))
    positive = _run_of_true(bottom > 0)
    sensor, bottom = sensor[:positive], bottom[:positive]
    straight = sensor / bottom
    rising = 1 + _run_of_true(np.diff(straight) > 0)
    found = np.interp(radii, straight[:rising], sensor[:rising], right=np.nan)
    return np.divide(found, radii, out=np.ones_like(radii), where=radii > 0)


def _run_of_true(flags: NDArray[np.bool_]) -> int:
    """How many are true before the first false one."""
    wrong = np.flatnonzero(~flags)
    return int(wrong[0]) if len(wrong) else len(flags)
