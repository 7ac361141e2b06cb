"""`BoxMotion`: Kalman filters that carry boxes from frame to frame. Matches nothing.

Every function takes one box or many: leading axes of means, covariances and boxes are kept. Speeds
are constant in all models; noise grows with the size of the box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_POSITION = 1.0 / 20
_SPEED = 1.0 / 160
_SMALLEST = 1e-3


class BoxMotion(ABC):
    """A model of how boxes move. A state holds the four numbers that a box is measured by, then
    the speeds of the first ones of them.
    """

    speeds: int
    """How many of the four numbers have a speed."""

    def __init__(self) -> None:
        self._transition = np.eye(4 + self.speeds)
        self._transition[: self.speeds, 4:] += np.eye(self.speeds)

    def started(self, boxes: Floats) -> tuple[Floats, Floats]:
        """(..., d) means and (..., d, d) covariances of boxes (..., 4) xyxy, px, seen for the first
        time; d is 4 and the number of speeds.
        """
        measured = self.measured(boxes)
        speeds = np.zeros((*measured.shape[:-1], self.speeds))
        return np.concatenate([measured, speeds], axis=-1), _diagonal(self.first_spread(measured))

    def predicted(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Means and covariances one frame later."""
        noise = _diagonal(self.drift(means))
        moved = self._transition @ covariances @ self._transition.T + noise
        return means @ self._transition.T, moved

    def corrected(self, means: Floats, covariances: Floats, boxes: Floats) -> tuple[Floats, Floats]:
        """Means and covariances after boxes (..., 4) xyxy were seen."""
        projected = covariances[..., :4, :4] + _diagonal(self.measuring_error(means))
        gain = np.linalg.solve(projected, covariances[..., :4, :]).swapaxes(-1, -2)
        wrong = self.measured(boxes) - means[..., :4]
        return (
            means + (gain @ wrong[..., None])[..., 0],
            covariances - gain @ projected @ gain.swapaxes(-1, -2),
        )

    @abstractmethod
    def measured(self, boxes: Floats) -> Floats:
        """(..., 4) what boxes (..., 4) xyxy are measured by."""

    @abstractmethod
    def boxes_of(self, means: Floats) -> Floats:
        """(..., 4) xyxy of means, px; never turned inside out."""

    @abstractmethod
    def first_spread(self, measured: Floats) -> Floats:
        """(..., d) standard deviations of a state that was seen once."""

    @abstractmethod
    def drift(self, means: Floats) -> Floats:
        """(..., d) standard deviations of what a frame changes."""

    @abstractmethod
    def measuring_error(self, means: Floats) -> Floats:
        """(..., 4) standard deviations of a measurement."""


class AspectHeightMotion(BoxMotion):
    """Centre, aspect ratio (width over height) and height, each with a speed.

    The model of ByteTrack (Zhang et al. 2022, https://arxiv.org/abs/2110.06864).
    """

    speeds = 4

    def measured(self, boxes: Floats) -> Floats:
        x, y, width, height = _centre_and_size(boxes)
        return np.stack([x, y, width / height, height], axis=-1)

    def boxes_of(self, means: Floats) -> Floats:
        height = _size(means[..., 3])
        return _box(means[..., 0], means[..., 1], means[..., 2] * height, height)

    def first_spread(self, measured: Floats) -> Floats:
        return self._spread(measured, 2 * _POSITION, 10 * _SPEED, 1e-2)

    def drift(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION, _SPEED, 1e-2)

    def measuring_error(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION, _SPEED, 1e-1)[..., :4]

    def _spread(self, means: Floats, position: float, speed: float, aspect: float) -> Floats:
        height = _size(means[..., 3])
        parts = [position * height] * 2 + [np.full_like(height, aspect), position * height]
        parts += [speed * height] * 2 + [np.full_like(height, 1e-5), speed * height]
        return np.stack(parts, axis=-1)


