"""Raw outputs of every family to masks. Numbers are written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.errors import ModelRuntimeError

# The same three objects in the raw format of each family: a cat of which nobody is sure,
# a dog at 10..30 and a fox at 40..60.
BOXES = np.array([[0, 0, 9, 9], [10, 10, 30, 30], [40, 20, 60, 50]], np.float32)
SCORES = np.array([[0.2, 0.1, 0], [0, 0.9, 0.1], [0.1, 0.2, 0.8]], np.float32)
CENTRES = np.concatenate([(BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]], axis=1)
ROWS = np.concatenate([BOXES, SCORES.max(1)[:, None], SCORES.argmax(1)[:, None]], axis=1)
LOGITS = np.log(np.clip(SCORES, 1e-6, 1) / (1 - np.clip(SCORES, 1e-6, 1 - 1e-6)))
OBJECTNESS = np.full((3, 1), 0.5, np.float32)

# Two prototypes on a 16 x 16 grid: one positive on the left half, one everywhere.
PROTOS = np.stack([np.where(np.arange(16) < 8, 1.0, -1.0)[None].repeat(16, 0), np.ones((16, 16))])
WEIGHTS = np.array([[0, 0], [20.0, 0], [-20, 0]])

SEGMENTERS: list[tuple[str, bool, dict[str, Any]]] = [
    ("yolov8", False, {"a": np.concatenate([CENTRES, SCORES, WEIGHTS], 1).T, "p": PROTOS}),
    ("yolov8", True, {"a": np.concatenate([ROWS, WEIGHTS], 1), "p": PROTOS}),
    ("yolo26", False, {"a": np.concatenate([ROWS, WEIGHTS], 1), "p": PROTOS}),
    (
        "yolov5",
        False,
        {
            "a": np.concatenate([CENTRES, OBJECTNESS * 2, SCORES, WEIGHTS], 1),
            "p": PROTOS,
        },
    ),
    (
        "yolov7",
        False,
        {
            "a": np.concatenate([CENTRES, OBJECTNESS * 2, SCORES, WEIGHTS], 1),
            "x": [0],
            "y": [0],
            "z": [0],
            "p": PROTOS,
        },
    ),
    (
        "yolact",
        False,
        {
            "offsets": np.zeros((3, 4)),
            "scores": np.concatenate([np.full((3, 1), 0.99), SCORES], 1),
            "coefficients": WEIGHTS,
            "priors": CENTRES / 64,
            "protos": PROTOS.transpose(1, 2, 0),
        },
    ),
    (
        "rfdetr",
        False,
        {
            "boxes": CENTRES / 64,
            "logits": LOGITS,
            "masks": np.stack(
                [
                    np.where(
                        (np.arange(16) >= box[0] / 4) & (np.arange(16) < box[2] / 4), 1.0, -1.0
                    )[None].repeat(16, 0)
                    for box in BOXES
                ]
            ),
        },
    ),
]


class TestInstanceSegmentation:
    """Masks beside the boxes."""

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), SEGMENTERS)
    def test_every_family_cuts_its_masks_from_the_right_place(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
    ) -> None:
        """Each row's mask lies in its box, on the image, and follows that row's weights."""
        package = make_package(architecture, "instance-segmentation", fused)
        found = post_process(package, outputs, confidence=0.35)
        assert found.class_name.tolist() == ["dog", "fox"]
        np.testing.assert_allclose(found.xyxy, BOXES[1:], atol=1e-4)
        assert found.mask_size == (64, 64)
        x0, y0, x1, y1 = found.masks.boxes[0].tolist()
        # The dog lies left of the middle; its weights choose the prototype of the left half.
        assert abs(x0 - 10) <= 4
        assert abs(x1 - 30) <= 4
        if architecture != "rfdetr":
            assert abs(y0 - 10) <= 4
            assert abs(y1 - 30) <= 4
        assert abs(found.masks.boxes[1][0] - 40) <= 4

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), SEGMENTERS)
    @pytest.mark.parametrize(
        ("factor", "grid"), [(0.0, (16, 16)), (0.5, (58, 108)), (1.0, (100, 200))]
    )
    def test_every_family_receives_the_resolution_factor(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
        factor: float,
        grid: tuple[int, int],
    ) -> None:
        """The factor decides the masks' grid for every family, full or empty; boxes stay image
        px."""
        package = make_package(architecture, "instance-segmentation", fused)
        for confidence, count in ((0.35, 2), (0.99, 0)):
            found = post_process(
                package,
                outputs,
                size=(100, 200),
                confidence=confidence,
                masks_resolution_factor=factor,
            )
            assert (len(found), found.mask_size) == (count, grid)
            assert found.image_size == (100, 200)
            if count:
                np.testing.assert_allclose(found.xyxy[0], [31.25, 15.625, 93.75, 46.875], atol=1e-3)

    def test_masks_are_cut_after_the_limit(self, make_package: Any, post_process: Any) -> None:
        """Only what is reported gets a mask."""
        package = make_package("yolov8", "instance-segmentation")
        outputs = SEGMENTERS[0][2]
        found = post_process(package, outputs, confidence=0.1, max_detections=1)
        assert len(found.masks) == len(found) == 1

    def test_logits_are_enlarged_before_they_are_cut(
        self, make_package: Any, post_process: Any
    ) -> None:
        """A disc of 28 x 28 logits has a smooth outline at 480 x 640 (roboflow/rf-detr#463)."""
        y, x = np.mgrid[:28, :28] + 0.5
        logits = 8.0 - np.hypot(y - 14, x - 14)
        outputs = {
            "boxes": [[0.5, 0.5, 0.6, 0.6]],
            "logits": [[9.0, -9, -9]],
            "masks": logits[None],
        }
        package = make_package("rfdetr", "instance-segmentation")
        found = post_process(package, outputs, size=(480, 640))
        rows, columns = np.mgrid[:480, :640] + 0.5
        disc = np.hypot(rows * 28 / 480 - 14, columns * 28 / 640 - 14) < 8
        mask = found.masks.to_dense()[0]
        assert (mask & disc).sum() / (mask | disc).sum() > 0.99

    def test_a_mask_output_of_another_shape_is_named(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Prototypes without a grid are an error."""
        package = make_package("yolov8", "instance-segmentation")
        with pytest.raises(ModelRuntimeError, match=r"three axes an image, got \[7, 8\]"):
            post_process(package, {"a": np.zeros((9, 5)), "p": np.zeros((7, 8))})
