"""Kinds of predictions that blocks on any detections take and give. No block may live here."""

from __future__ import annotations

from execution_engine.kinds.catalogue import (
    BAR_CODE_DETECTION_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    QR_CODE_DETECTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    SEMANTIC_SEGMENTATION_PREDICTION_KIND,
)

DETECTIONS_KINDS = (
    OBJECT_DETECTION_PREDICTION_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
)
"""Boxes, with masks or keypoints or without; in the order in which outputs are written."""

TRACKED_KINDS = (
    OBJECT_DETECTION_PREDICTION_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
)
"""Objects that can be followed, in the order in which outputs are written."""

PREDICTION_KINDS = tuple(
    kind.name
    for kind in (
        *DETECTIONS_KINDS,
        RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
        SEMANTIC_SEGMENTATION_PREDICTION_KIND,
        QR_CODE_DETECTION_KIND,
        BAR_CODE_DETECTION_KIND,
    )
)
"""Names of every kind whose values are `sv.Detections`."""
