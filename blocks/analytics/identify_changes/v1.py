"""Finds moments at which embeddings change faster or slower than before."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.embedding_history import LONGEST_WINDOW, window_length
from blocks.analytics.identify_changes.averages import EXPONENTIAL, Memory
from blocks.analytics.identify_changes.history import ChangeHistory
from blocks.kinds.embeddings import unit_vector
from blocks.parameters import number, whole_number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    EMBEDDING_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INTEGER_KIND,
)

Share = Annotated[float, Field(ge=0, le=1)]
SMOOTHING = 0.1


class IdentifyChangesManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Identify Changes",
            "version": "v1",
            "short_description": "Find moments at which embeddings change unusually.",
            "long_description": (
                "Compares each embedding with the average of those before it, and how well the two "
                "agree with how well embeddings agreed until now. When that is rare, something "
                "changes faster, or slower, than before. The first embeddings are never outliers. "
                "The block keeps one history for as long as the workflow is loaded."
            ),
            "license": "Apache-2.0",
            "block_type": "video",
            "search_keywords": ["scene change", "drift", "anomaly", "clip", "moving average"],
        }
    )
    type: Literal["roboflow_core/identify_changes@v1"]
    strategy: Literal[
        "Exponential Moving Average (EMA)",
        "Simple Moving Average (SMA)",
        "Sliding Window",
    ] = Field(
        default=EXPONENTIAL,
        title="Strategy",
        description=(
            "What is usual: the near past more than the far (EMA), all that was (SMA), or the last "
            "embeddings only (Sliding Window)."
        ),
        examples=["Simple Moving Average (SMA)"],
    )
    embedding: Selector(kind=[EMBEDDING_KIND]) = Field(
        title="Embedding",
        description="Embedding of the image or text of the moment.",
        examples=["$steps.clip.embedding"],
    )
    threshold_percentile: Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | Share = Field(
        default=0.2,
        title="Threshold Percentile",
        description="Share of embeddings that are outliers, at both ends together, 0 to 1.",
        examples=[0.2, "$inputs.threshold_percentile"],
    )
    warmup: Selector(kind=[INTEGER_KIND]) | Annotated[int, Field(ge=0)] = Field(
        default=3,
        title="Warm-up",
        description="How many embeddings come first, of which none is an outlier.",
        examples=[3, "$inputs.warmup"],
    )
    smoothing_factor: Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | Share | None = Field(
        default=SMOOTHING,
        title="Smoothing Factor",
        description=(
            f"Weight of the newest embedding in the exponential average, 0 to 1; {SMOOTHING} when "
            "empty."
        ),
        examples=[0.1, "$inputs.smoothing_factor"],
    )
    window_size: (
        Selector(kind=[INTEGER_KIND]) | Annotated[int, Field(ge=1, le=LONGEST_WINDOW)] | None
    ) = Field(
        default=10,
        title="Window Size",
        description=(
            f"How many embeddings the sliding window holds; the last {LONGEST_WINDOW} when empty."
        ),
        examples=[10, "$inputs.window_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("is_outlier", [BOOLEAN_KIND]),
            OutputDefinition("percentile", [FLOAT_ZERO_TO_ONE_KIND]),
            OutputDefinition("z_score", [FLOAT_KIND]),
            OutputDefinition("average", [EMBEDDING_KIND]),
            OutputDefinition("std", [EMBEDDING_KIND]),
            OutputDefinition("warming_up", [BOOLEAN_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class IdentifyChangesBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._history = ChangeHistory()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return IdentifyChangesManifest

    def run(
        self,
        strategy: str,
        embedding: Any,
        threshold_percentile: float,
        warmup: int,
        smoothing_factor: float | None,
        window_size: int | None,
    ) -> BlockResult:
        """`z_score`: how much better than usual the embedding agrees with the average before it, in
        standard deviations; `percentile`: share of a normal distribution that agrees better;
        `is_outlier`: whether that is nearer to 0 or 1 than half the threshold; `average`, `std`:
        lists of n floats, of the embeddings at length 1; `warming_up`.
        """
        margin = number("threshold_percentile", threshold_percentile, 0, 1) / 2
        smoothing = SMOOTHING if smoothing_factor is None else smoothing_factor
        change = self._history.add(
            unit_vector(embedding, "embedding"),
            strategy,
            whole_number("warmup", warmup, minimum=0),
            Memory(number("smoothing_factor", smoothing, 0, 1), window_length(window_size)),
        )
        extreme = change.percentile <= margin or change.percentile >= 1 - margin
        return {
            "is_outlier": extreme and not change.warming_up,
            "percentile": change.percentile,
            "z_score": change.z_score,
            "average": change.average.tolist(),
            "std": change.std.tolist(),
            "warming_up": change.warming_up,
        }
