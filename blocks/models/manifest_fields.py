"""The fields that manifests of model blocks are composed of. A field of one family alone does not
belong here.

Pydantic collects fields from the last base to the first, so a manifest lists its parts from last
field to first.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field, model_validator

from execution_engine.block_api import Selector, WorkflowBlockManifest
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    ROBOFLOW_MODEL_ID_KIND,
    ROBOFLOW_PROJECT_KIND,
    STRING_KIND,
)

NO_ACTIVE_LEARNING = "predictions are never uploaded to a platform's data set"
MASKS_STAY_FULL = "this version keeps masks at full resolution; version 5 honours the field"
MASKS_ARE_CROPS = "masks travel as crops, which need no choice of representation"
CONFIDENCE_MODES = ("best", "default", "custom")
DEFAULT_CONFIDENCE_MODES = ("default", "custom")


class ModelManifest(WorkflowBlockManifest):
    """Images and the model to run on them."""

    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The images to run the model on.",
        examples=["$inputs.image", "$steps.crop.crops"],
        validation_alias=AliasChoices("images", "image"),
    )
    model_id: Selector(kind=[ROBOFLOW_MODEL_ID_KIND]) | str = Field(
        title="Model",
        description="Id (`name/version`), path or alias of the model.",
        examples=["parts-seg/1", "$inputs.model_id"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        """The model runs on all images of a batch in one call."""
        return ["images"]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class ConfidenceField(ModelManifest):
    """One confidence threshold."""

    confidence: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.4,
        description="Lowest score of a result, 0 to 1.",
        examples=[0.3, "$inputs.confidence"],
    )


class ConfidenceModeFields(ModelManifest):
    """The model's own thresholds, or one of the user's."""

    confidence_mode: Literal["best", "default", "custom"] | Selector(kind=[STRING_KIND]) = Field(
        default="best",
        description="`best`: the thresholds the model's package recommends; `default`: the model's "
        "default; `custom`: `custom_confidence`.",
        examples=["best", "custom"],
    )
    custom_confidence: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None = Field(
        default=0.4,
        description="Lowest score of a result in mode `custom`, 0 to 1.",
        examples=[0.3, "$inputs.confidence"],
        json_schema_extra={"relevant_for": {"confidence_mode": {"values": ["custom"]}}},
    )

    @model_validator(mode="after")
    def _custom_needs_a_value(self) -> ConfidenceModeFields:
        if self.confidence_mode == "custom" and self.custom_confidence is None:
            raise ValueError("`custom_confidence` is needed when `confidence_mode` is `custom`")
        return self


class DefaultConfidenceFields(ConfidenceModeFields):
    """The model's default threshold, or one of the user's; packages recommend none."""

    confidence_mode: Literal["default", "custom"] | Selector(kind=[STRING_KIND]) = Field(
        default="default",
        description="`default`: the model's default; `custom`: `custom_confidence`.",
        examples=["default", "custom"],
    )


class BoxFields(WorkflowBlockManifest):
    """Which boxes are kept."""

    class_filter: list[str] | Selector(kind=[LIST_OF_VALUES_KIND]) | None = Field(
        default=None,
        description="Names of the classes to report; all when not given.",
        examples=[["person", "car"], "$inputs.classes"],
    )
    iou_threshold: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.3,
        description="Boxes that overlap more than this (IoU, 0 to 1) are one object.",
        examples=[0.4, "$inputs.iou_threshold"],
    )
    max_detections: int | Selector(
        kind=[INTEGER_KIND]
    ) = Field(default=300, description="Most results of an image.", examples=[100])
    class_agnostic_nms: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        description="Whether boxes of different classes suppress each other.",
        examples=[True],
    )
    max_candidates: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=3000,
        description="Most boxes that enter the suppression of overlaps.",
        examples=[1000],
    )


class ActiveLearningFields(WorkflowBlockManifest):
    """Fields of the hosted platform, accepted and without effect here."""

    disable_active_learning: bool | Selector(
        kind=[BOOLEAN_KIND]
    ) = Field(default=True, description="Whether predictions are kept from a platform's data set.")
    active_learning_target_dataset: Selector(kind=[ROBOFLOW_PROJECT_KIND]) | str | None = Field(
        default=None, description="Data set of a platform to upload predictions to."
    )

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        """Nothing is uploaded."""
        return {
            **super().get_inert_fields(),
            "disable_active_learning": NO_ACTIVE_LEARNING,
            "active_learning_target_dataset": NO_ACTIVE_LEARNING,
        }


def confidence_of(
    mode: str, custom: float | None, accepted: tuple[str, ...] = CONFIDENCE_MODES
) -> Any:
    """The confidence parameter of a call: a number, `best` or `default`.

    Args:
        mode: `custom`, or the name of the model's own thresholds.
        custom: the threshold in mode `custom`, 0..1.
        accepted: the modes a block has.

    Raises:
        ValueError: the mode is unknown, or it is `custom` and no number is given.
    """
    if mode not in accepted:
        *others, last = accepted
        raise ValueError(
            f"Field `confidence_mode` must be {', '.join(others)} or {last}, got {mode!r}."
        )
    if mode != "custom":
        return mode
    if custom is None:
        raise ValueError("Field `custom_confidence` is needed in mode `custom`.")
    return custom
