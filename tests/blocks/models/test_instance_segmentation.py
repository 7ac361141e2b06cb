"""The resolution of masks: pinned in versions 1 to 4, chosen in version 5."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco

from blocks.models.instance_segmentation.v4 import InstanceSegmentationModelBlockV4
from blocks.models.instance_segmentation.v5 import InstanceSegmentationModelBlockV5
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowImageData
from execution_engine.block_api.digest import digest_block
from execution_engine.errors import RuntimeInputError, WorkflowSyntaxError
from inference_models.errors import InvalidMaskDecodeArgument
from tests.blocks.models.colour_models import (
    SEGMENTER,
    model_workflow,
    nothing,
    run_to_json,
    three_rectangles,
    without_ids,
)
from tests.inference_models.colour_networks import rectangles
from tests.inference_models.colour_segmenters import SEGMENTERS
from workflows import Session, run_locally

SIZE = (90, 130)
# The image is 64 x 44 in the letterboxed input, and 16 x 12 cells of the 16 x 16 grid.
GRIDS = {0.0: (12, 16), 0.25: (32, 44), 0.5: (51, 73), 1.0: SIZE}
PINNED = ["v1", "v2", "v3", "v4"]


def workflow(version: str, model_id: str = SEGMENTER, **fields: Any) -> dict[str, Any]:
    block = f"instance_segmentation_model@{version}"
    return model_workflow(block, model_id, ["predictions"], **fields)


def rows(session: Session, version: str, model_id: str = SEGMENTER, **fields: Any) -> list[Any]:
    """Instances of the three rectangles as JSON, without ids."""
    (result,) = run_to_json(workflow(version, model_id, **fields), three_rectangles(), session)
    found: list[Any] = without_ids(result["predictions"]["predictions"])
    return found


class TestVersions1To4:
    @pytest.mark.parametrize("version", PINNED)
    @pytest.mark.parametrize(
        "fields",
        [
            {"mask_decode_mode": "fast"},
            {"mask_decode_mode": "tradeoff"},
            {"mask_decode_mode": "tradeoff", "tradeoff_factor": 0.25},
            {"mask_decode_mode": "accurate", "tradeoff_factor": 0.25},
        ],
        ids=str,
    )
    def test_masks_stay_full(self, version: str, fields: dict[str, Any], session: Session) -> None:
        """Whatever the fields say, masks are those without them, on the pixels of the image."""
        assert rows(session, version, **fields) == rows(session, version)
        image = {"image": three_rectangles()}
        (result,) = run_locally(workflow(version, **fields), image, session=session)
        found = result["predictions"]
        assert found.mask.image_shape == SIZE
        sizes = {tuple(code["size"]) for code in found.data.get("rle_mask", ())}
        assert sizes == ({SIZE} if version == "v4" else set())

    @pytest.mark.parametrize("version", ["v1", "v2", "v3"])
    def test_masks_are_polygons(self, version: str, session: Session) -> None:
        """The first three versions write masks as points, in px of the image."""
        for row in rows(session, version):
            assert "rle_mask" not in row
            points = np.array([[point["x"], point["y"]] for point in row["points"]])
            assert len(points) >= 4
            assert (points >= 0).all()
            assert (points <= [SIZE[1] - 1, SIZE[0] - 1]).all()

    @pytest.mark.parametrize("version", ["v1", "v2", "v3"])
    @pytest.mark.parametrize("dense", [True, False])
    def test_the_choice_of_representation_changes_nothing(
        self, version: str, dense: bool, session: Session
    ) -> None:
        """`enforce_dense_masks_in_inference_models` is accepted and has no effect."""
        fields = {"enforce_dense_masks_in_inference_models": dense}
        assert rows(session, version, **fields) == rows(session, version)

    def test_masks_as_rle(self, session: Session) -> None:
        """Version 4 writes the pixels that version 3 outlines, as RLE of the image's size."""
        image = {"image": three_rectangles()}
        (outlined,) = run_locally(workflow("v3"), image, session=session)
        for index, row in enumerate(rows(session, "v4")):
            assert "points" not in row
            assert row["rle_mask"]["size"] == list(SIZE)
            mask = outlined["predictions"].mask[index]
            np.testing.assert_array_equal(coco.decode(row["rle_mask"]).astype(bool), mask)


