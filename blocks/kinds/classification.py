"""The dictionary in which a classification of an image travels, and how a prediction becomes one.

On the tensor side the prediction itself travels, with the rest of the dictionary in its metadata.
Importing this loads neither torch nor the predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blocks.kinds.detections import keys
from execution_engine.block_api import WorkflowImageData

if TYPE_CHECKING:
    from inference_models.predictions import (
        ClassificationPrediction,
        MultiLabelClassificationPrediction,
    )

PREDICTION_TYPE = "classification"
LOWEST_SCORE = "lowest_score"


def classification_lineage(image: WorkflowImageData, inference_id: str) -> dict[str, Any]:
    """What a classification says of its image and of the call of the model."""
    return {
        keys.PARENT_ID: image.parent_metadata.parent_id,
        keys.ROOT_PARENT_ID: image.workflow_root_ancestor_metadata.parent_id,
        keys.PREDICTION_TYPE: PREDICTION_TYPE,
        keys.INFERENCE_ID: inference_id,
    }


def single_label(prediction: ClassificationPrediction, lowest: float) -> dict[str, Any]:
    """The classes by falling score, equal scores by id, and the first of them.

    Args:
        prediction: of one image.
        lowest: lowest score of a class that is reported, 0..1.
    """
    names = prediction.class_names or ()
    scores = prediction.to_numpy().confidence.tolist()
    order = sorted(range(len(scores)), key=lambda class_id: -scores[class_id])
    classes = [
        {"class": names[class_id], "class_id": class_id, "confidence": scores[class_id]}
        for class_id in order
        if scores[class_id] >= lowest
    ]
    top = classes[0] if classes else {"class": "", "confidence": 0.0}
    return {"predictions": classes, "top": top["class"], "confidence": top["confidence"]}


def multi_label(prediction: MultiLabelClassificationPrediction) -> dict[str, Any]:
    """Score and id of every class by name, and the names of the predicted ones by rising id."""
    found = prediction.to_numpy()
    names = found.class_names or ()
    classes = {
        name: {"confidence": score, "class_id": class_id}
        for class_id, (name, score) in enumerate(zip(names, found.confidence.tolist(), strict=True))
    }
    chosen = [names[class_id] for class_id in sorted(found.class_ids.tolist())]
    return {"predictions": classes, "predicted_classes": chosen}


def dictionary_of(
    prediction: ClassificationPrediction | MultiLabelClassificationPrediction,
) -> dict[str, Any]:
    """The dictionary of a prediction whose metadata hold the result of `classification_lineage`."""
    from inference_models.predictions import MultiLabelClassificationPrediction

    lineage = {key: value for key, value in prediction.metadata.items() if key != LOWEST_SCORE}
    if isinstance(prediction, MultiLabelClassificationPrediction):
        classes = multi_label(prediction)
    else:
        classes = single_label(prediction, prediction.metadata.get(LOWEST_SCORE, 0.0))
    height, width = prediction.image_size
    return {"image": {"width": width, "height": height}, **classes, **lineage}
