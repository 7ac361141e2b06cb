"""What the versions of VLM As Detector share: fields, and the way from text to detections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from pydantic import Field, model_validator

from blocks.formatters.class_names import NOT_LISTED, checked_classes, ids_of_classes
from blocks.formatters.confidences import UnreadableAnswerError
from blocks.formatters.model_json import find_json
from blocks.formatters.vlm_as_detector.answers import ANSWER_FORMS, read_objects
from blocks.formatters.vlm_as_detector.florence import FLORENCE_TASKS, read_florence
from blocks.kinds.detections import attach_lineage, keys
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    LANGUAGE_MODEL_OUTPUT_KIND,
    LIST_OF_VALUES_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

FLORENCE = "florence-2"
DETECTION = "object-detection"
NEED_CLASSES = "`classes` must be given for every model but florence-2"


class VLMAsDetectorManifest(WorkflowBlockManifest):
    """Fields of every version but `type`, `model_type` and `task_type`."""

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
    classes: Selector(kind=[LIST_OF_VALUES_KIND]) | list[str] | None = Field(
        title="Classes",
        description=(
            "Names of the classes, whose places are their ids; other classes get the id -1. "
            "Florence-2 needs them for open vocabularies only."
        ),
        examples=[["car", "person"], "$inputs.classes", "$steps.vlm.classes"],
    )

    @model_validator(mode="after")
    def _model_has_task(self) -> VLMAsDetectorManifest:
        model, task = getattr(self, "model_type", FLORENCE), getattr(self, "task_type", DETECTION)
        if model != FLORENCE and task != DETECTION:
            raise ValueError(
                f"answers of {model} to the task {task} cannot be read; of models other than "
                f"{FLORENCE} only those to {DETECTION} can"
            )
        if model != FLORENCE and self.classes is None:
            raise ValueError(NEED_CLASSES)
        return self

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class VLMAsDetectorBlock(WorkflowBlock):
    """The block of every version."""

    returns_futures = False

    def run(
        self,
        image: WorkflowImageData,
        vlm_output: Any,
        classes: list[str] | None,
        model_type: str,
        task_type: str,
    ) -> BlockResult:
        """`predictions`: detections in px of the image, None where the text cannot be read;
        `error_status`: whether it cannot; `inference_id`: a fresh id, that of the detections.
        """
        if classes is None and model_type != FLORENCE:
            raise InvalidFieldValueError(f"{NEED_CLASSES}, got None")
        names = checked_classes(classes or [])
        inference_id = str(uuid4())
        try:
            rows = _read(vlm_output, names, model_type, task_type, image.size)
        except UnreadableAnswerError:
            return {"error_status": True, "predictions": None, "inference_id": inference_id}
        predictions = attach_lineage(rows, image, DETECTION, inference_id)
        return {"error_status": False, "predictions": predictions, "inference_id": inference_id}


def _read(
    answer: Any, classes: list[str], model: str, task: str, size: tuple[int, int]
) -> sv.Detections:
    document = find_json(answer) if isinstance(answer, str) else answer
    if model == FLORENCE:
        found = read_florence(document, FLORENCE_TASKS[task], classes)
        extra = {} if found.corners is None else {keys.ORIENTED_BOX: found.corners}
        scores = [1.0] * len(found.names)
        return _detections(found.xyxy, found.names, found.class_ids, scores, extra)
    ids = ids_of_classes(classes)
    objects = read_objects(document, ANSWER_FORMS[model], size)
    return _detections(
        [found.corners for found in objects],
        [found.name for found in objects],
        [ids.get(found.name, NOT_LISTED) for found in objects],
        [found.confidence for found in objects],
        {},
    )


def _detections(
    boxes: Any, names: list[str], ids: list[int], scores: list[float], extra: dict[str, Any]
) -> sv.Detections:
    import supervision as sv

    return sv.Detections(
        xyxy=np.asarray(boxes, np.float32).reshape(-1, 4),
        class_id=np.asarray(ids, np.int64),
        # Not float32: 0.7 in the text stays 0.7 for thresholds and for the way out.
        confidence=np.asarray(scores, np.float64),
        data={keys.CLASS_NAME: np.array(names, dtype=str), **extra},
    )
