"""Detections made ready to be drawn: masks on the grid of the image, finite boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.serialise import serialise_detections
from blocks.visualizations.drawable import (
    FARTHEST,
    drawable,
    masks_of_boxes,
    masks_on_image,
    with_centres_of_mass,
)
from tests.blocks.visualizations.scenes import (
    HEIGHT,
    WIDTH,
    compact_objects,
    dense_masks,
    objects,
    rle_objects,
    run,
)

SIZE = (HEIGHT, WIDTH)
DRAWN_WITH_MASKS = [
    "mask_v1", "color_v1", "halo_v1", "halo_v2", "polygon_v1", "polygon_v2", "blur_v1",
    "background_color_v1", "model_comparison_v1",
]  # fmt: skip


def known_size(height: int, width: int) -> dict[str, Any]:
    """The column that says how large the image of the detections is."""
    return {"image_dimensions": np.array([[height, width]] * 3)}


def dense_of(mask: Any) -> np.ndarray:
    assert isinstance(mask, sv.CompactMask)
    return mask.to_dense()


class TestMasksOnImage:
    def test_compact_masks_stay(self) -> None:
        """Masks on the grid of the image are passed on as they are."""
        detections = compact_objects()
        assert masks_on_image(detections, SIZE) is detections.mask

    def test_dense_masks(self) -> None:
        """Dense masks become crops of the same pixels."""
        mask = masks_on_image(objects(dense_masks()), SIZE)
        assert (dense_of(mask) == dense_masks()).all()

    @pytest.mark.parametrize("grid", [SIZE, (60, 80), (33, 47), (240, 320), (121, 159)])
    @pytest.mark.parametrize("columns", [{}, known_size(*SIZE)])
    def test_rle_on_any_grid_as_from_inference(
        self, grid: tuple[int, int], columns: dict[str, Any]
    ) -> None:
        """An RLE on another grid covers the pixels that `sv.Detections.from_inference` gives it."""
        detections = rle_objects(grid, **columns)
        response = serialise_detections(detections, "rle_only")
        response["image"] = {"width": WIDTH, "height": HEIGHT}
        expected = sv.Detections.from_inference(response).mask
        assert (dense_of(masks_on_image(detections, SIZE)) == expected).all()

    def test_rles_on_several_grids(self) -> None:
        """Each RLE is brought to the image from its own grid."""
        detections = rle_objects()
        detections.data["rle_mask"][1] = rle_objects((60, 80)).data["rle_mask"][1]
        got = dense_of(masks_on_image(detections, SIZE))
        assert (got[[0, 2]] == dense_masks()[[0, 2]]).all()
        assert (got[1] == dense_of(masks_on_image(rle_objects((60, 80)), SIZE))[1]).all()

    def test_row_without_rle(self) -> None:
        """A row that has no RLE beside rows with one has an empty mask."""
        detections = rle_objects()
        detections.data["rle_mask"][1] = None
        got = dense_of(masks_on_image(detections, SIZE))
        assert got.any(axis=(1, 2)).tolist() == [True, False, True]

    @pytest.mark.parametrize("dense", [True, False])
    def test_coarse_grid_of_the_same_image(self, dense: bool) -> None:
        """Masks on a coarse grid are brought to the image when the detections name its size."""
        masks = dense_masks((60, 80))
        detections = objects(masks if dense else compact_from_dense(masks), **known_size(*SIZE))
        got = dense_of(masks_on_image(detections, SIZE))
        assert (got == masks.repeat(2, axis=1).repeat(2, axis=2)).all()

    def test_nothing(self) -> None:
        """Detections without masks and RLEs have none."""
        assert masks_on_image(objects(), SIZE) is None

    @pytest.mark.parametrize(
        "detections",
        [
            objects(dense_masks((60, 80))),
            objects(dense_masks((60, 80)), **known_size(60, 80)),
            objects(compact_from_dense(dense_masks((60, 80)))),
            rle_objects((60, 80), **known_size(60, 80)),
        ],
    )
    def test_masks_of_another_image(self, detections: sv.Detections) -> None:
        """Masks that belong to an image of another size are an error with both sizes."""
        message = r"image of \(height, width\) \(60, 80\).*draw on has \(120, 160\)"
        with pytest.raises(ValueError, match=message):
            masks_on_image(detections, SIZE)

    def test_broken_rle(self) -> None:
        """An RLE that does not cover its grid is an error that names the row."""
        detections = rle_objects()
        detections.data["rle_mask"][2] = {"size": [4, 4], "counts": [3]}
        with pytest.raises(ValueError, match=r"mask 2: .* must cover 16 px"):
            masks_on_image(detections, SIZE)


class TestMasksOfBoxes:
    def test_both_ends_belong_to_it(self) -> None:
        """A box from 2 to 4 covers three pixels; what lies outside the image is cut off."""
        masks = masks_of_boxes(np.array([[2, 1, 4, 2], [-5, -5, 0, 90], [90, 90, 99, 99]]), (6, 8))
        dense = masks.to_dense()
        assert np.argwhere(dense[0]).tolist() == [[1, 2], [1, 3], [1, 4], [2, 2], [2, 3], [2, 4]]
        assert (np.argwhere(dense[1])[:, 1] == 0).all()
        assert dense[1].sum() == 6
        assert not dense[2].any()


class TestWithCentresOfMass:
    def test_empty_mask(self) -> None:
        """A row with an empty mask is drawn in the middle of its box, the others at their masks."""
        masks = dense_masks()
        masks[1] = False
        detections = drawable(objects(masks), SIZE, masks=True)
        filled = with_centres_of_mass(detections, SIZE)
        places = filled.get_anchors_coordinates(sv.Position.CENTER_OF_MASS)
        assert places.tolist() == [[45, 60], [100, 60], [125, 92]]
        assert (dense_of(filled.mask)[[0, 2]] == masks[[0, 2]]).all()
        assert not dense_of(detections.mask)[1].any()

    @pytest.mark.parametrize("detections", [compact_objects(), objects(), sv.Detections.empty()])
    def test_nothing_to_fill(self, detections: sv.Detections) -> None:
        """Without empty masks the detections are passed on."""
        assert with_centres_of_mass(detections, SIZE) is detections

    def test_all_empty(self) -> None:
        """All masks may be empty."""
        filled = with_centres_of_mass(objects(compact_from_dense(0 * dense_masks())), SIZE)
        places = filled.get_anchors_coordinates(sv.Position.CENTER_OF_MASS)
        assert places[0].tolist() == [45, 60]


class TestDrawable:
    def test_far_boxes_are_cut_off(self) -> None:
        """Coordinates that no drawing can hold are brought near, in a copy."""
        detections = objects()
        detections.xyxy[0] = [-1e12, 0, 1e12, 10]
        assert drawable(detections, SIZE, masks=False).xyxy[0].tolist() == [
            -FARTHEST, 0, FARTHEST, 10,
        ]  # fmt: skip
        assert detections.xyxy[0, 0] == np.float32(-1e12)

    def test_masks_only_on_demand(self) -> None:
        """Drawings that do not look at masks are not stopped by masks of another image."""
        detections = objects(dense_masks((60, 80)))
        assert drawable(detections, SIZE, masks=False) is detections
        with pytest.raises(ValueError, match="Field `predictions_b`: the masks belong"):
            drawable(detections, SIZE, masks=True, field="predictions_b")

    def test_no_rows(self) -> None:
        """Empty detections pass, whatever their columns say."""
        empty = sv.Detections.empty()
        assert drawable(empty, SIZE, masks=True) is empty


class TestEveryForm:
    @pytest.mark.parametrize("name", DRAWN_WITH_MASKS)
    @pytest.mark.parametrize(
        "detections", [objects(dense_masks()), rle_objects(), rle_objects(**known_size(*SIZE))]
    )
    def test_same_picture(self, name: str, detections: sv.Detections) -> None:
        """Dense masks, compact masks and RLEs of the same masks give the same picture."""
        assert (run(name, detections) == run(name, compact_objects())).all()

    @pytest.mark.parametrize("name", DRAWN_WITH_MASKS)
    def test_mask_of_another_image_is_refused(self, name: str) -> None:
        """Supervision would draw such masks at a wrong place without a word."""
        with pytest.raises(ValueError, match="the masks belong to an image of"):
            run(name, objects(compact_from_dense(dense_masks((60, 80)))))
