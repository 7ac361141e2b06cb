"""`TwoStageByteTrack`: gives boxes of one video the ids of tracks. Knows no detections.

After Zhang et al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box", 2022
(https://arxiv.org/abs/2110.06864): confident boxes are matched first, then the others keep tracks
alive that found no confident box. Unlike in the older block, overlap alone decides, the same least
overlap counts in both stages, and lost or young tracks take part in the second stage, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.transformations.tracking.matching import match_by_overlap
from blocks.transformations.tracking.motion import AspectHeightMotion
from blocks.transformations.tracking.tracks import Tracks, at_least, usable_boxes


@dataclass(frozen=True, slots=True)
class TwoStageOptions:
    """How boxes are matched.

    Attributes:
        minimum_iou: least overlap of a match.
        consecutive_frames: frames in which an object must be seen before it gets an id.
        lost_frames: frames for which a track that is not seen is kept.
        activation_threshold: least score of a box that begins a track; it must be confident, too.
        confident: least score of a confident box.
    """

    minimum_iou: float = 0.1
    consecutive_frames: int = 2
    lost_frames: int = 30
    activation_threshold: float = 0.7
    confident: float = 0.6


class TwoStageByteTrack:
    """The tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._tracks = Tracks(AspectHeightMotion())

    def update(
        self, boxes: ArrayLike, scores: ArrayLike, options: TwoStageOptions
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
        is_confident = at_least(marks, options.confident)
        tracks = self._tracks
        tracks.next_frame()
        confident = np.flatnonzero(usable & is_confident)
        others = np.flatnonzero(usable & ~is_confident)
        left, free = match_by_overlap(tracks, tracks.all, corners, confident, options.minimum_iou)
        match_by_overlap(tracks, left, corners, others, options.minimum_iou)
        tracks.begin(corners, free[at_least(marks[free], options.activation_threshold)])
        tracks.confirm_old_enough(options.consecutive_frames)
        tracks.forget(options.lost_frames)
        return tracks.ids(len(corners))
