"""`BoxMotion`: Kalman filters that carry boxes from frame to frame. Matches nothing.

The model is that of ByteTrack (Zhang et al. 2022, https://arxiv.org/abs/2110.06864): centre, aspect
ratio (width over height) and height move at constant speed; the noise grows with the height.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_POSITION = 1.0 / 20
_SPEED = 1.0 / 160
_TRANSITION = np.eye(8) + np.diag(np.ones(4), 4)
_SMALLEST = 1e-3


def started(box: Floats) -> tuple[Floats, Floats]:
    """(8,) mean and (8, 8) covariance of a box (4,) xyxy seen for the first time, px."""
    measured = _measured(box)
    height = measured[3]
    spread = [2 * _POSITION * height] * 2 + [1e-2, 2 * _POSITION * height]
    spread += [10 * _SPEED * height] * 2 + [1e-5, 10 * _SPEED * height]
    return np.concatenate([measured, np.zeros(4)]), np.diag(np.square(spread))


def predicted(mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance one frame later."""
    height = max(mean[3], _SMALLEST)
    spread = [_POSITION * height] * 2 + [1e-2, _POSITION * height]
    spread += [_SPEED * height] * 2 + [1e-5, _SPEED * height]
    moved = _TRANSITION @ covariance @ _TRANSITION.T + np.diag(np.square(spread))
    return _TRANSITION @ mean, moved


def corrected(mean: Floats, covariance: Floats, box: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance after a box (4,) xyxy was seen."""
    height = max(mean[3], _SMALLEST)
    noise = np.square([_POSITION * height] * 2 + [1e-1, _POSITION * height])
    projected = covariance[:4, :4] + np.diag(noise)
    gain = np.linalg.solve(projected, covariance[:4]).T
    return mean + gain @ (_measured(box) - mean[:4]), covariance - gain @ projected @ gain.T


def box_of(mean: Floats) -> Floats:
    """(4,) xyxy of a mean, px; never turned inside out."""
    x, y, aspect, height = mean[:4]
    height = max(height, _SMALLEST)
    width = max(aspect * height, _SMALLEST)
    return np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])


def _measured(box: Floats) -> Floats:
    left, top, right, bottom = box
    height = max(bottom - top, _SMALLEST)
    return np.array([(left + right) / 2, (top + bottom) / 2, (right - left) / height, height])
