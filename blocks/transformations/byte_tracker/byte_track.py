"""`ByteTrack`: gives boxes of one video the ids of tracks. Knows no detections and no video.

After Zhang et al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box", 2022
(https://arxiv.org/abs/2110.06864): confident boxes are matched first, then the uncertain ones keep
tracks alive that found no confident box.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.kinds.detections.boxes import as_boxes, box_iou
from blocks.transformations.tracking.motion import AspectHeightMotion
from blocks.transformations.tracking.tracks import NOT_TRACKED

Floats = NDArray[np.float64]

_MOTION = AspectHeightMotion()
# Below this score a box is noise.
_LOWEST_SCORE = 0.1
# A new track asks for so much more than the activation threshold.
_NEW_TRACK_MARGIN = 0.1
_UNCERTAIN_MATCH = 0.5
_UNCONFIRMED_MATCH = 0.7


@dataclass(frozen=True, slots=True)
class ByteTrackOptions:
    """How boxes are matched.

    Attributes:
        activation_threshold: score of a confident box.
        lost_frames: frames for which a track that is not seen is kept.
        matching_threshold: greatest distance (1 - IoU x score) of a match of confident boxes.
        consecutive_frames: frames in which a track must be seen before it gets an id.
    """

    activation_threshold: float = 0.25
    lost_frames: int = 30
    matching_threshold: float = 0.8
    consecutive_frames: int = 1


@dataclass(slots=True, eq=False)
class _Track:
    mean: Floats
    covariance: Floats
    last_seen: int
    confirmed: bool
    seen: int = 1
    lost: bool = False
    id: int = field(default=NOT_TRACKED)

    def predict(self) -> None:
        if self.lost:  # an object that is not seen is taken to keep its height
            self.mean[7] = 0.0
        self.mean, self.covariance = _MOTION.predicted(self.mean, self.covariance)

    def see(self, box: Floats, frame: int) -> None:
        self.mean, self.covariance = _MOTION.corrected(self.mean, self.covariance, box)
        self.seen = 1 if self.lost else self.seen + 1
        self.last_seen = frame
        self.confirmed, self.lost = True, False


class ByteTrack:
    """The tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._tracks: list[_Track] = []
        self._frame = 0
        self._last_id = 0

    def update(
        self, boxes: ArrayLike, scores: ArrayLike, options: ByteTrackOptions
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
        self._frame += 1
        corners = as_boxes(boxes)
        marks = np.asarray(scores, np.float64)
        usable = np.isfinite(corners).all(axis=1) & np.isfinite(marks)
        owners: dict[int, _Track] = {}
        for track in self._tracks:
            track.predict()
        confident = np.flatnonzero(usable & (marks > options.activation_threshold))
        uncertain = np.flatnonzero(
            usable & (marks > _LOWEST_SCORE) & (marks <= options.activation_threshold)
        )
        confirmed = [track for track in self._tracks if track.confirmed]
        young = [track for track in self._tracks if not track.confirmed]
        left, confident = self._match(
            confirmed, confident, corners, marks, options.matching_threshold, owners
        )
        seen_before = [track for track in left if not track.lost]
        missed, _ = self._match(seen_before, uncertain, corners, None, _UNCERTAIN_MATCH, owners)
        for track in missed:
            track.lost = True
        gone, confident = self._match(young, confident, corners, marks, _UNCONFIRMED_MATCH, owners)
        dropped = set(gone)
        for row in confident.tolist():
            if marks[row] >= options.activation_threshold + _NEW_TRACK_MARGIN:
                # What is there at the start is taken for real; later it must be seen twice.
                track = _Track(*_MOTION.started(corners[row]), self._frame, self._frame == 1)
                self._tracks.append(track)
                owners[row] = track
        self._tracks = [
            track
            for track in self._tracks
            if track not in dropped and self._frame - track.last_seen <= options.lost_frames
        ]
        ids = np.full(len(corners), NOT_TRACKED, np.int64)
        for row, track in owners.items():
            if track.id == NOT_TRACKED and self._is_old_enough(track, options):
                self._last_id += 1
                track.id = self._last_id
            ids[row] = track.id
        return ids

    def _is_old_enough(self, track: _Track, options: ByteTrackOptions) -> bool:
        return track.confirmed and track.seen >= options.consecutive_frames

    def _match(
        self,
        tracks: list[_Track],
        rows: NDArray[np.intp],
        boxes: Floats,
        scores: Floats | None,
        threshold: float,
        owners: dict[int, _Track],
    ) -> tuple[list[_Track], NDArray[np.intp]]:
        """Matches tracks and boxes; the tracks and the rows that are left over."""
        if not tracks or not len(rows):
            return tracks, rows
        from scipy.optimize import linear_sum_assignment

        overlap = box_iou(_MOTION.boxes_of(np.stack([track.mean for track in tracks])), boxes[rows])
        if scores is not None:
            overlap = overlap * scores[rows]
        distance = 1.0 - overlap
        # Pairs that are too far apart all cost the same, so that they do not sway the others.
        cost = np.where(distance <= threshold, distance, threshold + 1e3)
        matched_tracks: set[int] = set()
        matched_rows: set[int] = set()
        for one, other in zip(*linear_sum_assignment(cost), strict=True):
            if distance[one, other] > threshold:
                continue
            row = int(rows[other])
            tracks[one].see(boxes[row], self._frame)
            owners[row] = tracks[one]
            matched_tracks.add(int(one))
            matched_rows.add(int(other))
        left = [track for number, track in enumerate(tracks) if number not in matched_tracks]
        free = np.array(
            [row for number, row in enumerate(rows) if number not in matched_rows], dtype=np.intp
        )
        return left, free
