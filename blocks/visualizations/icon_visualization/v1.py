"""Puts an icon on an image: at a fixed place, or on each detection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.parameters import choice, whole_number
from blocks.visualizations.anchors import Anchor, position_of
from blocks.visualizations.drawable import FARTHEST
from blocks.visualizations.manifest import (
    PREDICTIONS_EXAMPLES,
    Detections,
    VisualizationManifest,
    WholeNumberFrom1,
    describe,
    relevant_for,
)
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    anchored,
    colour_copy,
    drawn,
)
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, STRING_KIND

if TYPE_CHECKING:
    import supervision as sv

LARGEST_SIDE = 8192
_FARTHEST = int(FARTHEST)
_MODES = {"static": True, "dynamic": False}


class IconVisualizationManifest(VisualizationManifest):
    model_config = describe(
        "Icon Visualization",
        "Put an icon on an image or its detections.",
        (
            "Scales an icon to fit into a box, its proportions kept, and puts it at a fixed place "
            "(`static`) or in the middle of a place of each detection (`dynamic`). The "
            "transparency of an icon with four channels is kept."
        ),
        ["logo", "watermark", "badge", "emoji"],
    )
    type: Literal["roboflow_core/icon_visualization@v1", "IconVisualization"]
    icon: Selector(kind=[IMAGE_KIND]) = Field(
        title="Icon",
        description="The icon: grey, BGR or BGR with transparency.",
        examples=["$inputs.icon"],
    )
    mode: Literal["static", "dynamic"] | Selector(kind=[STRING_KIND]) = Field(
        default="dynamic",
        title="Mode",
        description="Whether the icon stands at a fixed place or on each detection.",
        examples=["static", "$inputs.mode"],
    )
    predictions: Detections | None = Field(
        default=None,
        title="Predictions",
        description="Detections that get the icon.",
        examples=PREDICTIONS_EXAMPLES,
        json_schema_extra=relevant_for("mode", "dynamic"),
    )
    icon_width: WholeNumberFrom1 = Field(
        default=64,
        title="Icon Width",
        description="Width of the box of the icon, px.",
        examples=[64, "$inputs.icon_width"],
    )
    icon_height: WholeNumberFrom1 = Field(
        default=64,
        title="Icon Height",
        description="Height of the box of the icon, px.",
        examples=[64, "$inputs.icon_height"],
    )
    position: Anchor | Selector(kind=[STRING_KIND]) | None = Field(
        default="TOP_CENTER",
        title="Position",
        description="Place of a detection where the middle of the icon stands.",
        examples=["TOP_CENTER", "$inputs.position"],
        json_schema_extra=relevant_for("mode", "dynamic"),
    )
    x_position: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=10,
        title="X Position",
        description=(
            "Left edge of the icon's box, px; below 0, the distance of its right edge from the "
            "right edge of the image."
        ),
        examples=[10, -10],
        json_schema_extra=relevant_for("mode", "static"),
    )
    y_position: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=10,
        title="Y Position",
        description=(
            "Upper edge of the icon's box, px; below 0, the distance of its lower edge from the "
            "lower edge of the image."
        ),
        examples=[10, -10],
        json_schema_extra=relevant_for("mode", "static"),
    )


class IconVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return IconVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        icon: WorkflowImageData,
        mode: str,
        predictions: sv.Detections | None,
        icon_width: int,
        icon_height: int,
        position: str | None,
        x_position: int | None,
        y_position: int | None,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the icon.

        Raises:
            ValueError: the fields that the mode needs are not given, or are out of range.
        """
        static = choice("mode", mode, _MODES)
        box_wh = (
            whole_number("icon_width", icon_width, 1, LARGEST_SIDE),
            whole_number("icon_height", icon_height, 1, LARGEST_SIDE),
        )
        pixels = colour_copy(image.numpy_image)
        if static:
            corners = [_fixed_corner(x_position, y_position, box_wh, pixels)]
        else:
            corners = _corners_on(predictions, position, box_wh, pixels)
        if corners:
            paint, share = fit_icon(icon.numpy_image, box_wh)
            for corner in corners:
                overlay(pixels, paint, share, corner)
        return drawn(image, pixels)


