"""`OcSort`: gives boxes of one video the ids of tracks. Knows no detections and no video.

After Cao et al., "Observation-Centric SORT: Rethinking SORT for Robust Multi-Object Tracking", 2023
(https://arxiv.org/abs/2203.14360). What was seen counts more than what was foreseen: the direction
in which an object was seen to go helps to match it (momentum), tracks that find no box are looked
for where they were seen last (recovery), and a track that is found again is led anew along the way
between its last box and the new one (re-update).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.kinds.detections.boxes import box_iou
from blocks.transformations.tracking.assignment import Pairs, best_pairs
from blocks.transformations.tracking.motion import AreaRatioMotion
from blocks.transformations.tracking.tracks import (
    Track,
    Tracks,
    at_least,
    usable_boxes,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
# A filter has long forgotten its start after so many frames.
_LONGEST_WAY = 300


@dataclass(frozen=True, slots=True)
class OcSortOptions:
    """How boxes are matched.

    Attributes:
        minimum_iou: least overlap of a match.
        consecutive_frames: frames in which an object must be seen before it gets an id.
        lost_frames: frames for which a track that is not seen is kept.
        confident: least score of a box that is looked at.
        direction_weight: what the direction counts beside the overlap, from 0 to 1.
        direction_frames: frames between the two boxes that tell a direction (delta t).
    """

    minimum_iou: float = 0.3
    consecutive_frames: int = 3
    lost_frames: int = 30
    confident: float = 0.6
    direction_weight: float = 0.2
    direction_frames: int = 3


@dataclass(slots=True)
class _Seen:
    """What was seen of a track, and how the filter stood then.

    Attributes:
        boxes: (frame, box) of the last sightings, oldest first.
        mean: state at the last sighting.
        covariance: how sure it was.
    """

    mean: Floats
    covariance: Floats
    boxes: deque[tuple[int, Floats]] = field(default_factory=deque)

    def before(self, frame: int) -> Floats:
        """The newest box of this frame or an earlier one; else the oldest there is."""
        found = self.boxes[0][1]
        for number, box in self.boxes:
            if number > frame:
                break
            found = box
        return found


class OcSort:
    """The tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._motion = AreaRatioMotion()
        self._tracks = Tracks(self._motion)
        self._seen: dict[Track, _Seen] = {}

    def update(
        self, boxes: ArrayLike, scores: ArrayLike, options: OcSortOptions
    ) -> NDArray[np.int64]:
        """Takes in the next frame.

        Args:
            boxes: (n, 4) xyxy, px.
            scores: (n,) confidences.
            options: how boxes are matched; may change from frame to frame.

        Returns:
            (n,) ids of tracks from 1; -1 for boxes that belong to no track, or to one that is too
            young.
        """
        corners, marks, usable = usable_boxes(boxes, scores)
        rows = np.flatnonzero(usable & at_least(marks, options.confident))
        tracks = self._tracks
        tracks.next_frame()
        left = list(tracks.all)
        overlap = box_iou(tracks.boxes(left), corners[rows])
        allowed = (overlap >= options.minimum_iou) & (overlap > 0)
        gains = overlap + self._momentum(left, corners[rows], marks[rows], options)
        left, rows = self._take(left, corners, rows, best_pairs(gains, allowed), options)
        last = [self._seen[track].boxes[-1][1] for track in left]
        overlap = box_iou(np.reshape(last, (-1, 4)), corners[rows])
        allowed = (overlap >= options.minimum_iou) & (overlap > 0)
        left, rows = self._take(left, corners, rows, best_pairs(overlap, allowed), options)
        for track, row in zip(tracks.begin(corners, rows), rows.tolist(), strict=True):
            self._seen[track] = _Seen(track.mean, track.covariance)
            self._note(track, corners[row], options)
        tracks.confirm_old_enough(options.consecutive_frames)
        tracks.forget(options.lost_frames)
        self._seen = {track: self._seen[track] for track in tracks.all}
        return tracks.ids(len(corners))

    def _momentum(
        self, tracks: list[Track], boxes: Floats, scores: Floats, options: OcSortOptions
    ) -> Floats:
        """(n, m) what the direction of tracks towards boxes adds to the overlap, never below 0.

        Equation 4 of the paper: the angle between the way a track has gone and the way from its
        earlier box to the new one. Tracks without a way give the same for all boxes.
        """
        shares = np.full((len(tracks), len(boxes)), 0.5)
        centres = _centres(boxes)
        for number, track in enumerate(tracks):
            seen = self._seen[track]
            newest_frame, newest = seen.boxes[-1]
            start = _centres(seen.before(newest_frame - options.direction_frames))
            way = _centres(newest) - start
            towards = centres - _centres(seen.before(self._tracks.frame - options.direction_frames))
            lengths = np.hypot(*way) * np.hypot(*towards.T)
            cosines = np.divide(towards @ way, lengths, where=lengths > 0, out=np.zeros(len(boxes)))
            shares[number] = 1 - np.arccos(np.clip(cosines, -1, 1)) / np.pi
        return options.direction_weight * shares * np.clip(scores, 0, 1)

    def _take(
        self,
        candidates: list[Track],
        boxes: Floats,
        rows: Rows,
        pairs: Pairs,
        options: OcSortOptions,
    ) -> tuple[list[Track], Rows]:
        """Lets tracks see the boxes they are paired with; the tracks and the rows left over."""
        found = [candidates[number] for number in pairs.rows]
        found_rows = rows[pairs.columns]
        for track, row in zip(found, found_rows.tolist(), strict=True):
            self._lead_anew(track, boxes[row])
        self._tracks.see(found, boxes, found_rows)
        for track, row in zip(found, found_rows.tolist(), strict=True):
            seen = self._seen[track]
            seen.mean, seen.covariance = track.mean, track.covariance
            self._note(track, boxes[row], options)
        return [candidates[number] for number in pairs.free_rows], rows[pairs.free_columns]

    def _note(self, track: Track, box: Floats, options: OcSortOptions) -> None:
        boxes = self._seen[track].boxes
        boxes.append((self._tracks.frame, box))
        # The newest box that is old enough to tell a direction is the oldest that is needed.
        while len(boxes) > 2 and boxes[1][0] <= self._tracks.frame - options.direction_frames:
            boxes.popleft()

    def _lead_anew(self, track: Track, box: Floats) -> None:
        """Leads a lost track along the straight way from its last box to this one.

        The filter goes back to where it stood when the object was seen last (section 4.1 of the
        paper) and is shown the boxes on the way; it then stands before this frame's own box.
        """
        frames = self._tracks.frame - track.last_seen
        if frames == 1:
            return
        seen = self._seen[track]
        old = seen.boxes[-1][1]
        first = 1
        mean, covariance = seen.mean, seen.covariance
        if frames > _LONGEST_WAY:
            first = frames - _LONGEST_WAY
            mean, covariance = self._motion.started(old + (box - old) * (first / frames))
            first += 1
        for number in range(first, frames):
            mean, covariance = self._motion.predicted(mean, covariance)
            on_the_way = old + (box - old) * (number / frames)
            mean, covariance = self._motion.corrected(mean, covariance, on_the_way)
        track.mean, track.covariance = self._motion.predicted(mean, covariance)


def _centres(boxes: Floats) -> Floats:
    return (boxes[..., :2] + boxes[..., 2:]) / 2
