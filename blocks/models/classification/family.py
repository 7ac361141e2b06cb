"""Single-label classification, all versions: the class of each image of a batch. Knows no
version."""

from __future__ import annotations

from numbers import Real
from typing import Any

from blocks.models.classification_rows import Classified, classification_row
from blocks.models.manifest_fields import ActiveLearningFields
from blocks.models.model_block import ModelBlock
from execution_engine.block_api import Batch, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Single-Label Classification Model",
    "short_description": "Gives each image one class.",
    "long_description": (
        "Runs a classifier on a batch of images and gives, for each, the class it shows and the "
        "scores of the classes. Classes with a score below the threshold are left out; when none "
        "is left, the top class is an empty text. The model is named by its id in the model "
        "folder, a path or an alias."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["classifier", "category", "label"],
}
MODEL_TASK = "classification"


class ClassificationFields(ActiveLearningFields):
    """Fields that every version has after its confidence."""

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [MODEL_TASK]


class ClassificationBlock(ModelBlock):
    """The run of every version."""

    def classify(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: Any,
        *,
        reports_model: bool,
    ) -> list[dict[str, Any]]:
        """One result an image.

        Args:
            images: the batch.
            model_id: the model.
            confidence: lowest score of a class that is reported, 0..1; `default` or None for all.
            reports_model: whether the result names the model.

        Raises:
            ValueError: the confidence is a number outside of 0..1, or the model does another task.
        """
        lowest = _lowest_score(confidence)
        predictions = self.infer(model_id, images, {}, MODEL_TASK)
        return [
            classification_row(
                Classified(prediction, image, lowest),
                self.classified,
                model_id if reports_model else None,
            )
            for prediction, image in zip(predictions, images, strict=True)
        ]


def _lowest_score(confidence: Any) -> float:
    if confidence is None or confidence == "default":
        return 0.0
    number = isinstance(confidence, Real) and not isinstance(confidence, bool)
    if not number or not 0 <= confidence <= 1:
        raise InvalidFieldValueError(
            f"The confidence must be a number from 0 to 1, got {short_text(confidence)}."
        )
    return float(confidence)
