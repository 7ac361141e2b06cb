"""Blocks on detections inside workflows: nesting, lineage and coordinates from end to end."""

from __future__ import annotations

from typing import Any, Literal

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections import attach_lineage
from blocks.kinds.detections.compact import compact_from_dense
from execution_engine import BlockRegistry, ExecutionEngine
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import WorkflowError
from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
)
from execution_engine.registry.discovery import discover_plugins
from execution_engine.registry.plugin import Plugin

IMAGES = {"type": "WorkflowImage", "name": "image"}
PLACES = [(20, 30), (70, 80), (95, 15), (150, 60)]
SIZE_WH = (16, 12)


class FindBrightManifest(WorkflowBlockManifest):
    type: Literal["toy/find_bright@v1"]
    image: Selector(kind=[IMAGE_KIND])  # type: ignore[valid-type]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [INSTANCE_SEGMENTATION_PREDICTION_KIND])]


class FindBright(WorkflowBlock):
    """Finds connected bright parts with their masks; larger ones are more certain."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return FindBrightManifest

    def run(self, image: WorkflowImageData) -> BlockResult:
        bright = (image.numpy_image[:, :, 0] > 128).astype(np.uint8)
        count, labels, stats, _ = cv2.connectedComponentsWithStats(bright)
        left, top, width, height, area = stats[1:].T
        detections = sv.Detections(
            xyxy=np.column_stack([left, top, left + width, top + height]).astype(np.float32),
            mask=compact_from_dense(labels == np.arange(1, count)[:, None, None]),
            confidence=(area / bright.size).astype(np.float32),
            class_id=np.zeros(count - 1, dtype=np.int64),
        )
        return {"predictions": attach_lineage(detections, image, "instance-segmentation")}


@pytest.fixture(scope="module")
def registry() -> BlockRegistry:
    return BlockRegistry([*discover_plugins({}), Plugin("toy", blocks=[FindBright])])


def scene() -> np.ndarray:
    """(120, 200, 3): bright rectangles of 16 x 12 px (w x h) at `PLACES` (x, y)."""
    pixels = np.full((120, 200, 3), 90, np.uint8)
    width, height = SIZE_WH
    for x, y in PLACES:
        pixels[y : y + height, x : x + width] = 200
    return pixels


def boxes_of(prediction: dict[str, Any]) -> list[tuple[int, int]]:
    """Left upper corners of a serialised prediction, sorted; all boxes have the size of a part."""
    assert {(row["width"], row["height"]) for row in prediction["predictions"]} <= {SIZE_WH}
    return corners_of(prediction)


def corners_of(prediction: dict[str, Any]) -> list[tuple[int, int]]:
    return sorted(
        (round(row["x"] - row["width"] / 2), round(row["y"] - row["height"] / 2))
        for row in prediction["predictions"]
    )


def run(
    registry: BlockRegistry,
    steps: list[dict[str, Any]],
    outputs: dict[str, str],
    inputs: dict[str, Any],
    declared: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    definition = {
        "version": "1.0",
        "inputs": [IMAGES] if declared is None else declared,
        "steps": steps,
        "outputs": [
            {"type": "JsonField", "name": name, "selector": selector}
            for name, selector in outputs.items()
        ],
    }
    engine = ExecutionEngine.init(definition, {}, registry=registry)
    try:
        return engine.run(inputs, serialize_results=True)
    finally:
        engine.close()


def find(image: str, name: str = "find") -> dict[str, Any]:
    return {"type": "toy/find_bright@v1", "name": name, "image": image}


class TestStitch:
    STEPS = [
        {
            "type": "roboflow_core/image_slicer@v2",
            "name": "slice",
            "image": "$inputs.image",
            "slice_width": 80,
            "slice_height": 60,
            "overlap_ratio_width": 0.4,
            "overlap_ratio_height": 0.4,
        },
        find("$steps.slice.slices"),
        {
            "type": "roboflow_core/detections_stitch@v1",
            "name": "stitch",
            "reference_image": "$inputs.image",
            "predictions": "$steps.find.predictions",
        },
    ]

    @pytest.mark.parametrize("strategy", ["nms", "nmm"])
    def test_slices(self, registry: BlockRegistry, strategy: str) -> None:
        """What is found on overlapping slices is found once, where it is in the image.

        Joining mends what a slice cuts; dropping keeps the part that one slice saw most of.
        """
        steps = [*self.STEPS[:2], {**self.STEPS[2], "overlap_filtering_strategy": strategy}]
        result = run(
            registry,
            steps,
            {"whole": "$steps.stitch.predictions", "parts": "$steps.find.predictions"},
            {"image": scene()},
        )[0]
        assert boxes_of(result["whole"]) == sorted(PLACES)
        assert result["whole"]["image"] == {"width": 200, "height": 120}
        assert sum(len(part["predictions"]) for part in result["parts"]) > len(PLACES)

    def test_stitched_detections_are_cut_again(self, registry: BlockRegistry) -> None:
        """Stitched detections belong to the image: their crops show the pattern."""
        crop = {
            "type": "roboflow_core/dynamic_crop@v1",
            "name": "crop",
            "images": "$inputs.image",
            "predictions": "$steps.stitch.predictions",
        }
        again = find("$steps.crop.crops", "again")
        outputs = {"again": "$steps.again.predictions"}
        inputs = {"image": scene()}
        found = run(registry, [*self.STEPS, crop, again], outputs, inputs)[0]["again"]
        assert sorted(corner for item in found for corner in boxes_of(item)) == sorted(PLACES)


class TestDynamicCrop:
    def test_crops_of_slices(self, registry: BlockRegistry) -> None:
        """Detections on slices are cut out of their slices, two levels below the image."""
        steps = [
            *TestStitch.STEPS[:2],
            {
                "type": "roboflow_core/dynamic_crop@v1",
                "name": "crop",
                "images": "$steps.slice.slices",
                "predictions": "$steps.find.predictions",
            },
        ]
        result = run(
            registry,
            steps,
            {"c": "$steps.crop.crops", "p": "$steps.crop.predictions"},
            {"image": scene()},
        )[0]
        corners = set()
        for crops, predictions in zip(result["c"], result["p"], strict=True):
            for crop, prediction in zip(crops, predictions, strict=True):
                origin = crop["root_parent_origin"]
                corners.add((origin["offset_x"], origin["offset_y"]))
                assert corners_of(prediction) == [(origin["offset_x"], origin["offset_y"])]
        assert corners >= set(PLACES)

    def test_detections_of_another_image(self, registry: BlockRegistry) -> None:
        """roboflow/inference#390: detections of another input stop the run, both are named."""
        steps = [
            find("$inputs.other"),
            {
                "type": "roboflow_core/dynamic_crop@v1",
                "name": "crop",
                "images": "$inputs.image",
                "predictions": "$steps.find.predictions",
            },
        ]
        declared = [IMAGES, {"type": "WorkflowImage", "name": "other"}]
        inputs = {"image": scene()[::-1].copy(), "other": scene()}
        with pytest.raises(WorkflowError, match=r"image is 'image'.*'other'"):
            run(registry, steps, {"c": "$steps.crop.crops"}, inputs, declared)