def _fixed_corner(
    x_position: int | None, y_position: int | None, box_wh: tuple[int, int], pixels: np.ndarray
) -> tuple[int, int]:
    x = whole_number("x_position", x_position, -_FARTHEST, _FARTHEST)
    y = whole_number("y_position", y_position, -_FARTHEST, _FARTHEST)
    height, width = pixels.shape[:2]
    return (
        x if x >= 0 else width + x - box_wh[0],
        y if y >= 0 else height + y - box_wh[1],
    )


def _corners_on(
    predictions: sv.Detections | None,
    position: str | None,
    box_wh: tuple[int, int],
    pixels: np.ndarray,
) -> list[tuple[int, int]]:
    if predictions is None:
        raise InvalidFieldValueError(
            "Field `predictions` must be given when the icon is put on detections."
        )
    anchor = position_of("position", position)  # type: ignore[arg-type]
    detections = anchored(predictions, pixels.shape[:2], position or "")
    if len(detections) == 0:
        return []
    middles = detections.get_anchors_coordinates(anchor).astype(np.int64).tolist()
    return [(int(x - box_wh[0] / 2), int(y - box_wh[1] / 2)) for x, y in middles]


def fit_icon(
    icon: NDArray[np.uint8], box_wh: tuple[int, int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The icon in the middle of a box, its proportions kept.

    Args:
        icon: (h, w), (h, w, 1), (h, w, 3) BGR or (h, w, 4) BGRA.
        box_wh: (width, height) of the box, px.

    Returns:
        Colours (box height, box width, 3), multiplied by the second: how opaque each pixel is
        (box height, box width, 1), 0 to 1.

    Raises:
        ValueError: the icon has no pixels.
    """
    if icon.size == 0:
        raise InvalidFieldValueError(
            f"Field `icon` must be an image with pixels, got shape {icon.shape}."
        )
    width, height = box_wh
    scale = min(width / icon.shape[1], height / icon.shape[0])
    size_wh = (
        min(width, max(1, round(icon.shape[1] * scale))),
        min(height, max(1, round(icon.shape[0] * scale))),
    )
    opaque = np.ones((*icon.shape[:2], 1), np.float32)
    if icon.ndim == 3 and icon.shape[2] == 4:
        opaque = icon[..., 3:].astype(np.float32) / 255
    # What is transparent must not tint its neighbours when they are averaged.
    layers = np.concatenate([colour_copy(icon) * opaque, opaque], axis=2)
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    layers = cv2.resize(layers, size_wh, interpolation=how)
    box = np.zeros((height, width, 4), np.float32)
    left, top = (width - size_wh[0]) // 2, (height - size_wh[1]) // 2
    box[top : top + size_wh[1], left : left + size_wh[0]] = layers
    return box[..., :3], box[..., 3:]


def overlay(
    pixels: NDArray[np.uint8],
    paint: NDArray[np.float32],
    share: NDArray[np.float32],
    corner: tuple[int, int],
) -> None:
    """Draws the result of `fit_icon` in place; what lies outside the image is cut off.

    Args:
        pixels: (h, w, 3) BGR.
        paint: colours multiplied by `share`.
        share: how opaque each pixel is.
        corner: (x, y) of the upper left corner, px.
    """
    x, y = corner
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + paint.shape[1], pixels.shape[1]), min(y + paint.shape[0], pixels.shape[0])
    if x1 <= x0 or y1 <= y0:
        return
    rows, columns = slice(y0 - y, y1 - y), slice(x0 - x, x1 - x)
    area = pixels[y0:y1, x0:x1]
    area[:] = np.rint(area * (1 - share[rows, columns]) + paint[rows, columns])
