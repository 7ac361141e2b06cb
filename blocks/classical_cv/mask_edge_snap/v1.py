"""Mask Edge Snap, version 1. The edges are found in `edges`, the masks moved in `snapping`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.channels import to_gray
from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.mask_edge_snap.edges import edges_of
from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.masks import instance_masks, mask_fields, tight_boxes
from blocks.parameters import LARGEST_NUMBER, number, whole_number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    FLOAT_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

    from inference_models.masks import InstanceMasks

FARTHEST_SEARCH = 255
MOST_ITERATIONS = 100
LARGEST_WINDOW = 4095
LARGEST_SIGMA = 1000.0


class MaskEdgeSnapManifest(ImageInputManifest):
    """Fields of a Mask Edge Snap step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Mask Edge Snap",
            "version": "v1",
            "short_description": "Moves the outlines of masks onto edges of the image.",
            "long_description": (
                "Finds edges that stand out from what is around them, and moves each point of the "
                "outline of a mask across it to the strongest edge within reach. A point without "
                "an edge stays. `refined_segmentation` are the detections with the new masks and "
                "boxes, `edges` the same detections with the edges that were used for masks."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["refine", "boundary", "contour", "segmentation", "sobel"],
        }
    )
    type: Literal["roboflow_core/mask_edge_snap@v1"]
    segmentation: Selector(kind=[INSTANCE_SEGMENTATION_PREDICTION_KIND]) = Field(
        title="Segmentation",
        description="Detections with masks.",
        examples=["$steps.segmentation.predictions"],
    )
    pixel_tolerance: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=15,
        title="Pixel Tolerance",
        description="Longest way that a point of an outline is moved, px.",
        examples=[15, "$inputs.pixel_tolerance"],
    )
    sigma: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Sigma",
        description=(
            "How far an edge stands out from the mean around it, in standard deviations; less "
            "finds weaker edges."
        ),
        examples=[1.0, "$inputs.sigma"],
    )
    min_contour_area: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=50.0,
        title="Minimum Contour Area",
        description="Smallest connected edge that counts, px^2.",
        examples=[50.0, "$inputs.min_contour_area"],
    )
    dilation_iterations: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=2,
        title="Dilation Iterations",
        description="How often edges grow and shrink by a pixel again, which closes gaps.",
        examples=[2, "$inputs.dilation_iterations"],
    )
    boundary_band_width: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=15,
        title="Boundary Band Width",
        description="Distance from the outline within which edges count, px.",
        examples=[15, "$inputs.boundary_band_width"],
    )
    adaptive_window_size: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=41,
        title="Adaptive Window Size",
        description="Side of the window from which an edge must stand out, px.",
        examples=[41, "$inputs.adaptive_window_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The detections with moved outlines, and with the edges that were used."""
        kinds = [INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [OutputDefinition("refined_segmentation", kinds), OutputDefinition("edges", kinds)]


class MaskEdgeSnapBlockV1(WorkflowBlock):
    """Moves the outlines of masks onto edges of the image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MaskEdgeSnapManifest

    def run(
        self,
        image: WorkflowImageData,
        segmentation: sv.Detections,
        pixel_tolerance: int,
        sigma: float,
        min_contour_area: float,
        dilation_iterations: int,
        boundary_band_width: int,
        adaptive_window_size: int,
    ) -> BlockResult:
        """`refined_segmentation` and `edges`: as many rows as in `segmentation`, in its order.

        Raises:
            InvalidFieldValueError: a number is out of range, or there are rows without masks or
                with masks for an image of another size.
        """
        # Here, as it loads what works on masks.
        from blocks.classical_cv.mask_edge_snap.snapping import Search, snap_masks

        search = Search(
            whole_number("pixel_tolerance", pixel_tolerance, 0, FARTHEST_SEARCH),
            whole_number("boundary_band_width", boundary_band_width, 0, FARTHEST_SEARCH),
            number("min_contour_area", min_contour_area, 0, LARGEST_NUMBER),
        )
        limit = number("sigma", sigma, -LARGEST_SIGMA, LARGEST_SIGMA)
        iterations = whole_number("dilation_iterations", dilation_iterations, 0, MOST_ITERATIONS)
        window = whole_number("adaptive_window_size", adaptive_window_size, 1, LARGEST_WINDOW)
        if not len(segmentation):
            return {"refined_segmentation": segmentation, "edges": segmentation}
        masks = _masks_on(image, segmentation)
        found = edges_of(to_gray(image.numpy_image), limit, iterations, window)
        snapped = snap_masks(masks, found, search)
        return {
            "refined_segmentation": _with_masks(segmentation, snapped.masks),
            "edges": _with_masks(segmentation, snapped.edges),
        }


def _masks_on(image: WorkflowImageData, segmentation: sv.Detections) -> InstanceMasks:
    masks = instance_masks(segmentation, image.size)
    if masks is None:
        raise InvalidFieldValueError(
            "Field `segmentation` must be detections with masks, got detections that carry neither "
            f"`mask` nor `{keys.RLE_MASK}`."
        )
    if masks.image_size != image.size:
        (height, width), (rows, columns) = image.size, masks.image_size
        raise InvalidFieldValueError(
            f"Field `segmentation` must be detections of `image`, {width} x {height} px, got masks "
            f"for {columns} x {rows} px."
        )
    return masks


def _with_masks(segmentation: sv.Detections, masks: InstanceMasks) -> sv.Detections:
    """The detections with other masks and the boxes around these."""
    import numpy as np

    from inference_models.masks import largest_polygons

    mask, columns = mask_fields(masks, keys.RLE_MASK in segmentation.data)
    fields: dict[str, Any] = {
        "xyxy": tight_boxes(masks, segmentation.xyxy), "mask": mask, **columns
    }  # fmt: skip
    if keys.POLYGON in segmentation.data:
        outlines = np.empty(len(masks), dtype=object)
        outlines[:] = largest_polygons(masks).polygons
        fields[keys.POLYGON] = outlines
    return with_columns(segmentation, fields)