class TestVersion5:
    def test_fields_are_those_of_version_4(self) -> None:
        """Names, kinds, defaults and outputs are those of version 4; here the mask fields count."""
        four, five = InstanceSegmentationModelBlockV4, InstanceSegmentationModelBlockV5
        one, other = digest_block(four, "core"), digest_block(five, "core")
        assert (one.fields, one.outputs) == (other.fields, other.outputs)
        defaults = [
            {name: field.default for name, field in block.get_manifest().model_fields.items()}
            for block in (four, five)
        ]
        assert defaults[0] == defaults[1]
        assert set(one.inert_fields) - set(other.inert_fields) == {
            "mask_decode_mode", "tradeoff_factor",
        }  # fmt: skip

    @pytest.mark.parametrize("family", SEGMENTERS)
    @pytest.mark.parametrize("fields", [{}, {"mask_decode_mode": "accurate"},
                                        {"mask_decode_mode": "accurate", "tradeoff_factor": 0.25},
                                        {"mask_decode_mode": "tradeoff", "tradeoff_factor": 1.0}],
                             ids=str)  # fmt: skip
    def test_accurate_is_version_4(
        self, family: str, fields: dict[str, Any], session: Session
    ) -> None:
        """Without a mode, in mode `accurate` and with factor 1 the JSON is that of version 4."""
        model_id = f"colours-segment/{family}"
        assert rows(session, "v5", model_id, **fields) == rows(session, "v4", model_id)

    @pytest.mark.parametrize("family", SEGMENTERS)
    @pytest.mark.parametrize(
        ("mode", "asked", "factor"),
        [("fast", 0.75, 0.0), ("tradeoff", 0.0, 0.0), ("tradeoff", 0.25, 0.25),
         ("tradeoff", 0.5, 0.5), ("tradeoff", 1, 1.0)],
    )  # fmt: skip
    def test_modes(
        self, family: str, mode: str, asked: float, factor: float, session: Session
    ) -> None:
        """RLE names the grid of its counts; boxes, classes and scores are those of version 4."""
        model_id = f"colours-segment/{family}"
        fields = {"mask_decode_mode": mode, "tradeoff_factor": asked}
        found, full = rows(session, "v5", model_id, **fields), rows(session, "v4", model_id)
        assert len(found) == 3
        for row, other in zip(found, full, strict=True):
            code = row["rle_mask"]
            assert code["size"] == list(GRIDS[factor])
            mask = coco.decode(code)
            assert mask.shape == GRIDS[factor]
            share, whole = mask.mean(), coco.decode(other["rle_mask"]).mean()
            assert abs(share - whole) < 0.07
            assert {**row, "rle_mask": None} == {**other, "rle_mask": None}

    def test_an_image_smaller_than_the_grid(self, session: Session) -> None:
        """A lower factor makes the masks of a small image larger, and the code says so."""
        image = rectangles((12, 14), red=(2, 2, 10, 10))
        sizes = {}
        for mode in ("fast", "accurate"):
            (result,) = run_to_json(workflow("v5", mask_decode_mode=mode), image, session)
            codes = [row["rle_mask"] for row in result["predictions"]["predictions"]]
            sizes[mode] = {tuple(code["size"]) for code in codes}
        assert sizes["accurate"] == {(12, 14)}
        assert sizes["fast"] == {(14, 16)}

    @pytest.mark.parametrize("mode", ["fast", "tradeoff", "accurate"])
    def test_empty(self, mode: str, session: Session) -> None:
        """Nothing found is an empty list beside the size of the image, whatever the grid."""
        (result,) = run_to_json(workflow("v5", mask_decode_mode=mode), nothing(), session)
        assert result["predictions"] == {"image": {"width": 130, "height": 90}, "predictions": []}

    def test_fields_by_reference(self, session: Session) -> None:
        """Mode and factor may be parameters of the workflow."""
        asked = workflow("v5", mask_decode_mode="$inputs.mode", tradeoff_factor="$inputs.number")
        inputs = {"mode": "tradeoff", "number": 0.5}
        (result,) = run_to_json(asked, three_rectangles(), session, **inputs)
        for row in result["predictions"]["predictions"]:
            assert row["rle_mask"]["size"] == list(GRIDS[0.5])

    def test_inside_of_a_workflow(self, session: Session) -> None:
        """Beside the code on its own grid, the rows have a mask of the image's size, which other
        blocks draw and cut."""
        image = {"image": three_rectangles()}
        (result,) = run_locally(workflow("v5", mask_decode_mode="fast"), image, session=session)
        found = result["predictions"]
        assert found.mask.image_shape == SIZE
        full = run_locally(workflow("v4"), image, session=session)[0]["predictions"]
        np.testing.assert_array_equal(found.xyxy, full.xyxy)
        for one, other in zip(found.mask, full.mask, strict=True):
            assert (one & other).sum() / (one | other).sum() > 0.75


