"""Cosine of the angle between two embeddings."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

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
        first = _unit_vector(embedding_1, "embedding_1")
        second = _unit_vector(embedding_2, "embedding_2")
        if first.shape != second.shape:
            raise InvalidFieldValueError(
                "cosine_similarity needs embeddings of the same length, got "
                f"embedding_1 of {first.size} and embedding_2 of {second.size} numbers"
            )
        return {"similarity": float(np.clip(first @ second, -1.0, 1.0))}


def _unit_vector(embedding: Any, name: str) -> np.ndarray:
    """(n,) float64 vector of length 1, or of zeros; of a (1, n) array the row is taken."""
    try:
        vector = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFieldValueError(
            f"{name} must be a list of numbers, got {type(embedding).__name__}"
        ) from error
    if vector.ndim == 2 and vector.shape[0] == 1:
        vector = vector[0]
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidFieldValueError(
            f"{name} must be one row of numbers, got an array of shape {vector.shape}"
        )
    if not np.isfinite(vector).all():
        raise InvalidFieldValueError(f"{name} holds numbers that are not finite")
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(vector).max()
    if largest == 0:
        return vector
    scaled = vector / largest
    return scaled / np.linalg.norm(scaled)
