"""Merges what several models agree on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, NonNegativeInt, PositiveInt

from blocks.fusion.detections_consensus.consensus import consensus
from blocks.fusion.detections_consensus.merging import Aggregation, Aggregations, MaskAggregation
from blocks.fusion.detections_consensus.presence import presence
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from blocks.parameters import number
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    DICTIONARY_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)
from execution_engine.value_text import short_text

Share = Annotated[float, Field(ge=0, le=1)]


class DetectionsConsensusManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Consensus",
            "version": "v1",
            "short_description": "Keep and merge the detections that several models agree on.",
            "long_description": (
                "Compares the detections of several models on one image. A detection that enough "
                "models have, with boxes that overlap by more than the IoU threshold, is kept once "
                "and merged from theirs: class, confidence, box and mask. Masks are merged when "
                "all models give them. The block also says whether as many objects as required "
                "are there, and with what confidence."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["ensemble", "vote", "majority", "agreement", "compare models"],
        }
    )
    type: Literal["roboflow_core/detections_consensus@v1", "DetectionsConsensus"]
    predictions_batches: list[Selector(kind=[*DETECTIONS_KINDS])] = Field(
        min_length=1,
        title="Predictions",
        description="Predictions of the models, all made on the same image.",
        examples=[["$steps.a.predictions", "$steps.b.predictions"]],
        validation_alias=AliasChoices("predictions_batches", "predictions"),
    )
    required_votes: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        title="Required Votes",
        description="Models that must have a detection for it to be kept.",
        examples=[2, "$inputs.required_votes"],
    )
    class_aware: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Class Aware",
        description="Whether models must agree on the class too.",
        examples=[True, "$inputs.class_aware"],
    )
    iou_threshold: Share | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.3,
        title="IoU Threshold",
        description="Overlap of two boxes that must be exceeded for them to be one object.",
        examples=[0.3, "$inputs.iou_threshold"],
    )
    confidence: Share | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.0,
        title="Confidence",
        description="Least confidence of a merged detection.",
        examples=[0.1, "$inputs.confidence"],
    )
    classes_to_consider: list[str] | Selector(kind=[LIST_OF_VALUES_KIND]) | None = Field(
        default=None,
        title="Classes To Consider",
        description="Classes that take part; all when nothing is given.",
        examples=[["a", "b"], "$inputs.classes_to_consider"],
    )
    required_objects: (
        NonNegativeInt
        | dict[str, NonNegativeInt]
        | Selector(kind=[INTEGER_KIND, DICTIONARY_KIND])
        | None
    ) = Field(
        default=None,
        title="Required Objects",
        description="Objects that must be there, in all or of each class.",
        examples=[3, {"a": 7, "b": 2}, "$inputs.required_objects"],
    )
    presence_confidence_aggregation: Literal["average", "max", "min"] = Field(
        default="max",
        title="Presence Confidence Aggregation",
        description="How the confidences of several objects become that of their presence.",
    )
    detections_merge_confidence_aggregation: Literal["average", "max", "min"] = Field(
        default="average",
        title="Confidence Aggregation",
        description=(
            "How confidences are merged. The class is that of the most (max) or least (min) "
            "confident member, or the most frequent one (average)."
        ),
    )
    detections_merge_coordinates_aggregation: Literal["average", "max", "min"] = Field(
        default="average",
        title="Coordinates Aggregation",
        description="How boxes are merged: the mean, the largest (max) or the smallest (min).",
    )
    detections_merge_mask_aggregation: Literal["union", "intersection", "max", "min"] = Field(
        default="union",
        title="Mask Aggregation",
        description=(
            "How masks are merged: union, intersection, the largest (max) or the smallest (min)."
        ),
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions_batches"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "predictions",
                [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            ),
            OutputDefinition("object_present", [BOOLEAN_KIND, DICTIONARY_KIND]),
            OutputDefinition("presence_confidence", [FLOAT_ZERO_TO_ONE_KIND, DICTIONARY_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsConsensusBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsConsensusManifest

    def run(
        self,
        predictions_batches: list[Batch],
        required_votes: int,
        class_aware: bool,
        iou_threshold: float,
        confidence: float,
        classes_to_consider: list[str] | None,
        required_objects: int | dict[str, int] | None,
        presence_confidence_aggregation: Aggregation,
        detections_merge_confidence_aggregation: Aggregation,
        detections_merge_coordinates_aggregation: Aggregation,
        detections_merge_mask_aggregation: MaskAggregation,
    ) -> BlockResult:
        """`predictions`: merged detections; `object_present`: whether the required objects are
        there; `presence_confidence`: confidence a class, or of `any_object`."""
        if required_votes < 1:
            raise InvalidFieldValueError(
                f"`required_votes` must be at least 1, got {short_text(required_votes)}"
            )
        iou_threshold = number("iou_threshold", iou_threshold)
        confidence = number("confidence", confidence)
        aggregations = Aggregations(
            detections_merge_confidence_aggregation,
            detections_merge_coordinates_aggregation,
            detections_merge_mask_aggregation,
        )
        results: list[dict[str, Any]] = []
        for sources in zip(*predictions_batches, strict=True):
            merged = consensus(
                sources,
                required_votes=required_votes,
                class_aware=class_aware,
                iou_threshold=iou_threshold,
                confidence=confidence,
                classes_to_consider=classes_to_consider,
                aggregations=aggregations,
            )
            present, presence_confidence = presence(
                merged, required_objects, class_aware, presence_confidence_aggregation
            )
            results.append(
                {
                    "predictions": merged,
                    "object_present": present,
                    "presence_confidence": presence_confidence,
                }
            )
        return results
