"""Cosine of the angle between two embeddings."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.kinds.embeddings import unit_vector
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import EMBEDDING_KIND, FLOAT_KIND


class CosineSimilarityManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Cosine Similarity",
            "version": "v1",
            "short_description": "Compare two embeddings by the angle between them.",
            "long_description": (
                "Returns the cosine of the angle between two embeddings of the same length: 1 for "
                "the same direction, 0 for unrelated ones, -1 for opposite ones. An embedding of "
                "zeros has no direction and gives 0."
            ),
            "license": "Apache-2.0",
            "block_type": "math",
            "search_keywords": ["embedding", "distance", "similar", "vector"],
        }
    )
    type: Literal["roboflow_core/cosine_similarity@v1"]
    embedding_1: Selector(kind=[EMBEDDING_KIND]) = Field(
        title="First Embedding",
        description="Embedding of an image or a text.",
        examples=["$steps.clip_image.embedding"],
    )
    embedding_2: Selector(kind=[EMBEDDING_KIND]) = Field(
        title="Second Embedding",
        description="Embedding of an image or a text from the same model.",
        examples=["$steps.clip_text.embedding"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("similarity", [FLOAT_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class CosineSimilarityBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CosineSimilarityManifest

    def run(self, embedding_1: Any, embedding_2: Any) -> BlockResult:
        """`similarity`: a float in [-1, 1]."""
        first = unit_vector(embedding_1, "embedding_1")
        second = unit_vector(embedding_2, "embedding_2")
        if first.shape != second.shape:
            raise InvalidFieldValueError(
                "cosine_similarity needs embeddings of the same length, got "
                f"embedding_1 of {first.size} and embedding_2 of {second.size} numbers"
            )
        return {"similarity": float(np.clip(first @ second, -1.0, 1.0))}
