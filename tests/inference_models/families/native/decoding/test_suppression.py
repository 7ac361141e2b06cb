"""The answers of the one-to-many branch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from inference_models.families.native.anchors import (  # noqa: E402
    boxes_to_distances,
    distances_to_boxes,
    make_anchors,
)
from inference_models.families.native.decoding.selection import NO_ANCHOR  # noqa: E402
from inference_models.families.native.decoding.suppression import (  # noqa: E402
    select_with_suppression,
)
from inference_models.families.native.head import BranchOutputs  # noqa: E402

ANCHORS = make_anchors([(2, 2)], (16,))


def _outputs(
    boxes: list[list[float]], scores: list[list[float]], angles: list[float] | None = None
) -> BranchOutputs:
    """One image whose four anchors answer with these boxes and class scores."""
    distances = boxes_to_distances(torch.tensor([boxes]), ANCHORS)
    logits = torch.logit(torch.tensor([scores]))
    return BranchOutputs(
        logits, distances, angles=None if angles is None else torch.tensor([angles])[..., None]
    )


class TestSelectWithSuppression:
    """`select_with_suppression`."""

    def test_overlaps_of_a_class_go(self) -> None:
        """The better of two overlapping boxes of a class stays, boxes of other classes do not
        count."""
        boxes = [[0.0, 0, 20, 20], [0.0, 0, 20, 19], [0.0, 0, 20, 20], [21.0, 21, 30, 30]]
        scores = [[0.7, 0.1], [0.9, 0.1], [0.1, 0.8], [0.6, 0.1]]
        selection = select_with_suppression(_outputs(boxes, scores), ANCHORS, max_rows=5)
        assert selection.anchor[0].tolist() == [1, 2, 3, NO_ANCHOR, NO_ANCHOR]
        rows = selection.rows[0]
        assert rows[:3, 5].tolist() == [0, 1, 0]
        assert rows[:3, 4].tolist() == pytest.approx([0.9, 0.8, 0.6])
        assert rows[1, :4].tolist() == [0, 0, 20, 20]
        assert (rows[3:] == 0).all()

    def test_threshold_is_inclusive(self) -> None:
        """An anchor exactly at the lowest score takes part, one below does not."""
        boxes = [[9.0 * i, 0, 9 * i + 8, 8] for i in range(4)]
        outputs = _outputs(boxes, [[0.5], [0.25], [0.125], [0.75]])
        at = outputs.class_logits[0, 1, 0].sigmoid().item()
        selection = select_with_suppression(outputs, ANCHORS, score_threshold=at, max_rows=4)
        assert selection.anchor[0].tolist() == [3, 0, 1, NO_ANCHOR]

    def test_limit_and_images(self) -> None:
        """Every image gets its own rows, no more than the limit, without influence of others."""
        torch.manual_seed(0)
        anchors = make_anchors([(6, 6)], (8,))
        logits, distances = torch.randn(3, 36, 2), torch.rand(3, 36, 4) * 3
        logits[1] = -20
        together = select_with_suppression(BranchOutputs(logits, distances), anchors, max_rows=7)
        assert together.rows.shape == (3, 7, 6)
        assert (together.anchor[1] == NO_ANCHOR).all()
        for image in range(3):
            alone = select_with_suppression(
                BranchOutputs(logits[image : image + 1], distances[image : image + 1]),
                anchors,
                max_rows=7,
            )
            assert torch.equal(alone.anchor[0], together.anchor[image])
            assert torch.equal(alone.rows[0], together.rows[image])

    def test_rotated_overlap_is_exact(self) -> None:
        """Two thin boxes crossing at a right angle share little, although their upright boxes do
        much."""
        quarter = torch.pi / 4
        boxes = [[6.0, 14, 26, 18], [6.0, 14, 26, 18], [6.0, 14, 26, 18.5], [50.0, 50, 54, 54]]
        outputs = _outputs(boxes, [[0.9], [0.8], [0.7], [0.1]], [quarter, -quarter, quarter, 0.0])
        selection = select_with_suppression(outputs, ANCHORS, max_rows=4)
        assert selection.rows.shape == (1, 4, 7)
        assert selection.anchor[0].tolist() == [0, 1, 3, NO_ANCHOR]

    def test_same_boxes_as_the_branch_decodes(self) -> None:
        """Rows hold the box of their anchor."""
        torch.manual_seed(1)
        outputs = BranchOutputs(torch.randn(1, 4, 2), torch.rand(1, 4, 4))
        selection = select_with_suppression(outputs, ANCHORS, iou_threshold=1.0, max_rows=4)
        boxes = distances_to_boxes(outputs.distances, ANCHORS)[0]
        torch.testing.assert_close(selection.rows[0, :, :4], boxes[selection.anchor[0]])
