from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.kinds import core_codecs
from blocks.kinds.detections import attach_lineage
from execution_engine.images import ImageParentMetadata, WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.kinds.defaults import default_codec_registry

ROOT_SIZE = (60, 90)
CROP_BOX = (10, 20, 50, 48)  # x0, y0, x1, y1 in the root


@pytest.fixture(scope="session")
def registry() -> CodecRegistry:
    return default_codec_registry(core_codecs())


@pytest.fixture(scope="session")
def root_image() -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=np.zeros((*ROOT_SIZE, 3), np.uint8)
    )


@pytest.fixture(scope="session")
def crop_image(root_image: WorkflowImageData) -> WorkflowImageData:
    x0, y0, x1, y1 = CROP_BOX
    return WorkflowImageData.create_crop(
        root_image, "crop", root_image.numpy_image[y0:y1, x0:x1], x0, y0
    )


def _ellipse_masks(count: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    """(count, height, width) bool: ellipses that may touch or cross the border."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((count, height, width), np.uint8)
    for mask in masks:
        centre = (int(rng.integers(0, width)), int(rng.integers(0, height)))
        axes = (int(rng.integers(1, width // 3 + 2)), int(rng.integers(1, height // 3 + 2)))
        cv2.ellipse(mask, centre, axes, float(rng.integers(0, 180)), 0, 360, 1, -1)
    return masks.astype(bool)


@pytest.fixture(scope="session")
def ellipse_masks() -> Callable[..., np.ndarray]:
    """Makes masks of ellipses."""
    return _ellipse_masks


@pytest.fixture(scope="session")
def make() -> Callable[..., sv.Detections]:
    """Detections with rows of the shape that blocks make, on an image or without lineage."""

    def build(
        count: int = 3,
        image: WorkflowImageData | None = None,
        seed: int = 0,
        mask: Any = None,
        **data: Any,
    ) -> sv.Detections:
        rng = np.random.default_rng(seed)
        corners = rng.integers(0, 10, (count, 2)).astype(np.float32)
        sizes = rng.integers(1, 15, (count, 2)).astype(np.float32)
        detections = sv.Detections(
            xyxy=np.hstack([corners, corners + sizes]),
            mask=mask,
            confidence=rng.random(count).astype(np.float32),
            class_id=rng.integers(0, 5, count),
            data={
                "class_name": np.array([f"class-{i}" for i in range(count)], dtype=str),
                "detection_id": np.array([f"{seed}-{i}" for i in range(count)], dtype=str),
                **data,
            },
        )
        if image is None:
            return detections
        return attach_lineage(detections, image, "object-detection")

    return build
