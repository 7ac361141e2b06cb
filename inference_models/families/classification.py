"""Class scores of whole images. Maps of classes and detections have their own modules."""

from __future__ import annotations

import numpy as np

from inference_models.errors import ModelRuntimeError
from inference_models.families.activation import sigmoid, softmax
from inference_models.families.request import ClassTable
from inference_models.packages.package import ModelPackage
from inference_models.packages.tasks import Task


def class_scores(scores: np.ndarray, package: ModelPackage, classes: ClassTable) -> np.ndarray:
    """The probability of each class of the model for one image, (C,) float32.

    Classes of the network that are no classes of the model take part in the softmax and are then
    left out.

    Args:
        scores: raw output of the image, one number a class.
        package: activation and class names.
        classes: which of the network's classes are classes of the model.

    Raises:
        ModelRuntimeError: the output has not one number a class.
    """
    flat = scores.reshape(-1)
    if len(flat) != len(classes.network_names):
        raise ModelRuntimeError(
            f"{package.location}: its output must have {len(classes.network_names)} numbers an "
            f"image, one a class, got {list(scores.shape)}"
        )
    post = package.inference.post_processing
    activation = "sigmoid" if package.task is Task.MULTI_LABEL_CLASSIFICATION else "softmax"
    fused = False
    if post is not None and post.type != "nms":
        activation, fused = post.type, post.fused
    if fused:
        probabilities = flat.astype(np.float32)
    elif activation == "sigmoid":
        probabilities = sigmoid(flat)
    else:
        probabilities = softmax(flat)
    return probabilities[classes.to_model[:-1] >= 0]
