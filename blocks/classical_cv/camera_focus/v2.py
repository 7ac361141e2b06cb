"""Camera Focus, version 2: Tenenbaum's measure, per box as well, with drawing aids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.classical_cv.camera_focus.family import mean_in_boxes, tenengrad
from blocks.classical_cv.camera_focus.overlays import (
    draw_center_marker,
    draw_focus_peaking,
    draw_grid,
    draw_panel,
    draw_zebra,
)
from blocks.classical_cv.channels import to_bgr, to_gray
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    FLOAT_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

GRID_DIVISIONS = {"None": 0, "2x2": 2, "3x3": 3, "4x4": 4, "5x5": 5}


class CameraFocusManifestV2(ImageInputManifest):
    """Fields of a Camera Focus step, version 2."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Camera Focus",
            "version": "v2",
            "short_description": "Measures how sharp an image and its objects are.",
            "long_description": (
                "Tenenbaum's measure: the squared Sobel gradient, averaged over the image and "
                "over each box. The higher the sharper; values of different scenes cannot be "
                "compared. Drawing aids show exposure, sharp places, a grid and the centre."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["sharpness", "blur", "focus", "exposure", "tenengrad", "peaking"],
        }
    )
    type: Literal["roboflow_core/camera_focus@v2"]
    underexposed_threshold_percent: Annotated[float, Field(ge=0.0, le=100.0)] = Field(
        default=3.0, description="Brightness in percent below which a pixel is too dark."
    )
    overexposed_threshold_percent: Annotated[float, Field(ge=0.0, le=100.0)] = Field(
        default=97.0, description="Brightness in percent above which a pixel is too bright."
    )
    show_zebra_warnings: bool = Field(
        default=True, description="Stripes over pixels that are too dark (blue) or bright (red)."
    )
    grid_overlay: Literal["None", "2x2", "3x3", "4x4", "5x5"] = Field(
        default="3x3", description="Grid of lines over the image."
    )
    show_hud: bool = Field(
        default=True, description="Panel with the focus value and the histogram."
    )
    show_focus_peaking: bool = Field(default=True, description="Green over the sharpest places.")
    show_center_marker: bool = Field(default=True, description="Cross in the middle.")
    detections: (
        Selector(kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND])
        | None
    ) = Field(
        default=None,
        title="Regions of Interest",
        description="Boxes to measure one by one.",
        examples=["$steps.model.predictions"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The image with its drawing aids, the measure of the image and that of each box."""
        return [
            OutputDefinition("image", [IMAGE_KIND]),
            OutputDefinition("focus_measure", [FLOAT_KIND]),
            OutputDefinition("bbox_focus_measures", [LIST_OF_VALUES_KIND]),
        ]


class CameraFocusBlockV2(WorkflowBlock):
    """Measures sharpness after Tenenbaum."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return CameraFocusManifestV2

    def run(
        self,
        image: WorkflowImageData,
        underexposed_threshold_percent: float,
        overexposed_threshold_percent: float,
        show_zebra_warnings: bool,
        grid_overlay: str,
        show_hud: bool,
        show_focus_peaking: bool,
        show_center_marker: bool,
        detections: sv.Detections | None,
    ) -> BlockResult:
        """`image`: (h, w, 3), or the input itself when nothing is drawn; a box outside the image
        measures None.
        """
        original = image.numpy_image
        gray = to_gray(original)
        measure = tenengrad(gray)
        focus = float(measure.mean(dtype=np.float64))
        picture = to_bgr(original)
        undrawn = picture
        if show_zebra_warnings:
            darkest = int(underexposed_threshold_percent * 255 / 100)
            brightest = int(overexposed_threshold_percent * 255 / 100)
            picture = draw_zebra(picture, gray, darkest, brightest)
        if show_focus_peaking:
            picture = draw_focus_peaking(picture, measure)
        if show_center_marker:
            picture = draw_center_marker(picture)
        if GRID_DIVISIONS[grid_overlay]:
            picture = draw_grid(picture, GRID_DIVISIONS[grid_overlay])
        if show_hud:
            picture = draw_panel(picture, focus, original, gray)
        if picture is undrawn:
            output = image
        else:
            output = WorkflowImageData.copy_and_replace(image, numpy_image=picture)
        return {
            "image": output,
            "focus_measure": focus,
            "bbox_focus_measures": []
            if detections is None
            else mean_in_boxes(measure, detections.xyxy),
        }
