"""Rules that hold for every block that draws on an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.rle import compact_from_rles
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import WorkflowImageData
from tests.blocks.visualizations.scenes import (
    HEIGHT,
    WIDTH,
    compact_objects,
    frame,
    inputs_of,
    key_point_columns,
    picture,
    run,
    values_of,
    visualizations,
)

NAMES = sorted(name for name in visualizations() if name != "text_display_v1")
OF_DETECTIONS = [
    name
    for name in NAMES
    if "predictions" in visualizations()[name].get_manifest().model_fields
    and name != "classification_label_v1"
]
# With nothing detected, all of the image is background.
DRAWS_WITHOUT_DETECTIONS = {"background_color_v1"}


def everything() -> sv.Detections:
    """Detections with masks, tracks and keypoints."""
    return compact_objects(**key_point_columns())


def nothing() -> sv.Detections:
    """No rows."""
    return sv.Detections.empty()


def many(count: int, boxes: Any) -> sv.Detections:
    """So many rows with the same box."""
    keypoints = {key: np.repeat(value[:1], count, 0) for key, value in key_point_columns().items()}
    return sv.Detections(
        xyxy=np.tile(np.asarray(boxes, np.float32), (count, 1)),
        confidence=np.full(count, 0.5, np.float32),
        class_id=np.arange(count),
        tracker_id=np.arange(count),
        data={"class_name": np.array(["a"] * count), **keypoints},
    )


class TestEveryBlock:
    def test_all_are_here(self) -> None:
        """The rules below are about so many blocks."""
        assert len(NAMES) >= 28

    @pytest.mark.parametrize("name", NAMES)
    def test_draws_on_a_copy(self, name: str) -> None:
        """The input keeps its pixels, whatever `copy_image` says."""
        pixels = picture()
        for copy_image in (True, False):
            result = run(name, everything(), pixels, copy_image=copy_image)
            assert not np.shares_memory(result, pixels)
            assert (pixels == picture()).all()

    @pytest.mark.parametrize("name", NAMES)
    def test_copy_image_is_declared_inert(self, name: str) -> None:
        """The published schema says that the field changes nothing."""
        manifest = visualizations()[name].get_manifest()
        assert manifest.get_inert_fields().keys() == {"copy_image"}

    @pytest.mark.parametrize("name", NAMES)
    def test_keeps_lineage(self, name: str) -> None:
        """The result has the parents of the image it was drawn on."""
        crop = WorkflowImageData.create_crop(frame(picture(300, 300)), "crop", picture(), 7, 9)
        values = values_of(name) | inputs_of(name, everything())
        result: Any = visualizations()[name]().run(image=crop, **values)
        assert result["image"].parent_metadata == crop.parent_metadata
        root = result["image"].workflow_root_ancestor_metadata
        assert root == crop.workflow_root_ancestor_metadata

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("channels", [None, 1, 4])
    def test_other_channels(self, name: str, channels: int | None) -> None:
        """Grey images and images with transparency are drawn on in BGR."""
        result = run(name, everything(), picture(channels=channels))
        assert result.shape == (HEIGHT, WIDTH, 3)
        assert result.dtype == np.uint8

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_no_detections(self, name: str) -> None:
        """Without detections the result is a copy of the image."""
        result = run(name, nothing())
        assert (result == picture()).all() == (name not in DRAWS_WITHOUT_DETECTIONS)

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_draws_something(self, name: str) -> None:
        """Detections change the picture."""
        fields = {"ignore_stationary": False} if name == "heatmap_v1" else {}
        block: Any = visualizations()[name]()
        run(name, everything(), block=block, **fields)
        moved = everything()
        moved.xyxy = moved.xyxy + 3
        assert (run(name, moved, block=block, **fields) != picture()).any()

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    @pytest.mark.parametrize(
        "box",
        [
            (50, 50, 51, 51),
            (50, 50, 50, 50),
            (-20, -20, 30, 30),
            (WIDTH - 5, HEIGHT - 5, WIDTH + 90, HEIGHT + 90),
            (-90, -90, -50, -50),
            (-3e9, -3e9, 3e9, 3e9),
        ],
    )
    def test_boxes_anywhere(self, name: str, box: tuple[float, ...]) -> None:
        """Boxes of one pixel or none, at the border, outside, and far larger than the image."""
        if name == "crop_v1" and box[2] > 1e9:
            box = (-1e3, -1e3, 1e3, 1e3)
        assert run(name, many(2, box)).shape == (HEIGHT, WIDTH, 3)

    @pytest.mark.parametrize("name", NAMES)
    def test_smallest_image(self, name: str) -> None:
        """An image of one pixel is drawn on."""
        detections = many(1, (0, 0, 1, 1))
        assert run(name, detections, picture(1, 1)).shape == (1, 1, 3)

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_a_thousand_detections(self, name: str) -> None:
        """So many rows are drawn, masks included."""
        detections = many(1000, (20, 30, 70, 90))
        rle = {"size": [HEIGHT, WIDTH], "counts": [30 * HEIGHT, 5 * HEIGHT, 125 * HEIGHT]}
        detections.mask = compact_from_rles([rle] * 1000, (HEIGHT, WIDTH))
        assert run(name, detections).shape == (HEIGHT, WIDTH, 3)

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_detections_are_not_changed(self, name: str) -> None:
        """What other steps see of the detections stays as it was."""
        detections, before = everything(), everything()
        run(name, detections)
        assert (detections.xyxy == before.xyxy).all()
        assert detections.mask.image_shape == before.mask.image_shape
        assert detections.data.keys() == before.data.keys()

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_no_detections_at_all(self, name: str) -> None:
        """A value that is no detections is an error that names the field and what came."""
        with pytest.raises(ValueError, match="`predictions` must be detections, got dict"):
            run(name, {"predictions": []})

    @pytest.mark.parametrize("name", OF_DETECTIONS)
    def test_broken_box(self, name: str) -> None:
        """A box that is not finite is an error that names the row."""
        detections = everything()
        detections.xyxy[1, 2] = np.nan
        with pytest.raises(ValueError, match="box 1 must be four finite numbers"):
            run(name, detections)

    @pytest.mark.parametrize("name", NAMES)
    def test_annotators_are_kept(self, name: str) -> None:
        """A second frame with the same settings makes no new annotator."""
        block: Any = visualizations()[name]()
        assert isinstance(block, VisualizationBlock)
        run(name, everything(), block=block)
        kept = dict(block._prepared._made)
        run(name, everything(), block=block)
        assert all(block._prepared._made[key] is value for key, value in kept.items())
        assert block._prepared._made.keys() == kept.keys()
