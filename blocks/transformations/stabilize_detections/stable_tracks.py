"""`StableTracks`: smooths the boxes of the tracks of one video and foretells missing ones. Knows no
block.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_points
from blocks.kinds.detections.columns import select, with_columns
from blocks.kinds.detections.concat import concat_detections
from blocks.kinds.detections.lineage import image_size_of
from blocks.kinds.detections.moving import moved_into
from blocks.parameters import FARTHEST_PLACE

if TYPE_CHECKING:
    import supervision as sv

MOST_TRACKS = 16384
"""Tracks of a video that are remembered."""

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class _Track:
    """What is known of a track.

    Attributes:
        source: detections among which it was seen last.
        row: its row there.
        center: (2,) centre of its box there, as it was detected, px.
        box: (4,) xyxy that was given out last, px.
        steps: (2,) ways of the centre in one frame, the last ones, px.
        missing: frames since it was seen.
    """

    source: sv.Detections
    row: int
    center: Floats
    box: Floats
    steps: deque[Floats] = field(default_factory=deque)
    missing: int = 0

    def see(
        self, source: sv.Detections, row: int, center: Floats, box: Floats, share: float
    ) -> None:
        """Takes in a detection, of which the box counts with a share."""
        self.steps.append((center - self.center) / (self.missing + 1))
        self.source, self.row, self.center, self.missing = source, row, center, 0
        self.box = share * box + (1 - share) * self.box

    def miss(self, window: int) -> None:
        """Goes on by a frame in which it is not seen, by the mean of its last steps."""
        self.missing += 1
        while len(self.steps) > window:
            self.steps.popleft()
        if self.steps:
            moved = self.box + np.tile(np.mean(self.steps, axis=0), 2)
            self.box = np.clip(moved, -FARTHEST_PLACE, FARTHEST_PLACE)


class StableTracks:
    """The tracks of one video. Not safe to use from several threads at once.

    Args:
        image_size: (height, width) of its frames, px.
    """

    def __init__(self, image_size: tuple[int, int]) -> None:
        self.image_size = image_size
        self._tracks: OrderedDict[int, _Track] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tracks)

    def update(
        self, detections: sv.Detections, ids: NDArray[np.int64], window: int, share: float
    ) -> sv.Detections:
        """Takes in a frame: its detections with smoothed boxes, and after them those that are
        missing, as they were seen last and moved to where they should be by now.

        Args:
            detections: n rows.
            ids: (n,) tracks; negative ones, which are not confirmed, stay as they are.
            window: steps whose mean is taken, and frames for which a missing track is foretold.
            share: share of a new box in the smoothed one, from 0 to 1.
        """
        corners = as_boxes(detections.xyxy)
        centers = box_points(corners, "CENTER")
        smoothed = np.array(detections.xyxy, np.float32).reshape(-1, 4)
        for row in np.flatnonzero(ids >= 0).tolist():
            smoothed[row] = self._seen(
                int(ids[row]), detections, row, centers[row], corners[row], window, share
            )
        missing = self._missing(set(ids.tolist()), window)
        while len(self._tracks) > MOST_TRACKS:
            self._tracks.popitem(last=False)
        result = with_columns(detections, {"xyxy": smoothed})
        foretold = [self._moved(source, tracks) for source, tracks in by_source(missing)]
        return concat_detections([result, *foretold]) if foretold else result

    def _seen(
        self,
        track_id: int,
        detections: sv.Detections,
        row: int,
        center: Floats,
        box: Floats,
        window: int,
        share: float,
    ) -> Floats:
        track = self._tracks.get(track_id)
        if track is None:
            track = self._tracks[track_id] = _Track(detections, row, center, box)
        else:
            track.see(detections, row, center, box, share)
        while len(track.steps) > window:
            track.steps.popleft()
        self._tracks.move_to_end(track_id)
        return track.box

    def _missing(self, present: set[int], window: int) -> list[_Track]:
        """The tracks that are not in the frame; those that are missing for too long are dropped."""
        missing = []
        for track_id, track in list(self._tracks.items()):
            if track_id in present:
                continue
            track.miss(window)
            if track.missing > window:
                del self._tracks[track_id]
            else:
                missing.append(track)
        return missing

    def _moved(self, source: sv.Detections, tracks: list[_Track]) -> sv.Detections:
        """Rows of one set of detections where their tracks are now, with all they have."""
        rows = select(source, np.array([track.row for track in tracks]))
        boxes = np.stack([track.box for track in tracks])
        ways = box_points(boxes, "CENTER") - np.stack([track.center for track in tracks])
        size = image_size_of(source) or self.image_size
        moved = moved_into(rows, ways, np.array(size))
        # The rows are still of the image they were made on.
        kept = {key: rows.data[key] for key in keys.IMAGE_LEVEL if key in rows.data}
        for key in keys.IMAGE_LEVEL:
            if key not in kept:
                moved.data.pop(key, None)
        return with_columns(moved, {**kept, "xyxy": boxes.astype(np.float32)})


def by_source(tracks: list[_Track]) -> Iterator[tuple[sv.Detections, list[_Track]]]:
    """The tracks by the set of detections in which they were seen last."""
    groups: dict[int, list[_Track]] = {}
    for track in tracks:
        groups.setdefault(id(track.source), []).append(track)
    for group in groups.values():
        yield group[0].source, group
