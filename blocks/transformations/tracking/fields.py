"""Fields that several trackers have, each with a default of its own. Knows no tracker."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from execution_engine.block_api import Selector
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND, INTEGER_KIND

Share = float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None
WholeNumber = int | Selector(kind=[INTEGER_KIND]) | None


def minimum_overlap(default: float) -> Any:
    """`minimum_iou_threshold`."""
    return Field(
        default=default,
        title="Minimum IoU Threshold",
        description="Least overlap of a detection and the place where a track should be.",
        examples=[default, "$inputs.minimum_iou_threshold"],
    )


def consecutive_frames(default: int) -> Any:
    """`minimum_consecutive_frames`."""
    return Field(
        default=default,
        title="Minimum Consecutive Frames",
        description="Frames in a row in which an object must be seen before it gets an id.",
        examples=[default, "$inputs.minimum_consecutive_frames"],
    )


def activation(default: float, what: str) -> Any:
    """`track_activation_threshold`; `what` begins a track."""
    return Field(
        default=default,
        title="Track Activation Threshold",
        description=f"Least confidence of {what} that begins a track.",
        examples=[default, "$inputs.track_activation_threshold"],
    )


def confident(default: float, others: str) -> Any:
    """`high_conf_det_threshold`; `others` says what becomes of detections below."""
    return Field(
        default=default,
        title="High Confidence Detection Threshold",
        description=f"Least confidence of {others}",
        examples=[default, "$inputs.high_conf_det_threshold"],
    )