class WidthHeightMotion(BoxMotion):
    """Centre, width and height, each with a speed.

    The model of BoT-SORT (Aharon et al. 2022, https://arxiv.org/abs/2206.14651, section 3.1).
    """

    speeds = 4

    def measured(self, boxes: Floats) -> Floats:
        return np.stack(_centre_and_size(boxes), axis=-1)

    def boxes_of(self, means: Floats) -> Floats:
        return _box(*np.moveaxis(means[..., :4], -1, 0))

    def first_spread(self, measured: Floats) -> Floats:
        return self._spread(measured, 2 * _POSITION, 10 * _SPEED)

    def drift(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION, _SPEED)

    def measuring_error(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION, _SPEED)[..., :4]

    def seen_from_moved_camera(
        self, means: Floats, covariances: Floats, camera: Floats
    ) -> tuple[Floats, Floats]:
        """States as they are in a picture that `camera`, (2, 3) affine, carries them to.

        Places and their speeds are turned and scaled. Sizes are scaled only: an upright box stays
        upright (the paper turns them, too, which swaps width and height in a turn of 90 degrees).
        """
        turned = camera[:, :2]
        scale = float(np.sqrt(abs(np.linalg.det(turned))))
        change = np.kron(np.eye(2), np.block([
            [turned, np.zeros((2, 2))], [np.zeros((2, 2)), scale * np.eye(2)]
        ]))  # fmt: skip
        moved = means @ change.T
        moved[..., :2] += camera[:, 2]
        return moved, change @ covariances @ change.T

    def _spread(self, means: Floats, position: float, speed: float) -> Floats:
        width, height = _size(means[..., 2]), _size(means[..., 3])
        parts = [position * width, position * height] * 2 + [speed * width, speed * height] * 2
        return np.stack(parts, axis=-1)


class AreaRatioMotion(BoxMotion):
    """Centre, area and aspect ratio (width over height); the ratio has no speed.

    The model of SORT (Bewley et al. 2016, https://arxiv.org/abs/1602.00763, section 3.2) and of
    OC-SORT. The papers give no figures for the noise; here it is in proportion to the size, and the
    first speed is nearly unknown, as the papers say.
    """

    speeds = 3

    def predicted(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        shrinks_away = means[..., 2] + means[..., 6] <= 0
        means = means.copy()
        means[..., 6] = np.where(shrinks_away, 0, means[..., 6])
        return super().predicted(means, covariances)

    def measured(self, boxes: Floats) -> Floats:
        x, y, width, height = _centre_and_size(boxes)
        return np.stack([x, y, width * height, width / height], axis=-1)

    def boxes_of(self, means: Floats) -> Floats:
        area, ratio = _size(means[..., 2]), _size(means[..., 3])
        return _box(means[..., 0], means[..., 1], np.sqrt(area * ratio), np.sqrt(area / ratio))

    def first_spread(self, measured: Floats) -> Floats:
        return self._spread(measured, 2 * _POSITION, 0.5, 1e-1)

    def drift(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION / 2, 2 * _SPEED, 1e-2)

    def measuring_error(self, means: Floats) -> Floats:
        return self._spread(means, _POSITION, _SPEED, 1e-1)[..., :4]

    def _spread(self, means: Floats, position: float, speed: float, ratio: float) -> Floats:
        area = _size(means[..., 2])
        size = np.sqrt(area)
        # A length that is wrong by a share makes the area wrong by twice that share.
        parts = [position * size] * 2 + [2 * position * area, ratio * _size(means[..., 3])]
        parts += [speed * size] * 2 + [speed * area / 2]
        return np.stack(parts, axis=-1)


def _diagonal(spread: Floats) -> Floats:
    return np.square(spread)[..., None] * np.eye(spread.shape[-1])


def _size(values: Floats) -> Floats:
    return np.maximum(values, _SMALLEST)


def _centre_and_size(boxes: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    left, top, right, bottom = np.moveaxis(np.asarray(boxes, np.float64), -1, 0)
    return (left + right) / 2, (top + bottom) / 2, _size(right - left), _size(bottom - top)


def _box(x: Floats, y: Floats, width: Floats, height: Floats) -> Floats:
    width, height = _size(width), _size(height)
    corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    return np.stack(corners, axis=-1)
