"""Pictures, detections and runs of blocks that the tests of visualizations share. Tests nothing."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from typing import Any

import cv2
import numpy as np
import supervision as sv

import blocks.visualizations
from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.rle import rles_from_compact
from execution_engine.block_api import (
    ImageParentMetadata,
    VideoMetadata,
    WorkflowBlock,
    WorkflowImageData,
)

HEIGHT, WIDTH = 120, 160
BOXES = np.array([[20, 30, 70, 90], [60, 20, 140, 100], [100, 70, 150, 115]], np.float32)
INPUTS = ("predictions", "predictions_a", "predictions_b", "icon", "anomaly_map", "metadata")


def picture(height: int = HEIGHT, width: int = WIDTH, channels: int | None = 3) -> np.ndarray:
    """Random pixels (h, w) or (h, w, channels), the same at every call."""
    shape = (height, width) if channels is None else (height, width, channels)
    return np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)


def frame(pixels: np.ndarray | None = None, video: str | None = None) -> WorkflowImageData:
    """An image, of a video when one is named."""
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=picture() if pixels is None else pixels,
        video_metadata=None if video is None else VideoMetadata(video),
    )


def dense_masks(size: tuple[int, int] = (HEIGHT, WIDTH)) -> np.ndarray:
    """(3, h, w): an ellipse in each box, all of different sizes, drawn on a grid of any size."""
    masks = np.zeros((len(BOXES), *size), np.uint8)
    scale = np.array([size[1] / WIDTH, size[0] / HEIGHT] * 2)
    for mask, box in zip(masks, BOXES * scale, strict=True):
        centre = int((box[0] + box[2]) / 2), int((box[1] + box[3]) / 2)
        axes = int((box[2] - box[0]) / 2) - 1, int((box[3] - box[1]) / 2) - 1
        cv2.ellipse(mask, centre, axes, 0, 0, 360, 1, -1)
    return masks.astype(bool)


def objects(mask: Any = None, **data: Any) -> sv.Detections:
    """Three detections with classes 0, 1, 5 and tracks 4, 9, 2."""
    return sv.Detections(
        xyxy=BOXES.copy(),
        mask=mask,
        confidence=np.array([0.9, 0.75, 0.5], np.float32),
        class_id=np.array([0, 1, 5]),
        tracker_id=np.array([4, 9, 2]),
        data={"class_name": np.array(["cat", "dog", "bird"]), **data},
    )


def compact_objects(**data: Any) -> sv.Detections:
    """The detections with `sv.CompactMask` masks."""
    return objects(compact_from_dense(dense_masks()), **data)


def rle_objects(size: tuple[int, int] = (HEIGHT, WIDTH), **data: Any) -> sv.Detections:
    """The detections with nothing but RLEs, on a grid of any size."""
    rles = rles_from_compact(compact_from_dense(dense_masks(size)))
    return objects(rle_mask=np.array(rles, dtype=object), **data)


def key_point_columns() -> dict[str, Any]:
    """Three joints for each of the three detections."""
    points = np.stack([BOXES[:, :2] + 5, (BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - 5], 1)
    return {
        "keypoints_xy": points.astype(np.float64),
        "keypoints_class_id": np.array([[0, 1, 2]] * 3),
        "keypoints_class_name": np.array([["tip", "middle", "tail"]] * 3),
        "keypoints_confidence": np.full((3, 3), 0.9),
    }


def classification() -> dict[str, Any]:
    """What a multi-label classifier gives."""
    return {
        "image": {"width": WIDTH, "height": HEIGHT},
        "predictions": {
            "cat": {"confidence": 0.9, "class_id": 0},
            "dog": {"confidence": 0.6, "class_id": 1},
        },
        "predicted_classes": ["cat", "dog"],
    }


@functools.cache
def visualizations() -> dict[str, type[WorkflowBlock]]:
    """Every visualization that draws on one image, by family and version such as `halo_v2`."""
    found = {}
    for info in pkgutil.walk_packages(blocks.visualizations.__path__, "blocks.visualizations."):
        family, version = info.name.split(".")[-2:]
        if version not in ("v1", "v2") or not family.endswith("_visualization"):
            continue
        module = importlib.import_module(info.name)
        for member in vars(module).values():
            if (
                inspect.isclass(member)
                and issubclass(member, WorkflowBlock)
                and member.__module__ == module.__name__
                and "image" in member.get_manifest().model_fields
            ):
                found[f"{family.removesuffix('_visualization')}_{version}"] = member
    return found


NEEDED: dict[str, dict[str, Any]] = {
    "anomaly_heatmap_v1": {"anomaly_threshold": 0.5},
    "polygon_zone_v1": {"zone": [[10, 10], [100, 20], [50, 90]]},
    "line_counter_v1": {"zone": [[10, 100], [150, 20]]},
    "reference_path_v1": {"reference_path": [[10, 10], [100, 20], [50, 90]]},
    "keypoint_v1": {"edges": [[1, 2], [2, 3]]},
}
"""Fields without a useful default, by block."""


def inputs_of(name: str, detections: sv.Detections) -> dict[str, Any]:
    """Values of the fields that only take references."""
    values = {
        "predictions": classification() if name == "classification_label_v1" else detections,
        "predictions_a": detections,
        "predictions_b": detections,
        "icon": frame(picture(20, 30)),
        "anomaly_map": np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8),
        "metadata": None,
    }
    fields = visualizations()[name].get_manifest().model_fields
    return {field: value for field, value in values.items() if field in fields}


def values_of(name: str, **fields: Any) -> dict[str, Any]:
    """Arguments of `run` for the fields of a step, checked by the manifest; inputs are missing."""
    manifest = visualizations()[name].get_manifest()
    step = {"type": manifest.model_fields["type"].annotation.__args__[0], "name": "step"}
    step |= {"image": "$inputs.image"} | NEEDED.get(name, {}) | fields
    step |= {field: "$steps.a.b" for field in INPUTS if field in manifest.model_fields}
    values = manifest.model_validate(step).model_dump(exclude={"type", "name", "image", *INPUTS})
    return values


def run(
    name: str,
    detections: Any = None,
    pixels: np.ndarray | None = None,
    block: WorkflowBlock | None = None,
    inputs: dict[str, Any] | None = None,
    video: str | None = None,
    **fields: Any,
) -> np.ndarray:
    """Pixels that a block gives for detections.

    Args:
        name: key of `visualizations`.
        detections: value of the prediction fields.
        pixels: image to draw on, `picture()` when None.
        block: instance to use, a new one when None.
        inputs: values of reference fields, over those of `inputs_of`.
        video: identifier of the video the image is a frame of.
        fields: plain fields of the step.
    """
    block = block or visualizations()[name]()
    known = inputs_of(name, objects() if detections is None else detections)
    values = values_of(name, **fields) | known | (inputs or {})
    result: Any = block.run(image=frame(pixels, video), **values)
    return result["image"].numpy_image
