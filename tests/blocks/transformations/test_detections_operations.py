"""`detections_filter@v1` and `detections_transformation@v1`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds import core_codecs
from blocks.transformations.detections_filter.v1 import (
    DetectionsFilterBlockV1,
    DetectionsFilterManifest,
)
from blocks.transformations.detections_transformation.v1 import (
    DetectionsTransformationBlockV1,
    DetectionsTransformationManifest,
)
from execution_engine.block_api import Batch
from execution_engine.kinds.defaults import default_codec_registry
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image((60, 90))
CODECS = default_codec_registry(core_codecs())
PAIRS = [
    (DetectionsFilterBlockV1, DetectionsFilterManifest),
    (DetectionsTransformationBlockV1, DetectionsTransformationManifest),
]


def keep(property_name: str, comparator: str, right: dict[str, Any]) -> list[dict[str, Any]]:
    """A filter of detections by a property."""
    left = {
        "type": "DynamicOperand",
        "operand_name": "_",
        "operations": [{"type": "ExtractDetectionProperty", "property_name": property_name}],
    }
    statement = {
        "type": "BinaryStatement",
        "left_operand": left,
        "comparator": {"type": comparator},
        "right_operand": right,
    }
    group = {"type": "StatementGroup", "statements": [statement]}
    return [{"type": "DetectionsFilter", "filter_operation": group}]


def value(static: Any) -> dict[str, Any]:
    return {"type": "StaticOperand", "value": static}


def operate(
    sets: list[sv.Detections],
    operations: list[dict[str, Any]],
    parameters: dict[str, Any] | None = None,
    pair: Any = PAIRS[0],
) -> list[Any]:
    block, manifest = pair
    step = manifest.model_validate(
        {
            "type": manifest.model_fields["type"].annotation.__args__[0],
            "name": "s",
            "predictions": "$steps.m.predictions",
            "operations": operations,
            "operations_parameters": dict.fromkeys(parameters or {}, "$inputs.x"),
        }
    )
    result: Any = block(CODECS).run(Batch(sets), step.operations, parameters or {})
    return [item["predictions"] for item in result]


@pytest.mark.parametrize("pair", PAIRS, ids=["filter", "transformation"])
class TestBoth:
    def test_each_image(self, pair: Any) -> None:
        """Operations run on the detections of every image of a batch."""
        sets = [
            some([[0, 0, 5, 5], [0, 0, 9, 9]], IMAGE, names=["a", "b"]),
            some([[1, 1, 2, 2]], IMAGE, names=["b"]),
        ]
        found = operate(sets, keep("class_name", "==", value("b")), pair=pair)
        assert [item.data["class_name"].tolist() for item in found] == [["b"], ["b"]]

    def test_parameters(self, pair: Any) -> None:
        """Named values are the same for all images, or one for each."""
        sets = [some([[0, 0, size, size] for size in (4, 6)], IMAGE) for _ in range(2)]
        right = {"type": "DynamicOperand", "operand_name": "least"}
        chain = keep("x_max", "(Number) >=", right)
        found = operate(sets, chain, {"least": 5}, pair)
        assert [len(item) for item in found] == [1, 1]
        found = operate(sets, chain, {"least": Batch([5, 7])}, pair)
        assert [len(item) for item in found] == [1, 0]

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_nothing_left(self, pair: Any, form: MaskForm) -> None:
        """When nothing is left the columns stay, and what is known of the image."""
        rows = some([[0, 0, 5, 5]], IMAGE, form=form)
        found = operate([rows], keep("class_name", "==", value("nope")), pair=pair)[0]
        assert len(found) == 0
        assert found.data.keys() == rows.data.keys()
        assert found.metadata["image_dimensions"] == [60, 90]

    def test_not_detections(self, pair: Any) -> None:
        """A chain that ends in something else is refused."""
        with pytest.raises(ValueError, match="must give detections, the last one gave int"):
            operate([some([[0, 0, 5, 5]])], [{"type": "SequenceLength"}], pair=pair)

    def test_no_operations(self, pair: Any) -> None:
        """Without operations the detections pass through."""
        rows = some([[0, 0, 5, 5]])
        assert operate([rows], [], pair=pair)[0] is rows


class TestTransformation:
    def test_chain(self) -> None:
        """Operations work on the results of those before."""
        rows = some([[0, 0, 4, 4], [9, 9, 20, 20], [5, 5, 7, 7]], IMAGE, names=["a", "b", "a"])
        chain = [
            *keep("class_name", "==", value("a")),
            {"type": "SortDetections", "mode": "x_min", "ascending": False},
            {"type": "DetectionsShift", "shift_x": 2, "shift_y": 3},
            {"type": "DetectionsRename", "class_map": {"a": "z"}},
        ]
        found = operate([rows], chain, pair=PAIRS[1])[0]
        assert found.xyxy.tolist() == [[7, 8, 9, 10], [2, 3, 6, 7]]
        assert found.data["class_name"].tolist() == ["z", "z"]
        assert rows.xyxy[0].tolist() == [0, 0, 4, 4]

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_rows_keep_their_masks(self, form: MaskForm) -> None:
        """Sorting moves masks with their rows."""
        rows = some([[0, 0, 4, 4], [9, 9, 20, 20]], IMAGE, form=form)
        chain = [{"type": "SortDetections", "mode": "size", "ascending": False}]
        found = operate([rows], chain, pair=PAIRS[1])[0]
        if rows.mask is not None:
            assert np.array_equal(np.asarray(found.mask), np.asarray(rows.mask)[::-1])
        if "rle_mask" in rows.data:
            assert found.data["rle_mask"].tolist() == rows.data["rle_mask"][::-1].tolist()
