"""Cuts every detection out of its image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field

from blocks.kinds.detections.same_image import require_made_on
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from blocks.transformations.dynamic_crop.background import background_bgr
from blocks.transformations.dynamic_crop.cropping import Bgr, cut_out
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
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    RGB_COLOR_KIND,
    STRING_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv


class DynamicCropManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Dynamic Crop",
            "version": "v1",
            "short_description": "Cut every detection out of its image.",
            "long_description": (
                "Gives one crop for each detection, as a nested batch, and the detection in pixels "
                "of its crop. Boxes are rounded to whole pixels and clipped to the image; a box "
                "without a pixel in the image gives no crop. With masks, what is outside of them "
                "can be covered with a colour. Later steps can move what they find in a crop back "
                "to the image. Detections must be made on the image they are used with."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["crop", "cut", "region", "two stage", "ocr"],
        }
    )
    type: Literal["roboflow_core/dynamic_crop@v1", "DynamicCrop", "Crop"]
    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Images",
        description="Images to cut from.",
        examples=["$inputs.image"],
        validation_alias=AliasChoices("images", "image"),
    )
    predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Predictions",
        description="Detections to cut out, made on these images.",
        examples=["$steps.model.predictions"],
        validation_alias=AliasChoices("predictions", "detections"),
    )
    mask_opacity: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.0,
        title="Mask Opacity",
        description="How much of the background colour covers what is outside a mask, 0 to 1.",
        examples=[1.0, "$inputs.mask_opacity"],
    )
    background_color: Selector(kind=[STRING_KIND, RGB_COLOR_KIND]) | str | tuple[int, int, int] = (
        Field(
            default=(0, 0, 0),
            title="Background Color",
            description="Colour outside of masks, in RGB: #rgb, #rrggbb, (r, g, b) or numbers.",
            examples=["#431112", "(128, 32, 64)", [255, 0, 0], "$inputs.background_color"],
        )
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["images", "predictions"]

    @classmethod
    def get_output_dimensionality_offset(cls) -> int:
        return 1

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("crops", [IMAGE_KIND]),
            OutputDefinition("predictions", [*DETECTIONS_KINDS]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DynamicCropBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DynamicCropManifest

    def rows(self, detections: sv.Detections) -> sv.Detections:
        """The detections as `sv.Detections`."""
        return detections

    def cut(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        mask_opacity: float,
        background: Bgr,
    ) -> Sequence[tuple[WorkflowImageData, Any] | None]:
        """A crop and the detection in it for each row, as `cut_out` gives them."""
        return cut_out(image, detections, mask_opacity, background)

    def run(
        self,
        images: Batch[WorkflowImageData],
        predictions: Batch[sv.Detections],
        mask_opacity: float,
        background_color: str | Sequence[int],
    ) -> BlockResult:
        """`crops`: one image a detection; `predictions`: the detection in px of its crop; both
        None where a box has no pixel in the image."""
        if not 0 <= mask_opacity <= 1:
            raise InvalidFieldValueError(
                f"`mask_opacity` must lie in 0 to 1, got {short_text(mask_opacity)}"
            )
        background = background_bgr(background_color)
        ids = [image.parent_metadata.parent_id for image in images]
        results = []
        for image, detections in zip(images, predictions, strict=True):
            detections = self.rows(detections)
            require_made_on(detections, image, ids)
            results.append(
                [
                    {
                        "crops": None if found is None else found[0],
                        "predictions": None if found is None else found[1],
                    }
                    for found in self.cut(image, detections, mask_opacity, background)
                ]
            )
        return results
