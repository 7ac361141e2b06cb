"""`BotSort`: gives boxes of one video the ids of tracks. Knows no detections and no pictures.

After Aharon et al., "BoT-SORT: Robust Associations Multi-Pedestrian Tracking", 2022
(https://arxiv.org/abs/2206.14651), without appearance: ByteTrack with a motion of width and height
and with tracks that follow the motion of the camera.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.transformations.tracking.matching import match_by_overlap
from blocks.transformations.tracking.motion import WidthHeightMotion
from blocks.transformations.tracking.tracks import (
    NOT_TRACKED,
    Floats,
    Tracks,
    at_least,
    set_states,
    states_of,
    usable_boxes,
)

# Below this score a box is noise (section 4 of ByteTrack, which the paper keeps).
_LOWEST_SCORE = 0.1


@dataclass(frozen=True, slots=True)
class BotSortOptions:
    """How boxes are matched.

    Attributes:
        first_minimum: least overlap x score of a confident box and a track that has an id.
        second_minimum: least overlap of an uncertain box and a track seen in the last frame.
        unconfirmed_minimum: least overlap x score of a confident box and a track without an id.
        consecutive_frames: frames in which an object must be seen before it gets an id.
        lost_frames: frames for which a track that is not seen is kept.
        activation_threshold: least score of a box that begins a track; it must be confident, too.
        confident: least score of a confident box.
        instant_first_frame: objects of the first frame get their ids at once.
    """

    first_minimum: float = 0.2
    second_minimum: float = 0.5
    unconfirmed_minimum: float = 0.3
    consecutive_frames: int = 2
    lost_frames: int = 30
    activation_threshold: float = 0.7
    confident: float = 0.6
    instant_first_frame: bool = False


class BotSort:
    """The tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._motion = WidthHeightMotion()
        self._tracks = Tracks(self._motion)

    def update(
        self,
        boxes: ArrayLike,
        scores: ArrayLike,
        options: BotSortOptions,
        camera: Floats | None = None,
    ) -> NDArray[np.int64]:
        """Takes in the next frame.

        Args:
            boxes: (n, 4) xyxy, px.
            scores: (n,) confidences.
            options: how boxes are matched; may change from frame to frame.
            camera: (2, 3) affine that carries places of the last frame to this one; None where
                the camera stands still.

        Returns:
            (n,) ids of tracks from 1; -1 for boxes that belong to no track, or to one that is too
            young.
        """
        corners, marks, usable = usable_boxes(boxes, scores)
        is_confident = at_least(marks, options.confident)
        tracks = self._tracks
        tracks.next_frame()
        if camera is not None and tracks.all:
            set_states(
                tracks.all,
                *self._motion.seen_from_moved_camera(*states_of(tracks.all), camera),
            )
        known = [track for track in tracks.all if track.id != NOT_TRACKED]
        young = [track for track in tracks.all if track.id == NOT_TRACKED]
        free = np.flatnonzero(usable & is_confident)
        left, free = match_by_overlap(tracks, known, corners, free, options.first_minimum, marks)
        seen_before = [track for track in left if track.last_seen == tracks.frame - 1]
        uncertain = np.flatnonzero(usable & ~is_confident & at_least(marks, _LOWEST_SCORE))
        match_by_overlap(tracks, seen_before, corners, uncertain, options.second_minimum)
        _, free = match_by_overlap(tracks, young, corners, free, options.unconfirmed_minimum, marks)
        begun = tracks.begin(corners, free[at_least(marks[free], options.activation_threshold)])
        if options.instant_first_frame and tracks.frame == 1:
            tracks.confirm(begun)
        tracks.confirm_old_enough(options.consecutive_frames)
        tracks.forget(options.lost_frames)
        return tracks.ids(len(corners))
