"""Matches tracks with boxes by their overlap. In what order, and by what limits, is the matter of
each tracker.
"""

from __future__ import annotations

from collections.abc import Sequence

from blocks.kinds.detections.boxes import box_iou
from blocks.transformations.tracking.assignment import best_pairs
from blocks.transformations.tracking.tracks import Floats, Rows, Track, Tracks


def match_by_overlap(
    tracks: Tracks,
    candidates: Sequence[Track],
    boxes: Floats,
    rows: Rows,
    minimum: float,
    scores: Floats | None = None,
) -> tuple[list[Track], Rows]:
    """Tells the tracks in which boxes they were seen.

    Args:
        tracks: those of the video.
        candidates: those that may be matched.
        boxes: (n, 4) xyxy, px, of this frame.
        rows: (m,) boxes that may be matched.
        minimum: least overlap of a match; one of 0 never is.
        scores: (n,) what the overlap is multiplied by; 1 when None.

    Returns:
        The candidates and the rows that are left over.
    """
    likeness = box_iou(tracks.boxes(candidates), boxes[rows])
    if scores is not None:
        likeness = likeness * scores[rows]
    pairs = best_pairs(likeness, (likeness >= minimum) & (likeness > 0))
    tracks.see([candidates[number] for number in pairs.rows], boxes, rows[pairs.columns])
    return [candidates[number] for number in pairs.free_rows], rows[pairs.free_columns]
