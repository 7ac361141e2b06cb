"""Cutting a rectangle at a fixed place out of an image. No block may live here."""

from __future__ import annotations

from uuid import uuid4

from blocks.parameters import FARTHEST_PLACE, number, whole_number
from blocks.transformations.windows import Window, numpy_window
from execution_engine.block_api import WorkflowImageData


def crop_around(
    image: WorkflowImageData,
    x_center: float,
    y_center: float,
    width: int,
    height: int,
    crop_prefix: str,
    window: Window = numpy_window,
) -> WorkflowImageData | None:
    """The rectangle of an image around a point, clipped to it; None when nothing lies inside.

    The first pixel of a side is the centre less half the side, rounded half to even.

    Args:
        image: image to cut from.
        x_center: middle of the rectangle, px from the left edge; may lie outside.
        y_center: middle of the rectangle, px from the top edge; may lie outside.
        width: width of the rectangle, px, at least 1.
        height: height of the rectangle, px, at least 1.
        crop_prefix: what the id of the crop begins with.
        window: gives the pixels of the rectangle.

    Raises:
        InvalidFieldValueError: width or height is no positive whole number, or a number lies beyond
            `FARTHEST_PLACE`.
    """
    x_center = number("x_center", x_center, -FARTHEST_PLACE, FARTHEST_PLACE)
    y_center = number("y_center", y_center, -FARTHEST_PLACE, FARTHEST_PLACE)
    width = whole_number("width", width, 1, FARTHEST_PLACE)
    height = whole_number("height", height, 1, FARTHEST_PLACE)
    image_height, image_width = image.size
    left = round(x_center - width / 2)
    top = round(y_center - height / 2)
    x_min, x_max = max(left, 0), min(left + width, image_width)
    y_min, y_max = max(top, 0), min(top + height, image_height)
    if x_max <= x_min or y_max <= y_min:
        return None
    return WorkflowImageData.create_crop(
        origin_image_data=image,
        crop_identifier=f"{crop_prefix}.{uuid4()}",
        cropped_image=window(image, (y_min, y_max), (x_min, x_max)),
        offset_x=x_min,
        offset_y=y_min,
        preserve_video_metadata=True,
    )
