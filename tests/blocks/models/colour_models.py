"""Model packages of the networks of coloured rectangles, and workflows of one model block. Tests
nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.inference_models.colour_networks import (
    anchor_free_graph,
    classifier_graph,
    package_config,
    rectangles,
    semantic_graph,
    write_directory,
)
from tests.inference_models.colour_segmenters import (
    SEGMENTERS,
    keypoint_graph,
    multi_label_graph,
    segmenter_graph,
)
from workflows import Session, run_locally

DETECTOR = "colours-detect/1"
PICKY_DETECTOR = "colours-detect/picky"
SEGMENTER = "colours-segment/yolov8"
POINTS = "colours-points/1"
END_TO_END_POINTS = "colours-points/2"
CLASS_MAP = "colours-map/1"
CLASSIFIER = "colours-classify/1"
LABELLER = "colours-label/1"

FREE_IDS = {"inference_id", "detection_id", "parent_id", "root_parent_id"}
SHADES = ("crimson", "lime", "navy")
KEYPOINTS = [
    {"object_class_id": 0, "keypoints": {"0": "corner", "1": "far corner", "2": "centre"}},
    {"object_class_id": 1, "keypoints": {"0": "corner", "1": "far corner"}},
    {"object_class_id": 2, "keypoints": {"0": "corner"}},
]


def write_colour_models(folder: Path) -> Path:
    """Writes a package of every task; returns the folder."""
    for model_id, config, build in _packages():
        write_directory(folder / model_id, config, build)
    return folder


def _packages() -> list[tuple[str, dict[str, Any], Callable[[Path], Any]]]:
    segmenters = [
        (
            f"colours-segment/{family}",
            package_config(
                model_architecture=family.removesuffix("-fused"),
                task_type="instance-segmentation",
                inference_config__post_processing__fused=family.endswith("-fused"),
                # Of this family the images are stretched, here from a canvas of the input's size.
                inference_config__network_input__dataset_version_resize_dimensions=(
                    {"height": 64, "width": 64} if family == "rfdetr" else None
                ),
            ),
            partial(segmenter_graph, family=family),
        )
        for family in SEGMENTERS
    ]
    points = package_config(task_type="keypoint-detection", keypoints_metadata=KEYPOINTS)
    recommended = {"confidence": 0.75, "per_class_confidence": {"blue": 0.6}}
    return [
        *segmenters,
        (DETECTOR, package_config(), anchor_free_graph),
        (PICKY_DETECTOR, package_config(recommended_parameters=recommended), anchor_free_graph),
        (POINTS, points, keypoint_graph),
        (
            END_TO_END_POINTS,
            {**points, "model_architecture": "yolo26"},
            partial(keypoint_graph, end_to_end=True),
        ),
        (
            CLASS_MAP,
            package_config(
                model_architecture="semantic-segmentation",
                task_type="semantic-segmentation",
                class_names=["background", "red", "green", "blue"],
                inference_config__post_processing={"type": "sigmoid"},
            ),
            semantic_graph,
        ),
        (
            CLASSIFIER,
            package_config(
                model_architecture="classifier",
                task_type="classification",
                class_names=list(SHADES),
                inference_config__post_processing={"type": "softmax"},
                inference_config__network_input__resize_mode="stretch",
            ),
            classifier_graph,
        ),
        (
            LABELLER,
            package_config(
                model_architecture="classifier",
                task_type="multi-label-classification",
                inference_config__post_processing={"type": "sigmoid"},
                inference_config__network_input__resize_mode="stretch",
            ),
            multi_label_graph,
        ),
    ]


def model_workflow(block: str, model_id: str, outputs: list[str], **fields: Any) -> dict[str, Any]:
    """A workflow of one step `model` of a block such as `object_detection_model@v1`.

    Args:
        block: the type id without `roboflow_core/roboflow_`.
        model_id: the model.
        outputs: names of outputs of the step, given back under the same names.
        fields: further fields of the step.
    """
    return {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "mode"},
            {"type": "WorkflowParameter", "name": "number"},
        ],
        "steps": [
            {
                "type": f"roboflow_core/roboflow_{block}",
                "name": "model",
                "images": "$inputs.image",
                "model_id": model_id,
                **fields,
            }
        ],
        "outputs": [
            {"type": "JsonField", "name": name, "selector": f"$steps.model.{name}"}
            for name in outputs
        ],
    }


def three_rectangles(size: tuple[int, int] = (90, 130)) -> np.ndarray:
    """(h, w, 3) BGR: a red, a green and a blue rectangle on black, none touching the border."""
    height, width = size
    return rectangles(
        size,
        red=(6, 4, width // 3, height // 2),
        green=(width // 2, height // 5, width - 7, height // 2),
        blue=(width // 4, height * 2 // 3, width // 2, height - 5),
    )


def nothing(size: tuple[int, int] = (90, 130)) -> np.ndarray:
    """(h, w, 3) black: none of the networks finds anything."""
    return rectangles(size)


def run_to_json(
    workflow: dict[str, Any], images: Any, session: Session, **inputs: Any
) -> list[Any]:
    """JSON results, one an image."""
    results: list[Any] = run_locally(
        workflow, {"image": images, **inputs}, session=session, serialize=True
    )
    return results


def without_ids(value: Any) -> Any:
    """The same JSON with ids, which differ between runs, replaced by one text."""
    if isinstance(value, dict):
        return {
            key: "an id" if key in FREE_IDS else without_ids(item) for key, item in value.items()
        }
    return [without_ids(item) for item in value] if isinstance(value, list) else value
