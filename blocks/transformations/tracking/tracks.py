"""`Tracks`: the tracks of one video: their boxes, their age, their ids. Matches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.kinds.detections.boxes import as_boxes
from blocks.parameters import FARTHEST_PLACE
from blocks.transformations.tracking.motion import BoxMotion

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

NOT_TRACKED = -1


@dataclass(slots=True, eq=False)
class Track:
    """An object that is followed.

    Attributes:
        mean: state of the motion at this frame.
        covariance: how sure it is.
        last_seen: number of the frame in which it was seen last.
        seen: frames in which it was seen.
        id: from 1; `NOT_TRACKED` while it is too young.
    """

    mean: Floats
    covariance: Floats
    last_seen: int
    seen: int = 1
    id: int = field(default=NOT_TRACKED)


class Tracks:
    """The tracks of one video. Not safe to use from several threads at once.

    Args:
        motion: how boxes move.
    """

    def __init__(self, motion: BoxMotion) -> None:
        self._motion = motion
        self._last_id = 0
        self._owners: dict[int, Track] = {}
        self.frame = 0
        self.all: list[Track] = []

    def next_frame(self) -> None:
        """Moves every track to the next frame."""
        self.frame += 1
        self._owners = {}
        if self.all:
            means, covariances = states_of(self.all)
            lost = np.array([track.last_seen < self.frame - 1 for track in self.all])
            means[lost, 6:] = 0.0  # an object that is not seen is taken to keep its size
            set_states(self.all, *self._motion.predicted(means, covariances))

    def boxes(self, tracks: Sequence[Track]) -> Floats:
        """(n, 4) xyxy, px, where tracks are thought to be."""
        if not tracks:
            return np.zeros((0, 4))
        return self._motion.boxes_of(np.stack([track.mean for track in tracks]))

    def see(self, tracks: Sequence[Track], boxes: Floats, rows: Rows) -> None:
        """Tells that tracks were seen in rows (n,) of the boxes (m, 4) of this frame."""
        if not tracks:
            return
        means, covariances = self._motion.corrected(*states_of(tracks), boxes[rows])
        set_states(tracks, means, covariances)
        for track, row in zip(tracks, rows.tolist(), strict=True):
            track.seen += 1
            track.last_seen = self.frame
            self._owners[row] = track

    def begin(self, boxes: Floats, rows: Rows) -> list[Track]:
        """New tracks for rows (n,) of the boxes (m, 4) of this frame."""
        if not len(rows):
            return []
        states = zip(*self._motion.started(boxes[rows]), strict=True)
        begun = [Track(mean, covariance, self.frame) for mean, covariance in states]
        self._owners.update(zip(rows.tolist(), begun, strict=True))
        self.all += begun
        return begun

    def confirm(self, tracks: Sequence[Track]) -> None:
        """Gives an id to tracks that have none."""
        for track in tracks:
            if track.id == NOT_TRACKED:
                self._last_id += 1
                track.id = self._last_id

    def confirm_old_enough(self, consecutive_frames: int) -> None:
        """Gives an id to those seen in so many frames, in order of the rows of this frame."""
        owners = [self._owners[row] for row in sorted(self._owners)]
        self.confirm([track for track in owners if track.seen >= consecutive_frames])

    def forget(self, lost_frames: int) -> None:
        """Drops tracks unseen for more frames, and those that were missed before they had an id."""
        self.all = [
            track
            for track in self.all
            if track.last_seen == self.frame
            or (track.id != NOT_TRACKED and self.frame - track.last_seen <= lost_frames)
        ]

    def ids(self, rows: int) -> NDArray[np.int64]:
        """(rows,) ids of the boxes of this frame; `NOT_TRACKED` for those without."""
        ids = np.full(rows, NOT_TRACKED, np.int64)
        for row, track in self._owners.items():
            ids[row] = track.id
        return ids


def states_of(tracks: Sequence[Track]) -> tuple[Floats, Floats]:
    """(n, d) means and (n, d, d) covariances of n > 0 tracks."""
    means = np.stack([track.mean for track in tracks])
    return means, np.stack([track.covariance for track in tracks])


def set_states(tracks: Sequence[Track], means: Floats, covariances: Floats) -> None:
    """Sets what `states_of` gives."""
    for track, mean, covariance in zip(tracks, means, covariances, strict=True):
        track.mean, track.covariance = mean, covariance


def usable_boxes(boxes: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Boxes (n, 4) xyxy and scores (n,) in double precision, and which rows (n,) can be followed:
    those that are finite and within reach.

    Boxes that cannot be followed are set to zero, so that nothing overflows.
    """
    corners, marks = as_boxes(boxes), np.asarray(scores, np.float64)
    usable = np.isfinite(marks) & np.isfinite(corners).all(axis=1)
    usable &= (np.abs(corners) <= FARTHEST_PLACE).all(axis=1)
    return np.where(usable[:, None], corners, 0.0), marks, usable


def at_least(scores: Floats, threshold: float) -> NDArray[np.bool_]:
    """(n,) whether scores reach a threshold; a score that models give as the float32 next to the
    threshold does.
    """
    return scores.astype(np.float32) >= np.float32(threshold)
