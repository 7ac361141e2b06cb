"""A zone around each mask. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import select, with_columns
from blocks.kinds.detections.masks import instance_masks, mask_fields
from blocks.transformations.dynamic_zone.polygons import (
    convex_hull,
    fitted,
    scaled,
    simplified,
)
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import largest_polygons, masks_from_polygons

if TYPE_CHECKING:
    import supervision as sv


class Zones(NamedTuple):
    """Zones as lists of [x, y] px, the detections they belong to, and whether all converged."""

    zones: list[list[list[int]]]
    predictions: sv.Detections
    converged: bool


def zones_around(
    detections: sv.Detections,
    corners: int,
    scale_ratio: float,
    least_squares: bool,
    middle_share: float,
) -> Zones:
    """Convex polygons with a given number of corners around the largest part of each mask.

    Detections get the zone as `polygon` and as mask, cut at the edge of the image; boxes stay.
    Those whose mask has no pixels have no zone and are left out.

    Args:
        detections: n rows; not changed.
        corners: corners of each zone, at least 3.
        scale_ratio: factor around the middle of a zone.
        least_squares: whether the sides are fitted to the outline of the mask.
        middle_share: 0 to 1, the middle part of each side of the outline that is fitted.

    Raises:
        ValueError: there are rows but no masks.
    """
    masks = instance_masks(detections)
    if masks is None:
        if len(detections):
            raise InvalidFieldValueError(
                "zones are made of masks, and the detections carry neither `mask` nor "
                f"`{keys.RLE_MASK}`"
            )
        return Zones([], detections, True)
    kept = np.flatnonzero(masks.areas > 0)
    outlines = largest_polygons(masks.select(kept)).polygons
    polygons = np.empty(len(kept), dtype=object)
    converged = len(kept) == len(detections)
    for row, outline in enumerate(outlines):
        polygon, reached = simplified(convex_hull(outline), corners)
        converged &= reached
        if least_squares:
            polygon = fitted(polygon, outline.astype(np.float64), middle_share)
        polygons[row] = np.round(scaled(polygon, scale_ratio)).astype(np.int64)
    filled = masks_from_polygons([[polygon] for polygon in polygons], masks.image_size)
    rows = select(detections, kept)
    mask, columns = mask_fields(filled, keys.RLE_MASK in detections.data)
    predictions = with_columns(rows, {"mask": mask, keys.POLYGON: polygons, **columns})
    return Zones([polygon.tolist() for polygon in polygons], predictions, converged)
