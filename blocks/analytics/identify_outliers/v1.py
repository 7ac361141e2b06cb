"""Finds embeddings that point elsewhere than those before them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.embedding_history import LONGEST_WINDOW, window_length
from blocks.analytics.identify_outliers.window import EmbeddingWindow
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
    FLOAT_ZERO_TO_ONE_KIND,
    INTEGER_KIND,
)


class IdentifyOutliersManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Identify Outliers",
            "version": "v1",
            "short_description": "Find embeddings that differ from those before them.",
            "long_description": (
                "Remembers the last embeddings it was given and ranks each new one by how well it "
                "agrees with their mean direction. An embedding that agrees less, or more, than "
                "nearly all others is an outlier. The first embeddings never are. The block keeps "
                "one history for as long as the workflow is loaded."
            ),
            "license": "Apache-2.0",
            "block_type": "video",
            "search_keywords": ["anomaly", "drift", "novelty", "clip", "sampling"],
        }
    )
    type: Literal["roboflow_core/identify_outliers@v1"]
    embedding: Selector(kind=[EMBEDDING_KIND]) = Field(
        title="Embedding",
        description="Embedding of the image or text of the moment.",
        examples=["$steps.clip.embedding"],
    )
    threshold_percentile: (
        Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | Annotated[float, Field(ge=0, le=1)]
    ) = Field(
        default=0.05,
        title="Threshold Percentile",
        description="Share of embeddings at either end of the ranks that are outliers, 0 to 1.",
        examples=[0.05, "$inputs.threshold_percentile"],
    )
    warmup: Selector(kind=[INTEGER_KIND]) | Annotated[int, Field(ge=0)] = Field(
        default=3,
        title="Warm-up",
        description="How many embeddings come first, of which none is an outlier.",
        examples=[3, "$inputs.warmup"],
    )
    window_size: (
        Selector(kind=[INTEGER_KIND]) | Annotated[int, Field(ge=1, le=LONGEST_WINDOW)] | None
    ) = Field(
        default=32,
        title="Window Size",
        description=(
            f"How many embeddings are compared, the new one included; the last {LONGEST_WINDOW} "
            "when empty."
        ),
        examples=[32, "$inputs.window_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("is_outlier", [BOOLEAN_KIND]),
            OutputDefinition("percentile", [FLOAT_ZERO_TO_ONE_KIND]),
            OutputDefinition("warming_up", [BOOLEAN_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class IdentifyOutliersBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._window = EmbeddingWindow()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return IdentifyOutliersManifest

    def run(
        self,
        embedding: Any,
        threshold_percentile: float,
        warmup: int,
        window_size: int | None,
    ) -> BlockResult:
        """`percentile`: where the embedding stands, 0 (agrees least with the others) to 1;
        `is_outlier`: whether that is nearer to an end than the threshold; `warming_up`.
        """
        threshold = number("threshold_percentile", threshold_percentile, 0, 1)
        standing = self._window.add(
            unit_vector(embedding, "embedding"),
            whole_number("warmup", warmup, minimum=0),
            window_length(window_size),
        )
        low, high = threshold, 1 - threshold
        extreme = standing.percentile < low or standing.percentile > high
        return {
            "is_outlier": extreme and not standing.warming_up,
            "percentile": standing.percentile,
            "warming_up": standing.warming_up,
        }
