"""The answers of the one-to-one branch."""

from __future__ import annotations

import ast
import inspect
import math
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from inference_models.families.native import anchors, graphs  # noqa: E402
from inference_models.families.native.anchors import distances_to_boxes, make_anchors  # noqa: E402
from inference_models.families.native.decoding import selection  # noqa: E402
from inference_models.families.native.decoding.selection import (  # noqa: E402
    NO_ANCHOR,
    keypoint_rows,
    select_top_k,
    take_anchors,
)
from inference_models.families.native.head import BranchOutputs  # noqa: E402

ANCHORS = make_anchors([(4, 4), (2, 2), (1, 1)], (8, 16, 32))
COUNT = 21


def _outputs(seed: int = 0, batch: int = 2, **changes: Any) -> BranchOutputs:
    generator = torch.Generator().manual_seed(seed)
    values = {
        "class_logits": torch.randn(batch, COUNT, 3, generator=generator),
        "distances": torch.rand(batch, COUNT, 4, generator=generator) * 2,
    }
    return BranchOutputs(**(values | changes))


class TestSelectTopK:
    """`select_top_k`."""

    def test_against_a_loop(self) -> None:
        """Rows are the anchors with the best scores, each with its best class."""
        outputs = _outputs()
        selection = select_top_k(outputs, ANCHORS, max_rows=5)
        boxes = distances_to_boxes(outputs.distances, ANCHORS)
        for image in range(2):
            scores = outputs.class_logits[image].sigmoid().numpy()
            order = sorted(range(COUNT), key=lambda one: -scores[one].max())[:5]
            assert selection.anchor[image].tolist() == order
            for row, anchor in zip(selection.rows[image], order, strict=True):
                np.testing.assert_allclose(row[:4], boxes[image, anchor], rtol=1e-6)
                assert row[4].item() == pytest.approx(scores[anchor].max(), rel=1e-6)
                assert row[5].item() == scores[anchor].argmax()

    def test_filled_up(self) -> None:
        """Fewer anchors than rows leave zeros behind and an anchor that is none."""
        selection = select_top_k(_outputs(), ANCHORS)
        assert selection.rows.shape == (2, 300, 6)
        assert (selection.rows[:, COUNT:] == 0).all()
        assert (selection.anchor[:, COUNT:] == NO_ANCHOR).all()
        assert (selection.anchor[:, :COUNT] >= 0).all()

    def test_threshold_keeps_the_shape(self) -> None:
        """Scores below the threshold become zero and the rows stay."""
        free = select_top_k(_outputs(), ANCHORS)
        cut = select_top_k(_outputs(), ANCHORS, threshold=0.6)
        expected = torch.where(free.rows[..., 4] >= 0.6, free.rows[..., 4], 0.0)
        assert torch.equal(cut.rows[..., 4], expected)
        assert 0 < (expected > 0).sum() < 2 * COUNT
        assert torch.equal(cut.rows[..., :4], free.rows[..., :4])

    def test_saturated_scores_keep_their_order(self) -> None:
        """Logits that the sigmoid rounds to the same score are still told apart."""
        logits = torch.full((1, COUNT, 1), -5.0)
        logits[0, 3], logits[0, 7], logits[0, 1] = 40.0, 60.0, 50.0
        selection = select_top_k(_outputs(batch=1, class_logits=logits), ANCHORS, max_rows=3)
        assert selection.anchor[0].tolist() == [7, 1, 3]

    def test_one_anchor(self) -> None:
        """A single anchor is enough."""
        anchors = make_anchors([(1, 1)], (32,))
        outputs = BranchOutputs(torch.zeros(1, 1, 2), torch.ones(1, 1, 4))
        row = select_top_k(outputs, anchors, max_rows=2).rows[0]
        assert row.tolist() == [[-16, -16, 48, 48, 0.5, 0], [0] * 6]

    def test_rotated(self) -> None:
        """With angles a row holds centre, sides and angle in canonical form."""
        angles = torch.full((2, COUNT, 1), 0.3)
        outputs = _outputs(angles=angles)
        selection = select_top_k(outputs, ANCHORS, max_rows=COUNT)
        boxes = take_anchors(distances_to_boxes(outputs.distances, ANCHORS), selection.anchor)
        width, height = (boxes[..., 2:] - boxes[..., :2]).unbind(-1)
        rows = selection.rows
        assert rows.shape == (2, COUNT, 7)
        torch.testing.assert_close(rows[..., :2], (boxes[..., :2] + boxes[..., 2:]) / 2)
        torch.testing.assert_close(rows[..., 2], torch.maximum(width, height))
        torch.testing.assert_close(rows[..., 3], torch.minimum(width, height))
        turned = torch.where(width < height, 0.3 + math.pi / 2, torch.tensor(0.3))
        torch.testing.assert_close(rows[..., 4], turned)

    def test_rotated_boxes_have_no_negative_side(self) -> None:
        """Distances that cross give a box without area, not one turned inside out."""
        outputs = _outputs(
            distances=torch.full((2, COUNT, 4), -1.0), angles=torch.zeros(2, COUNT, 1)
        )
        assert (select_top_k(outputs, ANCHORS).rows[..., 2:4] == 0).all()

    @pytest.mark.parametrize("module", [anchors, graphs, selection])
    def test_nothing_compares_boxes(self, module: ModuleType) -> None:
        """The way to final rows imports no suppression of overlaps."""
        imported = {
            name
            for node in ast.walk(ast.parse(inspect.getsource(module)))
            if isinstance(node, ast.ImportFrom)
            for name in (node.module, *(alias.name for alias in node.names))
        }
        assert "Tensor" in imported
        assert not [name for name in imported if re.search("nms|suppress|rotated_boxes$|iou", name)]


class TestTakeAnchors:
    """`take_anchors`."""

    def test_fillers_are_zero(self) -> None:
        """Minus one is no anchor, although it is a legal index in Python."""
        values = torch.arange(1.0, 13).reshape(1, 3, 2, 2)
        taken = take_anchors(values, torch.tensor([[2, NO_ANCHOR]]))
        assert taken[0].tolist() == [[[9, 10], [11, 12]], [[0, 0], [0, 0]]]


class TestKeypointRows:
    """`keypoint_rows`."""

    def test_by_the_anchor_of_the_box(self) -> None:
        """Points belong to the selected anchor; the confidence falls with the spread."""
        keypoints = torch.zeros(1, COUNT, 2, 2)
        spreads = torch.full((1, COUNT, 2, 2), -30.0)
        keypoints[0, 20, 1] = torch.tensor([0.5, -0.25])
        spreads[0, 20, 1] = torch.tensor([0.0, 30.0])
        outputs = _outputs(batch=1, keypoints=keypoints, keypoint_spreads=spreads)
        rows = keypoint_rows(outputs, ANCHORS, torch.tensor([[20, NO_ANCHOR]]))
        assert rows.shape == (1, 2, 2, 3)
        assert rows[0, 0].flatten().tolist() == pytest.approx([16, 16, 1, 32, 8, 0.25])
        assert (rows[0, 1] == 0).all()
