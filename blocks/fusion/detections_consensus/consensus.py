"""What several sources of detections on one image agree on. Knows no manifest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from blocks.fusion.detections_consensus.merging import Aggregations, merged_groups
from blocks.fusion.detections_consensus.voting import matching_groups
from blocks.kinds.detections import concat_detections, keys
from blocks.kinds.detections.columns import select, with_columns
from blocks.kinds.detections.lineage import class_names_from_ids
from blocks.kinds.detections.masks import has_masks, instance_masks
from blocks.kinds.detections.same_image import require_one_image

if TYPE_CHECKING:
    import supervision as sv


def consensus(
    sources: Sequence[sv.Detections],
    *,
    required_votes: int,
    class_aware: bool,
    iou_threshold: float,
    confidence: float,
    classes_to_consider: Collection[str] | None,
    aggregations: Aggregations,
) -> sv.Detections:
    """The detections that enough sources agree on, merged.

    Masks are merged when all sources with detections have them; otherwise the result has boxes
    only.

    Args:
        sources: detections of each source on one image.
        required_votes: sources that must agree, at least 1.
        class_aware: whether only detections of one class can agree.
        iou_threshold: overlap of boxes that must be exceeded, 0 to 1.
        confidence: least confidence of a merged detection.
        classes_to_consider: classes that take part, all when None.
        aggregations: how members become one.

    Raises:
        ValueError: the sources lie on different images, or masks in images of different sizes.
    """
    require_one_image(sources, "the sources of a consensus")
    considered = [_considered(source, classes_to_consider) for source in sources]
    filled = [source for source in considered if len(source)]
    masked = [has_masks(source) for source in filled]
    if any(masked) and not all(masked):
        considered = [_without_masks(source) for source in considered]
    rows = concat_detections(considered)
    if keys.CLASS_NAME not in rows.data:
        names = class_names_from_ids(rows.class_id, len(rows))
        rows = with_columns(rows, {keys.CLASS_NAME: names})
    groups = matching_groups(
        rows.xyxy,
        np.repeat(np.arange(len(considered)), [len(source) for source in considered]),
        rows.data[keys.CLASS_NAME] if class_aware else None,
        required_votes,
        iou_threshold,
    )
    masks = instance_masks(rows) if len(rows) else None
    merged = merged_groups(rows, groups, masks, aggregations)
    assert merged.confidence is not None
    # Scores are known as exactly as their type holds them: the mean of 0.9 and 0.3 reaches 0.6.
    slack = 0.0 if rows.confidence is None else float(np.finfo(rows.confidence.dtype).eps)
    return select(merged, merged.confidence >= confidence - slack)


def _considered(source: sv.Detections, classes: Collection[str] | None) -> sv.Detections:
    if classes is None or not len(source):
        return source
    names = source.data.get(keys.CLASS_NAME)
    if names is None:
        names = class_names_from_ids(source.class_id, len(source))
    return select(source, np.isin(np.asarray(names, dtype=str), list(classes)))


def _without_masks(source: sv.Detections) -> sv.Detections:
    import supervision as sv

    return sv.Detections(
        xyxy=source.xyxy,
        confidence=source.confidence,
        class_id=source.class_id,
        tracker_id=source.tracker_id,
        data={key: column for key, column in source.data.items() if key != keys.RLE_MASK},
        metadata=dict(source.metadata),
    )