class TestVersion5InAWorkflow:
    """What comes after a step with masks on a grid of their own."""

    def crops_of_instances(self, **output: Any) -> dict[str, Any]:
        definition = workflow("v5", mask_decode_mode="fast")
        definition["steps"].append(
            {
                "type": "roboflow_core/dynamic_crop@v1", "name": "crop",
                "images": "$inputs.image", "predictions": "$steps.model.predictions",
            }
        )  # fmt: skip
        definition["steps"].append(
            {**definition["steps"][0], "name": "again", "images": "$steps.crop.crops"}
        )
        definition["outputs"] = [
            {
                "type": "JsonField", "name": "again", "selector": "$steps.again.predictions",
                **output,
            }
        ]  # fmt: skip
        return definition

    def test_root_coordinates(self, session: Session) -> None:
        """Instances found in a crop and moved to the image have their code on the image's grid,
        around their box; in the crop's own coordinates it stays on the model's grid."""
        own = self.crops_of_instances(coordinates_system="own")
        (result,) = run_to_json(own, three_rectangles(), session)
        assert {tuple(row["rle_mask"]["size"]) for part in result["again"]
                for row in part["predictions"]} == {(16, 14), (8, 16), (12, 16)}  # fmt: skip
        root = self.crops_of_instances(coordinates_system="parent")
        (result,) = run_to_json(root, three_rectangles(), session)
        found = [row for part in result["again"] for row in part["predictions"]]
        assert len(found) == 3
        for row in found:
            mask = coco.decode(row["rle_mask"])
            assert mask.shape == SIZE
            ys, xs = np.nonzero(mask)
            box = [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
            x, y, width, height = (row[key] for key in ("x", "y", "width", "height"))
            around = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
            # One cell of the coarser axis of a crop's grid is 4 px.
            np.testing.assert_allclose(box, around, atol=4.5)

    @pytest.mark.parametrize("mode", ["fast", "tradeoff", "accurate"])
    def test_round_trip(self, mode: str, session: Session) -> None:
        """JSON read as an input and written again is the same, grid included."""
        asked = workflow("v5", mask_decode_mode=mode, tradeoff_factor=0.5)
        (result,) = run_to_json(asked, three_rectangles(), session)
        given = json.loads(json.dumps(result["predictions"]))
        echo = {
            "version": "1.0",
            "inputs": [
                {
                    "type": "WorkflowBatchInput", "name": "found",
                    "kind": ["rle_instance_segmentation_prediction"],
                }
            ],
            "steps": [],
            "outputs": [{"type": "JsonField", "name": "found", "selector": "$inputs.found"}],
        }  # fmt: skip
        (again,) = run_locally(echo, {"found": [given]}, session=session, serialize=True)
        assert again["found"]["image"] == given["image"]
        for row, other in zip(again["found"]["predictions"], given["predictions"], strict=True):
            assert row["rle_mask"] == other["rle_mask"]
            assert [row[key] for key in ("x", "y", "width", "height")] == pytest.approx(
                [other[key] for key in ("x", "y", "width", "height")]
            )

    def test_drawing(self, session: Session) -> None:
        """Masks of the model's grid are drawn where the objects are."""
        definition = workflow("v5", mask_decode_mode="fast")
        definition["steps"].append(
            {
                "type": "roboflow_core/mask_visualization@v1", "name": "draw",
                "image": "$inputs.image", "predictions": "$steps.model.predictions",
                "opacity": 1.0,
            }
        )  # fmt: skip
        definition["outputs"] = [
            {"type": "JsonField", "name": "drawn", "selector": "$steps.draw.image"},
            {"type": "JsonField", "name": "found", "selector": "$steps.model.predictions"},
        ]
        image = three_rectangles()
        (result,) = run_locally(definition, {"image": image}, session=session)
        changed = (result["drawn"].numpy_image != image).any(axis=2)
        masks = np.asarray(result["found"].mask).any(axis=0)
        np.testing.assert_array_equal(changed | ~masks, np.ones(SIZE, bool))
        assert not (changed & ~masks).any()


class TestWrongModes:
    def test_in_the_definition(self, session: Session) -> None:
        """An unknown mode is refused before anything runs, with the modes there are."""
        with pytest.raises(WorkflowSyntaxError) as caught:
            run_to_json(workflow("v5", mask_decode_mode="quick"), three_rectangles(), session)
        assert "'mask_decode_mode' must be one of 'accurate', 'tradeoff' or 'fast'" in str(
            caught.value
        )

    def test_in_an_input(self, session: Session) -> None:
        """The same for a parameter of the workflow."""
        asked = workflow("v5", mask_decode_mode="$inputs.mode")
        with pytest.raises(RuntimeInputError, match="one of 'accurate', 'tradeoff' or 'fast'"):
            run_to_json(asked, three_rectangles(), session, mode="quick")

    @pytest.mark.parametrize("factor", [-0.1, 1.1])
    def test_a_factor_out_of_range(self, factor: float, session: Session) -> None:
        """The factor is a number from 0 to 1, in the definition and in an input."""
        for value, inputs in ((factor, {}), ("$inputs.number", {"number": factor})):
            fields = {"mask_decode_mode": "tradeoff", "tradeoff_factor": value}
            asked = workflow("v5", **fields)
            with pytest.raises((WorkflowSyntaxError, RuntimeInputError), match="tradeoff_factor"):
                run_to_json(asked, three_rectangles(), session, **inputs)

    @pytest.mark.parametrize(
        ("mode", "factor", "message"),
        [
            ("quick", 0.0, "mask_decode_mode must be accurate, fast or tradeoff, got 'quick'"),
            ("", 0.0, "mask_decode_mode must be accurate, fast or tradeoff, got ''"),
            ("tradeoff", 1.5, "tradeoff_factor must be finite and in [0.0, 1.0], got 1.5"),
            ("tradeoff", float("nan"), "tradeoff_factor must be finite and in [0.0, 1.0], got nan"),
        ],
    )
    def test_from_a_step(self, mode: str, factor: float, message: str, session: Session) -> None:
        """What another step computed is checked when the block runs."""
        block = InstanceSegmentationModelBlockV5(session.model_manager)
        image = WorkflowImageData(ImageParentMetadata("image"), numpy_image=three_rectangles())
        with pytest.raises(InvalidMaskDecodeArgument) as caught:
            block.run(
                images=Batch([image]), model_id=SEGMENTER, confidence_mode="default",
                custom_confidence=None, class_filter=None, iou_threshold=0.3, max_detections=300,
                class_agnostic_nms=False, max_candidates=3000, mask_decode_mode=mode,
                tradeoff_factor=factor, disable_active_learning=True,
                active_learning_target_dataset=None,
            )  # fmt: skip
        assert message in str(caught.value)