class TestListRollUp:
    STEPS = [
        find("$inputs.image"),
        {
            "type": "roboflow_core/detection_offset@v1",
            "name": "margin",
            "predictions": "$steps.find.predictions",
            "offset_width": 20,
            "offset_height": 20,
        },
        {
            "type": "roboflow_core/dynamic_crop@v1",
            "name": "crop",
            "images": "$inputs.image",
            "predictions": "$steps.margin.predictions",
        },
        find("$steps.crop.crops", "inside"),
        {
            "type": "roboflow_core/dimension_collapse@v1",
            "name": "list",
            "data": "$steps.inside.predictions",
        },
        {
            "type": "roboflow_core/detections_list_rollup@v1",
            "name": "up",
            "parent_detection": "$steps.margin.predictions",
            "child_detections": "$steps.list.output",
        },
    ]

    def test_back_to_the_image(self, registry: BlockRegistry) -> None:
        """What a second step finds on crops with a margin comes back to where it was."""
        result = run(
            registry,
            self.STEPS,
            {"up": "$steps.up.rolled_up_detections", "zones": "$steps.up.crop_zones"},
            {"image": scene()},
        )[0]
        assert boxes_of(result["up"]) == sorted(PLACES)
        assert len(result["zones"]) == len(PLACES)
        assert result["up"]["image"] == {"width": 200, "height": 120}


class TestClassesReplacement:
    def test_sizes_as_classes(self, registry: BlockRegistry) -> None:
        """Text made of every crop becomes the class of its detection."""
        boxes = [[10, 10, 30, 20], [40, 40, 45, 90], [300, 300, 310, 310]]
        rows = [
            {
                "x": (left + right) / 2,
                "y": (top + bottom) / 2,
                "width": right - left,
                "height": bottom - top,
                "confidence": 0.9,
                "class": "box",
                "class_id": 0,
            }
            for left, top, right, bottom in boxes
        ]
        steps = [
            {
                "type": "roboflow_core/dynamic_crop@v1",
                "name": "crop",
                "images": "$inputs.image",
                "predictions": "$inputs.rows",
            },
            {
                "type": "roboflow_core/property_definition@v1",
                "name": "text",
                "data": "$steps.crop.crops",
                "operations": [
                    {"type": "ExtractImageProperty", "property_name": "width"},
                    {"type": "ToString"},
                ],
            },
            {
                "type": "roboflow_core/detections_classes_replacement@v1",
                "name": "relabel",
                "object_detection_predictions": "$inputs.rows",
                "classification_predictions": "$steps.text.output",
                "fallback_class_name": "nothing",
            },
        ]
        declared = [
            IMAGES,
            {
                "type": "WorkflowBatchInput",
                "name": "rows",
                "kind": ["object_detection_prediction"],
            },
        ]
        given = {"image": {"width": 200, "height": 120}, "predictions": rows}
        result = run(
            registry,
            steps,
            {"p": "$steps.relabel.predictions"},
            {"image": scene(), "rows": given},
            declared,
        )[0]["p"]
        assert [row["class"] for row in result["predictions"]] == ["20", "5", "nothing"]
