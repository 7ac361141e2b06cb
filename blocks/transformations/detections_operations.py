"""Chains of operations on detections: what the filter and the transformation block share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType, QueryCompiler

if TYPE_CHECKING:
    import supervision as sv


class DetectionsOperationsManifest(WorkflowBlockManifest):
    predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Predictions",
        description="Detections that the operations start from.",
        examples=["$steps.model.predictions"],
    )
    operations: list[AllOperationsType] = Field(
        title="Operations",
        description="Operations in their order; the last one must give detections.",
        examples=[[{"type": "SortDetections", "mode": "confidence", "ascending": False}]],
    )
    operations_parameters: dict[str, Selector()] = Field(
        default_factory=dict,
        title="Operations Parameters",
        description="Named values that operations may use.",
        examples=[{"image": "$inputs.image", "zone": "$inputs.zone"}],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions"]

    @classmethod
    def get_parameters_accepting_batches_and_scalars(cls) -> list[str]:
        return ["operations_parameters"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [*DETECTIONS_KINDS])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsOperations(WorkflowBlock):
    """Runs a chain of operations on the detections of each image."""

    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._compiler = QueryCompiler(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    def run(
        self,
        predictions: Batch[sv.Detections],
        operations: list[AllOperationsType],
        operations_parameters: dict[str, Any],
    ) -> BlockResult:
        """`predictions`: what the last operation gives for each image."""
        chain = self._compiler.operations(operations)
        size = len(predictions)
        columns = {
            name: value.broadcast(size).content if isinstance(value, Batch) else [value] * size
            for name, value in operations_parameters.items()
        }
        return [
            {"predictions": self.checked(chain(detections, _row(columns, index)))}
            for index, detections in enumerate(predictions)
        ]

    def checked(self, value: Any) -> Any:
        """What the last operation gave, if it is detections."""
        return _detections(value)


def _row(columns: Mapping[str, list[Any]], index: int) -> dict[str, Any]:
    return {name: column[index] for name, column in columns.items()}


def _detections(value: Any) -> sv.Detections:
    import supervision as sv

    if not isinstance(value, sv.Detections):
        raise InvalidFieldValueError(
            f"the operations must give detections, the last one gave {type(value).__name__}"
        )
    return value
