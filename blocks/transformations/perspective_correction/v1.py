"""Perspective Correction, version 1. The geometry is in `quadrilateral` and `predictions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import cv2
import numpy as np
from pydantic import AliasChoices, ConfigDict, Field

from blocks.parameters import picture_size
from blocks.transformations.perspective_correction.predictions import correct_predictions
from blocks.transformations.perspective_correction.quadrilateral import (
    is_polygon,
    largest_quadrilateral,
    rectify,
)
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

WHOLE_BOX = "ALL"
POLYGONS_FIELD = "perspective_polygons"
ANCHOR_FIELD = "extend_perspective_polygon_by_detections_anchor"


class PerspectiveCorrectionManifest(WorkflowBlockManifest):
    """Fields of a Perspective Correction step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Perspective Correction",
            "version": "v1",
            "short_description": "Shows a plane seen at an angle as if seen from straight above.",
            "long_description": (
                "Four points of the image that are the corners of a rectangle in the world define "
                "the plane. Predictions, and the image when asked for, are moved to that "
                "rectangle. The area can be extended so that it holds all detections."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["homography", "bird's eye", "warp", "rectify", "plane"],
        }
    )
    type: Literal["roboflow_core/perspective_correction@v1", "PerspectiveCorrection"]
    predictions: (
        Selector(kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND])
        | None
    ) = Field(
        default=None,
        description="Predictions to move to the rectangle.",
        examples=["$steps.model.predictions"],
    )
    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The image the polygon lies in.",
        examples=["$inputs.image", "$steps.crop.crops"],
        validation_alias=AliasChoices("images", "image"),
    )
    perspective_polygons: list | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        description=(
            "The corners (x, y) of the area: one polygon of four points for all images, or for "
            "each image a polygon or a list of polygons, of which the largest with four points "
            "counts."
        ),
        examples=[[[[0, 0], [0, 100], [100, 100], [100, 0]]], "$steps.zone.zones"],
    )
    transformed_rect_width: int | Selector(
        kind=[INTEGER_KIND]
    ) = Field(default=1000, description="Width of the rectangle in px.", examples=[1000])
    transformed_rect_height: int | Selector(
        kind=[INTEGER_KIND]
    ) = Field(default=1000, description="Height of the rectangle in px.", examples=[1000])
    extend_perspective_polygon_by_detections_anchor: str | Selector(kind=[STRING_KIND]) = Field(
        default="",
        description=(
            "Point of each box that the area is extended to contain, such as BOTTOM_CENTER; ALL "
            "for the whole box; empty to leave the area as it is."
        ),
        examples=["BOTTOM_CENTER", "ALL"],
    )
    warp_image: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        description="Whether the image is moved to the rectangle as well.",
        examples=[False, "$inputs.warp"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        """Images and predictions come together."""
        return ["images", "predictions"]

    @classmethod
    def get_parameters_accepting_batches_and_scalars(cls) -> list[str]:
        """Polygons and sizes may differ from image to image."""
        return [POLYGONS_FIELD, "transformed_rect_width", "transformed_rect_height"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Predictions and image in the rectangle, and its size after extension."""
        return [
            OutputDefinition(
                "corrected_coordinates",
                [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            ),
            OutputDefinition("warped_image", [IMAGE_KIND]),
            OutputDefinition("extended_transformed_rect_width", [INTEGER_KIND]),
            OutputDefinition("extended_transformed_rect_height", [INTEGER_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class PerspectiveCorrectionBlockV1(WorkflowBlock):
    """Moves predictions and images from a quadrilateral to a rectangle."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return PerspectiveCorrectionManifest

    def run(
        self,
        images: Batch[WorkflowImageData],
        predictions: Batch[sv.Detections] | None,
        perspective_polygons: Batch[Any] | list[Any],
        transformed_rect_width: Batch[int] | int,
        transformed_rect_height: Batch[int] | int,
        extend_perspective_polygon_by_detections_anchor: str,
        warp_image: bool,
    ) -> BlockResult:
        """One result an image; its outputs are None where its list of polygons is empty."""
        count = len(images)
        polygons = _polygons_by_image(perspective_polygons, count)
        widths = _by_image(transformed_rect_width, count)
        heights = _by_image(transformed_rect_height, count)
        detected = [None] * count if predictions is None else list(predictions)
        results = []
        for index, (image, detections) in enumerate(zip(images, detected, strict=True)):
            results.append(
                _correct(
                    image,
                    detections,
                    largest_quadrilateral(
                        polygons[index], f"Field `{POLYGONS_FIELD}` of image {index}"
                    ),
                    picture_size(
                        "transformed_rect_width",
                        widths[index],
                        "transformed_rect_height",
                        heights[index],
                        minimum=2,
                    ),
                    extend_perspective_polygon_by_detections_anchor,
                    warp_image,
                )
            )
        return results


def _correct(
    image: WorkflowImageData,
    detections: sv.Detections | None,
    polygon: np.ndarray | None,
    size_wh: tuple[int, int],
    anchor: str,
    warp_image: bool,
) -> dict[str, Any]:
    if polygon is None:
        names = [output.name for output in PerspectiveCorrectionManifest.describe_outputs()]
        return dict.fromkeys(names)
    points = _anchor_points(detections, anchor)
    rectification = rectify(polygon, *size_wh, points, f"Field `{POLYGONS_FIELD}`")
    # Detections far outside the polygon extend the rectangle.
    width, height = rectification.size_wh
    picture_size(
        "extended_transformed_rect_width", width, "extended_transformed_rect_height", height
    )
    warped = image
    if warp_image:
        pixels = cv2.warpPerspective(
            image.numpy_image, rectification.homography, rectification.size_wh
        )
        warped = WorkflowImageData.copy_and_replace(image, numpy_image=pixels)
    corrected = None if detections is None else correct_predictions(detections, rectification)
    return {
        "corrected_coordinates": corrected,
        "warped_image": warped,
        "extended_transformed_rect_width": rectification.size_wh[0],
        "extended_transformed_rect_height": rectification.size_wh[1],
    }


def _anchor_points(detections: sv.Detections | None, anchor: str) -> np.ndarray:
    """The points (n, 2) of the boxes that the area must contain."""
    if not anchor:
        return np.empty((0, 2))
    import supervision as sv

    known = sv.Position.list()
    if anchor != WHOLE_BOX and anchor not in known:
        raise InvalidFieldValueError(
            f"Field `{ANCHOR_FIELD}` must be empty, {WHOLE_BOX} or one of {', '.join(known)}, got "
            f"{anchor!r}."
        )
    if detections is None or len(detections) == 0:
        return np.empty((0, 2))
    if anchor != WHOLE_BOX:
        return np.asarray(detections.get_anchors_coordinates(sv.Position(anchor)), np.float64)
    corners = detections.xyxy[:, [0, 1, 2, 1, 2, 3, 0, 3]]
    return corners.reshape(-1, 2).astype(np.float64)


def _polygons_by_image(value: Batch[Any] | list[Any], count: int) -> Sequence[Any]:
    """What the field holds for each image; a single entry serves all of them."""
    if isinstance(value, Batch):
        entries = list(value)
    elif is_polygon(value):
        entries = [value]
    else:
        entries = list(value)
    if not entries and count:
        raise InvalidFieldValueError(
            f"Field `{POLYGONS_FIELD}` must hold at least one polygon, got none."
        )
    if len(entries) == 1:
        return entries * count
    if len(entries) != count:
        raise InvalidFieldValueError(
            f"Field `{POLYGONS_FIELD}` must hold one entry for all images or one for each of the "
            f"{count}, got {len(entries)}."
        )
    return entries


def _by_image(value: Batch[int] | int, count: int) -> Sequence[Any]:
    return list(value) if isinstance(value, Batch) else [value] * count
