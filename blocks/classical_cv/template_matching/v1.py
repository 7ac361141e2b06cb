"""Template Matching, version 1. The search is in `family`."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AliasChoices, ConfigDict, Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.template_matching.family import match_template
from blocks.kinds.detections.lineage import attach_lineage
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

CLASS_NAME = "template_match"


class TemplateMatchingManifest(ImageInputManifest):
    """Fields of a Template Matching step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Template Matching",
            "version": "v1",
            "short_description": "Finds copies of a small image in a large one.",
            "long_description": (
                "Compares the template with every place of the image by normalised "
                "cross-correlation. The copies must have the template's size and direction. "
                "Neighbouring matches of one copy are reduced to the best unless that is switched "
                "off; the correlation is the confidence of a match."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["pattern", "logo", "search", "correlation"],
        }
    )
    type: Literal["roboflow_core/template_matching@v1"]
    template: Selector(kind=[IMAGE_KIND]) = Field(
        title="Template Image",
        description="The image to look for.",
        examples=["$inputs.template", "$steps.crop.crops"],
        validation_alias=AliasChoices("template", "templates"),
    )
    matching_threshold: Selector(kind=[FLOAT_KIND]) | float = Field(
        default=0.8,
        title="Matching Threshold",
        description="Least correlation of a match, -1 to 1.",
        examples=[0.8, "$inputs.threshold"],
    )
    apply_nms: Selector(kind=[BOOLEAN_KIND]) | bool = Field(
        default=True,
        title="Apply NMS",
        description="Whether of overlapping matches only the best stays.",
        examples=[True, "$inputs.apply_nms"],
    )
    nms_threshold: Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | Annotated[float, Field(ge=0, le=1)] = (
        Field(
            default=0.5,
            title="NMS Threshold",
            description="Overlap (IoU) with a better match above which a match is dropped.",
            examples=[0.5, "$inputs.nms_threshold"],
        )
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The matches and their number."""
        return [
            OutputDefinition("predictions", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("number_of_matches", [INTEGER_KIND]),
        ]


class TemplateMatchingBlockV1(WorkflowBlock):
    """Finds copies of a small image in a large one."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return TemplateMatchingManifest

    def run(
        self,
        image: WorkflowImageData,
        template: WorkflowImageData,
        matching_threshold: float,
        apply_nms: bool,
        nms_threshold: float,
    ) -> BlockResult:
        """`predictions`: supervision detections in px of `image`, class 0 `template_match`, best
        first.
        """
        import supervision as sv

        boxes, scores = match_template(
            image.numpy_image, template.numpy_image, matching_threshold, apply_nms, nms_threshold
        )
        matches = sv.Detections(
            xyxy=boxes,
            confidence=scores,
            class_id=np.zeros(len(boxes), dtype=np.int64),
            data={"class_name": np.full(len(boxes), CLASS_NAME)},
        )
        predictions = attach_lineage(matches, image, prediction_type="object-detection")
        return {"predictions": predictions, "number_of_matches": len(predictions)}
