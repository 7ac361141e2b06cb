"""Puts predictions made on slices or crops of an image back onto the image."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.fusion.detections_stitch.children import stitched
from blocks.fusion.detections_stitch.overlap_filter import OverlapFilter, filter_overlaps
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)


class DetectionsStitchManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Stitch",
            "version": "v1",
            "short_description": "Join predictions on slices of an image into one set.",
            "long_description": (
                "Moves what a model found on slices or crops of an image to their place in the "
                "image, joins it, and filters objects that several slices saw: by dropping all but "
                "the best (nms), by joining them into one (nmm), or not at all. Only detections of "
                "one class can be the same object. The reference image is the image that the "
                "slices were cut from. Masks stay crops of the image."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["sahi", "slicer", "tiles", "merge", "nms", "nmm", "small objects"],
        }
    )
    type: Literal["roboflow_core/detections_stitch@v1"]
    reference_image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Reference Image",
        description="Image that the slices or crops were cut from.",
        examples=["$inputs.image"],
    )
    predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Predictions",
        description="Predictions made on the slices or crops.",
        examples=["$steps.model.predictions"],
    )
    overlap_filtering_strategy: Literal["none", "nms", "nmm"] | Selector(
        kind=[STRING_KIND]
    ) = Field(
        default="nms",
        title="Overlap Filtering Strategy",
        description="What is done with objects that several slices saw.",
        examples=["nms", "$inputs.overlap_filtering_strategy"],
    )
    iou_threshold: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.3,
        title="IoU Threshold",
        description="Intersection over union from which on two detections are one object.",
        examples=[0.4, "$inputs.iou_threshold"],
    )

    @classmethod
    def get_input_dimensionality_offsets(cls) -> dict[str, int]:
        return {"predictions": 1}

    @classmethod
    def get_dimensionality_reference_property(cls) -> str | None:
        return "reference_image"

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "predictions",
                [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            )
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsStitchBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsStitchManifest

    def run(
        self,
        reference_image: WorkflowImageData,
        predictions: Batch,
        overlap_filtering_strategy: OverlapFilter,
        iou_threshold: float,
    ) -> BlockResult:
        """`predictions`: the detections of all slices in px of the reference image."""
        children = [child for child in predictions if child is not None]
        whole = stitched(children, reference_image)
        return {"predictions": filter_overlaps(whole, overlap_filtering_strategy, iou_threshold)}
