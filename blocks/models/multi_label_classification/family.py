"""Multi-label classification, all versions: every class that an image shows. Knows no version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blocks.models.classification_rows import Classified, classification_row
from blocks.models.manifest_fields import ActiveLearningFields
from blocks.models.model_block import ModelBlock
from execution_engine.block_api import Batch, WorkflowImageData

if TYPE_CHECKING:
    from inference_models.predictions.whole_image import MultiLabelClassificationPrediction

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Multi-Label Classification Model",
    "short_description": "Gives each image all classes it shows.",
    "long_description": (
        "Runs a classifier on a batch of images and gives, for each, the scores of all classes and "
        "the names of those that reach the threshold. The model is named by its id in the model "
        "folder, a path or an alias."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["classifier", "tags", "labels"],
}
MODEL_TASK = "multi-label-classification"


class MultiLabelClassificationFields(ActiveLearningFields):
    """Fields that every version has after its confidence."""

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [MODEL_TASK]


class MultiLabelClassificationBlock(ModelBlock):
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
            confidence: lowest score of a predicted class, 0..1, `best` or `default`.
            reports_model: whether the result names the model.

        Raises:
            ValueError: the model does another task, or two of its classes have the same name.
        """
        predictions = self.infer(model_id, images, {"confidence": confidence}, MODEL_TASK)
        return [
            classification_row(
                Classified(_named_apart(prediction, model_id), image),
                self.classified,
                model_id if reports_model else None,
            )
            for prediction, image in zip(predictions, images, strict=True)
        ]


def _named_apart(
    prediction: MultiLabelClassificationPrediction, model_id: str
) -> MultiLabelClassificationPrediction:
    """The prediction, whose classes all have different names."""
    names = prediction.class_names or ()
    if len(set(names)) < len(names):
        raise ValueError(
            f"Field `model_id`: classes of model '{model_id}' share a name ({', '.join(names)}); "
            "multi-label predictions are told apart by name."
        )
    return prediction
