"""Keeps the detections that are sure enough for their class."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import select
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
from execution_engine.kinds.catalogue import DICTIONARY_KIND, FLOAT_ZERO_TO_ONE_KIND

if TYPE_CHECKING:
    import supervision as sv

Share = Annotated[float, Field(ge=0, le=1)]


class PerClassConfidenceFilterManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Per-Class Confidence Filter",
            "version": "v1",
            "short_description": "Keep detections by a confidence threshold for each class.",
            "long_description": (
                "Keeps the detections whose confidence reaches the threshold of their class. "
                "Classes without a threshold of their own use the default one."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["threshold", "score", "class", "false positives"],
        }
    )
    type: Literal["roboflow_core/per_class_confidence_filter@v1"]
    predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Predictions",
        description="Detections to filter.",
        examples=["$steps.model.predictions"],
    )
    class_thresholds: dict[str, Share] | Selector(kind=[DICTIONARY_KIND]) = Field(
        title="Class Thresholds",
        description="Least confidence by class name.",
        examples=[{"person": 0.3, "car": 0.7}, "$inputs.class_thresholds"],
    )
    default_threshold: Share | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.3,
        title="Default Threshold",
        description="Least confidence of all other classes.",
        examples=[0.3, "$inputs.default_threshold"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [*DETECTIONS_KINDS])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class PerClassConfidenceFilterBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PerClassConfidenceFilterManifest

    def run(
        self,
        predictions: Batch[sv.Detections],
        class_thresholds: dict[str, float],
        default_threshold: float,
    ) -> BlockResult:
        """`predictions`: the detections that reach the threshold of their class."""
        for name, threshold in class_thresholds.items():
            if not isinstance(threshold, Real) or isinstance(threshold, bool):
                raise InvalidFieldValueError(
                    f"`class_thresholds` must hold numbers, got {threshold!r:.60} for {name!r}"
                )
        class_thresholds = {
            name: number(f"class_thresholds[{name!r:.60}]", threshold)
            for name, threshold in class_thresholds.items()
        }
        default_threshold = number("default_threshold", default_threshold)
        return [
            {"predictions": sure_enough(detections, class_thresholds, default_threshold)}
            for detections in predictions
        ]


def sure_enough(
    detections: sv.Detections, thresholds: Mapping[str, float], default: float
) -> sv.Detections:
    """The detections whose confidence is at least the threshold of their class.

    Thresholds are compared in the precision of the confidences: a float32 score of 0.7 reaches 0.7.

    Args:
        detections: n rows; not changed.
        thresholds: least confidence by class name.
        default: least confidence of classes that `thresholds` lacks.

    Raises:
        ValueError: there are rows but no confidences or class names.
    """
    if len(detections) == 0:
        return detections
    names = detections.data.get(keys.CLASS_NAME)
    if detections.confidence is None or names is None:
        missing = keys.CLASS_NAME if names is None else "confidence"
        raise InvalidFieldValueError(f"the detections must carry `{missing}` to be filtered by it")
    least = np.array(
        [thresholds.get(str(name), default) for name in names], dtype=detections.confidence.dtype
    )
    return select(detections, detections.confidence >= least)
