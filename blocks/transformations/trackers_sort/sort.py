"""`Sort`: gives boxes of one video the ids of tracks. Knows no detections and no video.

After Bewley et al., "Simple Online and Realtime Tracking", 2016 (https://arxiv.org/abs/1602.00763):
every box is matched by its overlap with where the tracks should be now. Tracks that are not seen
live on for a while, which the paper leaves to further work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.transformations.tracking.matching import match_by_overlap
from blocks.transformations.tracking.motion import AreaRatioMotion
from blocks.transformations.tracking.tracks import Tracks, at_least, usable_boxes


@dataclass(frozen=True, slots=True)
class SortOptions:
    """How boxes are matched.

    Attributes:
        minimum_iou: least overlap of a match.
        consecutive_frames: frames in which an object must be seen before it gets an id.
        lost_frames: frames for which a track that is not seen is kept.
        activation_threshold: least score of a box that begins a track.
    """

    minimum_iou: float = 0.3
    consecutive_frames: int = 3
    lost_frames: int = 30
    activation_threshold: float = 0.25


class Sort:
    """The tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._tracks = Tracks(AreaRatioMotion())

    def update(
        self, boxes: ArrayLike, scores: ArrayLike, options: SortOptions
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
        rows = np.flatnonzero(usable)
        tracks = self._tracks
        tracks.next_frame()
        _, free = match_by_overlap(tracks, tracks.all, corners, rows, options.minimum_iou)
        tracks.begin(corners, free[at_least(marks[free], options.activation_threshold)])
        tracks.confirm_old_enough(options.consecutive_frames)
        tracks.forget(options.lost_frames)
        return tracks.ids(len(corners))
