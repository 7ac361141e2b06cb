"""Instance masks as crops on a named grid, and everything that is done with them. Knows no model
and no prediction."""

from inference_models.masks.carrier import InstanceMasks
from inference_models.masks.errors import MalformedRLEError, MaskError, MaskGridError
from inference_models.masks.geometry import MaskGeometry, plan_mask_geometry
from inference_models.masks.overlap import (
    boundaries,
    boundary_iou,
    intersection_areas,
    mask_iou,
    union,
)
from inference_models.masks.polygons import (
    LargestPolygons,
    largest_polygons,
    mask_polygons,
    masks_from_polygons,
)
from inference_models.masks.resize import masks_from_logits, masks_from_prototypes
from inference_models.masks.rle import decode_rle, decode_rle_on_any_grid, encode_masks
from inference_models.masks.tensor import masks_from_tensor, masks_to_tensor

__all__ = [
    "InstanceMasks",
    "LargestPolygons",
    "MalformedRLEError",
    "MaskError",
    "MaskGeometry",
    "MaskGridError",
    "boundaries",
    "boundary_iou",
    "decode_rle",
    "decode_rle_on_any_grid",
    "encode_masks",
    "intersection_areas",
    "largest_polygons",
    "mask_iou",
    "mask_polygons",
    "masks_from_logits",
    "masks_from_polygons",
    "masks_from_prototypes",
    "masks_from_tensor",
    "masks_to_tensor",
    "plan_mask_geometry",
    "union",
]
