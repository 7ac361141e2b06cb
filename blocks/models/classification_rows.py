"""Results of classification blocks, one an image. How classes are chosen belongs to
`blocks.kinds.classification`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from blocks.kinds.classification import LOWEST_SCORE, classification_lineage, dictionary_of
from execution_engine.block_api import WorkflowImageData

if TYPE_CHECKING:
    from inference_models.predictions import (
        ClassificationPrediction,
        MultiLabelClassificationPrediction,
    )


@dataclass(frozen=True, slots=True)
class Classified:
    """What a model said of one image.

    Attributes:
        prediction: the prediction.
        image: the image.
        lowest: lowest score of a class that is reported, 0..1, for single labels.
        inference_id: id of the call of the model.
    """

    prediction: ClassificationPrediction | MultiLabelClassificationPrediction
    image: WorkflowImageData
    lowest: float = 0.0
    inference_id: str = field(default_factory=lambda: str(uuid4()))

    def with_lineage(self) -> ClassificationPrediction | MultiLabelClassificationPrediction:
        """The prediction with all that its dictionary says in the metadata."""
        lineage = classification_lineage(self.image, self.inference_id)
        return replace(self.prediction, metadata={**lineage, LOWEST_SCORE: self.lowest})

    def dictionary(self) -> dict[str, Any]:
        """The dictionary in which the classification travels on the numpy side."""
        return dictionary_of(self.with_lineage())


def classification_row(
    classified: Classified, form: Callable[[Classified], Any], model_id: str | None
) -> dict[str, Any]:
    """One result with `predictions`, `inference_id` and, when given, `model_id`.

    Args:
        classified: what the model said of the image.
        form: makes what travels of it.
        model_id: the model, for blocks that report it.
    """
    row: dict[str, Any] = {
        "predictions": form(classified),
        "inference_id": classified.inference_id,
    }
    if model_id is not None:
        row["model_id"] = model_id
    return row
