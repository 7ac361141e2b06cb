"""The tasks a model can have. What a task answers with belongs to the predictions package."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What a model does with an image."""

    OBJECT_DETECTION = "object-detection"
    INSTANCE_SEGMENTATION = "instance-segmentation"
    ORIENTED_OBJECT_DETECTION = "oriented-object-detection"
    KEYPOINT_DETECTION = "keypoint-detection"
    SEMANTIC_SEGMENTATION = "semantic-segmentation"
    CLASSIFICATION = "classification"
    MULTI_LABEL_CLASSIFICATION = "multi-label-classification"
