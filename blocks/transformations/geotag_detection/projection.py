"""Where on the ground the pixels of a camera that looks straight down lie. Knows no detection.

Maths: similar triangles of a pinhole camera over flat ground, then a local tangent plane; a degree
of latitude is taken as 111,320 m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

METRES_PER_DEGREE = 111_320.0
POLE = 90.0
_LEAST_COSINE = 1e-9


@dataclass(frozen=True, slots=True)
class CameraPose:
    """Where a camera is and how it is turned.

    Attributes:
        latitude: degrees, -90..90.
        longitude: degrees.
        altitude: above the ground, m.
        horizontal_fov: degrees that the image is wide, 0..180.
        heading: degrees clockwise from north to the top of the image.
    """

    latitude: float
    longitude: float
    altitude: float
    horizontal_fov: float
    heading: float


def ground_places(
    points: NDArray[np.float64], image_size: tuple[int, int], pose: CameraPose
) -> NDArray[np.float64]:
    """(n, 2) latitude and longitude of pixels, degrees; longitudes in -180..180.

    A camera on the ground or below it sees no ground: all lie where it is.

    Args:
        points: (n, 2) x, y px.
        image_size: (height, width), px.
        pose: of the camera.
    """
    height, width = image_size
    ground_width = 2 * max(pose.altitude, 0.0) * np.tan(np.radians(pose.horizontal_fov) / 2)
    metres = (points - np.array([width, height]) / 2) * (ground_width / width)
    right, up = metres[:, 0], -metres[:, 1]
    turned = np.radians(pose.heading)
    east = right * np.cos(turned) + up * np.sin(turned)
    north = up * np.cos(turned) - right * np.sin(turned)
    latitudes = np.clip(pose.latitude + north / METRES_PER_DEGREE, -POLE, POLE)
    circle = np.cos(np.radians(pose.latitude))
    longitudes = np.full(len(points), pose.longitude)
    if circle > _LEAST_COSINE:  # at a pole every direction is one longitude
        longitudes = longitudes + east / (METRES_PER_DEGREE * circle)
    beyond = np.abs(longitudes) > 180
    longitudes[beyond] = (longitudes[beyond] + 180) % 360 - 180
    return np.stack([latitudes, longitudes], axis=1)
