"""Names of the columns that detections carry in `sv.Detections.data`. Names only."""

from __future__ import annotations

CLASS_NAME = "class_name"
DETECTION_ID = "detection_id"
PARENT_ID = "parent_id"
IMAGE_DIMENSIONS = "image_dimensions"
INFERENCE_ID = "inference_id"
PREDICTION_TYPE = "prediction_type"
ROOT_PARENT_ID = "root_parent_id"
ROOT_PARENT_COORDINATES = "root_parent_coordinates"
ROOT_PARENT_DIMENSIONS = "root_parent_dimensions"
PARENT_COORDINATES = "parent_coordinates"
PARENT_DIMENSIONS = "parent_dimensions"
SCALING_RELATIVE_TO_PARENT = "scaling_relative_to_parent"
SCALING_RELATIVE_TO_ROOT_PARENT = "scaling_relative_to_root_parent"

KEYPOINTS_XY = "keypoints_xy"
KEYPOINTS_CLASS_ID = "keypoints_class_id"
KEYPOINTS_CLASS_NAME = "keypoints_class_name"
KEYPOINTS_CONFIDENCE = "keypoints_confidence"
RLE_MASK = "rle_mask"
POLYGON = "polygon"
RECT = "rect"
WIDTH = "width"
HEIGHT = "height"
ANGLE = "angle"
DECODED_TEXT = "data"
ORIENTED_BOX = "xyxyxyxy"

IMAGE_LEVEL = (
    PARENT_ID,
    IMAGE_DIMENSIONS,
    INFERENCE_ID,
    PREDICTION_TYPE,
    ROOT_PARENT_ID,
    ROOT_PARENT_COORDINATES,
    ROOT_PARENT_DIMENSIONS,
    PARENT_COORDINATES,
    PARENT_DIMENSIONS,
    SCALING_RELATIVE_TO_PARENT,
    SCALING_RELATIVE_TO_ROOT_PARENT,
)
"""Columns that say the same in every row of one image; for zero rows they live in `metadata`."""

MEASUREMENTS = (
    "path_deviation",
    "time_in_zone",
    "speed",
    "smoothed_speed",
    "area_px",
    "area_converted",
    "nearest_target_distance",
)
"""One number a row."""

VECTORS = ("velocity", "smoothed_velocity")
"""Two numbers (x, y) a row."""
