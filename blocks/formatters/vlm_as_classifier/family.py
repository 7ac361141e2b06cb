"""What the versions of VLM As Classifier share: fields, and the way from text to classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from pydantic import Field

from blocks.formatters.class_names import NOT_LISTED, checked_classes, ids_of_classes
from blocks.formatters.confidences import UnreadableAnswerError, confidence_of
from blocks.formatters.model_json import find_json
from blocks.kinds.classification import classification_lineage
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    LANGUAGE_MODEL_OUTPUT_KIND,
    LIST_OF_VALUES_KIND,
)


class VLMAsClassifierManifest(WorkflowBlockManifest):
    """Fields of every version but `type`."""

    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The image that the model was shown.",
        examples=["$inputs.image", "$steps.crop.crops"],
    )
    vlm_output: Selector(kind=[LANGUAGE_MODEL_OUTPUT_KIND]) = Field(
        title="VLM Output",
        description="What the model answered: JSON, alone, fenced or between words.",
        examples=["$steps.vlm.output"],
    )
    classes: Selector(kind=[LIST_OF_VALUES_KIND]) | list[str] = Field(
        title="Classes",
        description=(
            "Names of the classes, whose places are their ids; other classes get the id -1."
        ),
        examples=[["cat", "dog"], "$inputs.classes", "$steps.vlm.classes"],
    )

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class VLMAsClassifierBlock(WorkflowBlock):
    """The block of every version."""

    returns_futures = False

    def run(self, image: WorkflowImageData, vlm_output: Any, classes: list[str]) -> BlockResult:
        """`predictions`: the classification, None where the text cannot be read; `error_status`:
        whether it cannot; `inference_id`: a fresh id, that of the classification.
        """
        ids = ids_of_classes(checked_classes(classes))
        inference_id = str(uuid4())
        document = find_json(vlm_output) if isinstance(vlm_output, str) else vlm_output
        try:
            answer = _answer(document, ids)
        except UnreadableAnswerError:
            return {"error_status": True, "predictions": None, "inference_id": inference_id}
        height, width = image.size
        predictions = {
            "image": {"width": width, "height": height},
            **answer,
            **classification_lineage(image, inference_id),
        }
        return {"error_status": False, "predictions": predictions, "inference_id": inference_id}


def _answer(document: Any, ids: Mapping[str, int]) -> dict[str, Any]:
    """The classes of an answer, in the form of a classification of one class or of several.

    Args:
        document: the JSON of the answer.
        ids: ids of the classes that the model was asked for.
    """
    if isinstance(document, Mapping):
        if "class_name" in document and "confidence" in document:
            return _one_class(document, ids)
        if isinstance(document.get("predicted_classes"), list):
            return _several_classes(document["predicted_classes"], ids)
    raise UnreadableAnswerError("there is no class")


def _one_class(document: Mapping[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
    top, confidence = _name(document["class_name"]), confidence_of(document["confidence"])
    # A class that is not listed comes first.
    known = ids if top in ids else {top: NOT_LISTED, **ids}
    classes = [
        {"class": name, "class_id": class_id, "confidence": confidence if name == top else 0.0}
        for name, class_id in known.items()
    ]
    return {"predictions": classes, "top": top, "confidence": confidence}


def _several_classes(entries: list[Any], ids: Mapping[str, int]) -> dict[str, Any]:
    said: dict[str, float] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise UnreadableAnswerError("an entry is no object")
        name, confidence = _name(entry.get("class")), confidence_of(entry.get("confidence"))
        said[name] = max(confidence, said.get(name, 0.0))
    names = [*ids, *(name for name in said if name not in ids)]
    classes = {
        name: {"confidence": said.get(name, 0.0), "class_id": ids.get(name, NOT_LISTED)}
        for name in names
    }
    return {"predictions": classes, "predicted_classes": list(said)}


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise UnreadableAnswerError("a class is no text")
    return value
