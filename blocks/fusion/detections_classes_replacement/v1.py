"""Gives detections the classes that a second model found on their crops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.fusion.detections_classes_replacement.answers import (
    LARGEST_ID,
    Answer,
    answers_for,
    with_answers,
)
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    CLASSIFICATION_PREDICTION_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class DetectionsClassesReplacementManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Classes Replacement",
            "version": "v1",
            "short_description": "Give detections the classes found on their crops.",
            "long_description": (
                "Replaces class and confidence of each detection by those that a classifier gave "
                "for its crop, or by the text that a text model read there. A classification "
                "belongs to the detection whose crop it was made on; text belongs to the detection "
                "at the same place. Detections without an answer are left out unless a fallback "
                "class is given."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["two stage", "classifier", "relabel", "ocr", "crop"],
        }
    )
    type: Literal["roboflow_core/detections_classes_replacement@v1", "DetectionsClassesReplacement"]
    object_detection_predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Object Detection Predictions",
        description="Detections whose classes are replaced.",
        examples=["$steps.detector.predictions"],
    )
    classification_predictions: Selector(
        kind=[CLASSIFICATION_PREDICTION_KIND, STRING_KIND, LIST_OF_VALUES_KIND]
    ) = Field(
        title="Classification Predictions",
        description="What was found on the crops of the detections.",
        examples=["$steps.classifier.predictions"],
    )
    fallback_class_name: str | Selector(kind=[STRING_KIND]) | None = Field(
        default=None,
        title="Fallback Class Name",
        description="Class of detections without an answer; they are left out without it.",
        examples=["unknown", "$inputs.fallback_class_name"],
    )
    fallback_class_id: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=None,
        title="Fallback Class Id",
        description="Id of the fallback class; the largest there is when nothing is given.",
        examples=[77, "$inputs.fallback_class_id"],
    )

    @classmethod
    def accepts_empty_values(cls) -> bool:
        return True

    @classmethod
    def get_input_dimensionality_offsets(cls) -> dict[str, int]:
        return {"object_detection_predictions": 0, "classification_predictions": 1}

    @classmethod
    def get_dimensionality_reference_property(cls) -> str | None:
        return "object_detection_predictions"

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [*DETECTIONS_KINDS])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsClassesReplacementBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsClassesReplacementManifest

    def run(
        self,
        object_detection_predictions: sv.Detections | None,
        classification_predictions: Batch[Any] | None,
        fallback_class_name: str | None,
        fallback_class_id: int | None,
    ) -> BlockResult:
        """`predictions`: the detections with their new classes; None without detections."""
        detections = object_detection_predictions
        if detections is None:
            return {"predictions": None}
        # The last part of an index is the place of the crop among those of one image.
        predictions = (
            []
            if classification_predictions is None
            else [
                (index[-1], prediction)
                for index, prediction in classification_predictions.iter_with_indices()
            ]
        )
        fallback = None
        if fallback_class_name:
            class_id = LARGEST_ID if fallback_class_id is None else fallback_class_id
            fallback = Answer(fallback_class_name, class_id, 0.0)
        answers = answers_for(detections, predictions)
        return {"predictions": with_answers(detections, answers, fallback)}
