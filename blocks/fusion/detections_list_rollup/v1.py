"""Brings detections made on crops back to the image of the crops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.fusion.detections_list_rollup.rollup import (
    ConfidenceStrategy,
    crop_zones,
    rolled_up,
)
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from blocks.parameters import number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class DetectionsListRollUpManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections List Roll-Up",
            "version": "v1",
            "short_description": "Bring detections made on crops back to their image.",
            "long_description": (
                "Moves the detections that a second model made on crops of detections to their "
                "place in the image, and joins those that are the same object seen by several "
                "crops. The detections of the crops come as a list, as Dimension Collapse gives "
                "it. Also gives the corners of the crops as zones."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["two stage", "crop", "merge", "parent", "ocr"],
        }
    )
    type: Literal["roboflow_core/detections_list_rollup@v1", "DetectionsListRollUp"]
    parent_detection: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Parent Detection",
        description="Detections that the crops were cut by.",
        examples=["$steps.detector.predictions"],
    )
    child_detections: Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Child Detections",
        description="Detections made on each of the crops, as a list.",
        examples=["$steps.dimension_collapse.output"],
    )
    confidence_strategy: Literal["max", "mean", "min"] | Selector(
        kind=[LIST_OF_VALUES_KIND]
    ) = Field(
        default="max",
        title="Confidence Strategy",
        description="How the confidences of joined detections become one.",
        examples=["mean", "$inputs.confidence_strategy"],
    )
    overlap_threshold: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.0,
        title="Overlap Threshold",
        description=(
            "Intersection over union from which on two detections of a class are one object; 0 "
            "joins all that overlap at all."
        ),
        examples=[0.5, "$inputs.overlap_threshold"],
    )
    keypoint_merge_threshold: Annotated[float, Field(ge=0)] | Selector(kind=[FLOAT_KIND]) = Field(
        default=10.0,
        title="Keypoint Merge Threshold",
        description="Distance up to which keypoints of one name are the same point, px.",
        examples=[10.0, "$inputs.keypoint_merge_threshold"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "rolled_up_detections",
                [
                    INSTANCE_SEGMENTATION_PREDICTION_KIND,
                    OBJECT_DETECTION_PREDICTION_KIND,
                    KEYPOINT_DETECTION_PREDICTION_KIND,
                ],
            ),
            OutputDefinition("crop_zones", [LIST_OF_VALUES_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsListRollUpBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsListRollUpManifest

    def run(
        self,
        parent_detection: sv.Detections,
        child_detections: list[sv.Detections | None],
        confidence_strategy: ConfidenceStrategy,
        overlap_threshold: float,
        keypoint_merge_threshold: float,
    ) -> BlockResult:
        """`rolled_up_detections`: the detections of all crops in px of the image; `crop_zones`:
        the corners of the crops."""
        import supervision as sv

        if not isinstance(child_detections, (list, tuple)):
            raise InvalidFieldValueError(
                f"`child_detections` must be a list of detections, got "
                f"{type(child_detections).__name__}"
            )
        for place, child in enumerate(child_detections):
            if child is not None and not isinstance(child, sv.Detections):
                raise InvalidFieldValueError(
                    f"`child_detections` must be a list of detections, got "
                    f"{type(child).__name__} at {place}"
                )
        overlap_threshold = number("overlap_threshold", overlap_threshold)
        keypoint_merge_threshold = number("keypoint_merge_threshold", keypoint_merge_threshold, 0)
        return {
            "rolled_up_detections": rolled_up(
                parent_detection,
                child_detections,
                confidence_strategy,
                overlap_threshold,
                keypoint_merge_threshold,
            ),
            "crop_zones": crop_zones(parent_detection),
        }
