"""Keeps the detections that overlap with a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_points, shared_areas
from blocks.kinds.detections.columns import select
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

OverlapType = Literal["Center Overlap", "Any Overlap"]


class OverlapManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Overlap Filter",
            "version": "v1",
            "short_description": "Keep detections that overlap with a class.",
            "long_description": (
                "Keeps the detections of other classes whose box overlaps with a box of the named "
                "class, such as persons on bicycles: with their centre, or with any part. "
                "Detections of the named class itself are left out."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["intersection", "inside", "on top", "relation", "filter"],
        }
    )
    type: Literal["roboflow_core/overlap@v1"]
    predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Predictions",
        description="Detections of all classes.",
        examples=["$steps.model.predictions"],
    )
    overlap_type: Literal["Center Overlap", "Any Overlap"] = Field(
        default="Center Overlap",
        title="Overlap Type",
        description="What must lie in a box of the class: the centre of a box, or any part of it.",
    )
    overlap_class_name: str = Field(
        title="Overlap Class Name",
        description="Class that the others must overlap with.",
        examples=["bicycle"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("overlaps", [OBJECT_DETECTION_PREDICTION_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class OverlapBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return OverlapManifest

    def run(
        self, predictions: sv.Detections, overlap_type: OverlapType, overlap_class_name: str
    ) -> BlockResult:
        """`overlaps`: the detections that overlap with the class."""
        rows = overlapping(predictions, overlap_type, overlap_class_name)
        return {"overlaps": select(predictions, rows)}


def overlapping(
    detections: sv.Detections, overlap_type: OverlapType, class_name: str
) -> NDArray[np.bool_]:
    """(n,) which detections of other classes overlap with one of the class.

    Args:
        detections: n rows.
        overlap_type: `Center Overlap` asks for the centre of a box to lie in a box of the class,
            edges included; `Any Overlap` also takes boxes that share an area.
        class_name: class to overlap with.

    Raises:
        ValueError: there are rows but no class names, or the type is not known.
    """
    if overlap_type not in ("Center Overlap", "Any Overlap"):
        raise InvalidFieldValueError(
            f'`overlap_type` must be "Center Overlap" or "Any Overlap", got {overlap_type!r:.60}'
        )
    names = detections.data.get(keys.CLASS_NAME)
    if names is None:
        if len(detections):
            raise InvalidFieldValueError(f"the detections must carry `{keys.CLASS_NAME}`")
        return np.zeros(0, dtype=bool)
    of_class = np.array([str(name) == class_name for name in names], dtype=bool)
    boxes = as_boxes(detections.xyxy)
    targets = boxes[of_class]
    centres = box_points(boxes, "CENTER")[:, None]
    meets = ((centres >= targets[:, :2]) & (centres <= targets[:, 2:])).all(axis=2)
    if overlap_type == "Any Overlap":
        meets |= shared_areas(boxes, targets) > 0
    return meets.any(axis=1) & ~of_class
