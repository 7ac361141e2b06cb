"""Blurs detections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.kinds.detections.columns import with_columns
from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import MOST_PIXELS_ACROSS
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.manifest import (
    DetectionsVisualizationManifest,
    WholeNumber,
    WholeNumberFrom1,
    describe,
)
from blocks.visualizations.mask_painting import mask_crop
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv
    from supervision import CompactMask

# Pixels of all areas, each widened by the window, that a box filter passes: seconds of work.
_MOST_WORK = 2 * 10**9
# Windows of up to so many px, which are as quick as the image has pixels, are never refused.
_ALWAYS_QUICK = 1000


class BlurVisualizationManifest(DetectionsVisualizationManifest):
    model_config = describe(
        "Blur Visualization",
        "Blur detections.",
        (
            "Blurs the mask of each detection, or its box when there are no masks. The area may be "
            "made larger (`padding` above 0) or smaller (below 0)."
        ),
        ["privacy", "anonymise", "redact", "smooth"],
    )
    type: Literal["roboflow_core/blur_visualization@v1", "BlurVisualization"]
    kernel_size: WholeNumberFrom1 = Field(
        default=15,
        title="Kernel Size",
        description="Side of the window of the blur, px; larger blurs more.",
        examples=[15, "$inputs.kernel_size"],
    )
    padding: WholeNumber = Field(
        default=0,
        title="Padding",
        description="How far the blur reaches beyond the detection, px.",
        examples=[10, "$inputs.padding"],
    )


class BlurVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BlurVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        kernel_size: int,
        padding: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with blurred detections."""
        import supervision as sv

        annotator = self._prepared.get(_annotator, kernel_size)
        margin = whole_pixels("padding", padding, minimum=-MOST_PIXELS_ACROSS)
        pixels = colour_copy(image.numpy_image)
        detections = drawable(predictions, pixels.shape[:2], masks=True)
        xyxy = np.asarray(detections.xyxy, np.float64)
        _check_work(xyxy, int(kernel_size), margin, pixels.shape[:2])
        if len(detections) and detections.mask is not None:
            blur_masks(pixels, detections.mask, annotator.kernel_size, margin)  # type: ignore[arg-type]
        elif len(detections):
            padded = with_columns(detections, {"xyxy": sv.pad_boxes(xyxy, margin)})
            annotator.annotate(pixels, padded)
        return drawn(image, pixels)


def _annotator(kernel_size: int) -> sv.BlurAnnotator:
    import supervision as sv

    return sv.BlurAnnotator(whole_pixels("kernel_size", kernel_size, minimum=1))


def _check_work(
    xyxy: NDArray[np.float64], kernel_size: int, margin: int, image_size: tuple[int, ...]
) -> None:
    """Refuses a window that is far larger than the areas it blurs: work grows with the areas
    widened by it, and nothing can stop it on the way.

    Raises:
        InvalidFieldValueError: it would take minutes; the text names the field.
    """
    inside = np.clip(xyxy[:, 2:] - xyxy[:, :2] + 2 * margin, 0, image_size[::-1])
    work = float((inside + kernel_size).prod(axis=1).sum())
    if kernel_size > _ALWAYS_QUICK and work > _MOST_WORK:
        raise InvalidFieldValueError(
            f"Field `kernel_size` asks for a window of {kernel_size} px around {len(xyxy)} "
            "detections, which takes too long; take a smaller one."
        )


def blur_masks(
    pixels: NDArray[np.uint8], masks: CompactMask, kernel_size: int, padding: int
) -> None:
    """Blurs what lies under masks, in place.

    Args:
        pixels: (h, w, 3) BGR.
        masks: n masks on the grid of the image.
        kernel_size: side of the window of the blur, px.
        padding: how far masks are grown (below 0: shrunk) first, px.
    """
    size = (pixels.shape[0], pixels.shape[1])
    for row in range(len(masks)):
        mask, (x, y) = padded_mask(*mask_crop(masks, row), padding, size)
        height, width = mask.shape
        region = pixels[y : y + height, x : x + width]
        cv2.copyTo(cv2.blur(region, (kernel_size, kernel_size)), mask, region)


def padded_mask(
    crop: NDArray[np.bool_], corner: tuple[int, int], padding: int, image_size: tuple[int, int]
) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """A mask grown or shrunk by a distance: crop (h, w) of 0 and 1, and the (x, y) of its corner.

    Args:
        crop: the mask (h, w).
        corner: (x, y) of the crop in the image.
        padding: distance, px; below 0 the mask shrinks.
        image_size: (height, width) of the image, which the mask does not leave.
    """
    mask = crop.view(np.uint8)
    if padding == 0 or not mask.any():
        return mask, corner
    (x, y), (height, width) = corner, mask.shape
    if padding < 0:
        framed = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
        depth = cv2.distanceTransform(framed, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        return (depth[1:-1, 1:-1] > -padding).view(np.uint8), corner
    x0, y0 = max(x - padding, 0), max(y - padding, 0)
    x1 = min(x + width + padding, image_size[1])
    y1 = min(y + height + padding, image_size[0])
    outside = np.ones((y1 - y0, x1 - x0), np.uint8)
    outside[y - y0 : y - y0 + height, x - x0 : x - x0 + width] -= mask
    distance = cv2.distanceTransform(outside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return (distance <= padding).view(np.uint8), (x0, y0)
