"""Non-maximum suppression, compared with the textbook loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_models.families.nms import suppress_overlaps


def _textbook(
    boxes: np.ndarray, scores: np.ndarray, threshold: float, class_ids: np.ndarray | None
) -> list[int]:
    """One box after the other, in plain floats."""
    kept: list[int] = []
    rows = boxes.astype(float).tolist()
    for index in sorted(range(len(scores)), key=lambda i: (-float(scores[i]), i)):
        x1, y1, x2, y2 = rows[index]
        for other in kept:
            if class_ids is not None and class_ids[index] != class_ids[other]:
                continue
            a1, b1, a2, b2 = rows[other]
            common = max(min(x2, a2) - max(x1, a1), 0) * max(min(y2, b2) - max(y1, b1), 0)
            union = (x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - common
            if common > threshold * union or (union <= 0 and rows[index] == rows[other]):
                break
        else:
            kept.append(index)
    return kept


class TestSuppressOverlaps:
    """`suppress_overlaps`."""

    @given(
        seed=st.integers(0, 2**32 - 1),
        count=st.integers(0, 600),
        threshold=st.sampled_from((0.0, 0.3, 0.5, 1.0)),
        classes=st.integers(1, 4),
        agnostic=st.booleans(),
        limit=st.sampled_from((None, 1, 7, 300)),
    )
    @settings(max_examples=60, deadline=None)
    def test_it_equals_the_textbook(
        self,
        seed: int,
        count: int,
        threshold: float,
        classes: int,
        agnostic: bool,
        limit: int | None,
    ) -> None:
        """The same boxes in the same order, ties and empty boxes included, for one block and for
        several."""
        random = np.random.default_rng(seed)
        corner = random.integers(0, 120, (count, 2))
        boxes = np.concatenate([corner, corner + random.integers(0, 40, (count, 2))], axis=1)
        boxes = boxes.astype(np.float32)
        scores = (random.integers(0, 20, count) / 20).astype(np.float32)
        class_ids = None if agnostic else random.integers(0, classes, count)
        expected = _textbook(boxes, scores, threshold, class_ids)[:limit]
        result = suppress_overlaps(boxes, scores, threshold, class_ids, limit)
        assert result.tolist() == expected

    @pytest.mark.parametrize("box", [[10, 10, 50, 50], [10, 10, 10, 10]])
    def test_two_boxes_of_equal_score_and_area_do_not_both_survive(self, box: list[int]) -> None:
        """Of two identical boxes the one with the lower index stays (CVCUDA/CV-CUDA#292)."""
        boxes = np.array([[0, 0, 5, 5], box, box], dtype=np.float32)
        scores = np.array([0.5, 0.9, 0.9], dtype=np.float32)
        assert suppress_overlaps(boxes, scores, 0.5).tolist() == [1, 0]

    def test_the_order_of_the_input_does_not_matter(self) -> None:
        """Without ties, any order of the same boxes keeps the same boxes."""
        random = np.random.default_rng(0)
        corner = random.uniform(0, 100, (400, 2))
        boxes = np.concatenate([corner, corner + random.uniform(5, 60, (400, 2))], axis=1)
        scores = random.permutation(400) / 400
        kept = boxes[suppress_overlaps(boxes, scores, 0.4)]
        order = random.permutation(400)
        again = boxes[order][suppress_overlaps(boxes[order], scores[order], 0.4)]
        np.testing.assert_array_equal(kept, again)

    def test_classes_ignore_each_other_unless_told(self) -> None:
        """The same place may hold two classes; class-agnostic suppression keeps the better one."""
        boxes = np.array([[0, 0, 10, 10]] * 2, dtype=np.float32)
        scores = np.array([0.5, 0.6], dtype=np.float32)
        classes = np.array([0, 1])
        assert suppress_overlaps(boxes, scores, 0.3, classes).tolist() == [1, 0]
        assert suppress_overlaps(boxes, scores, 0.3).tolist() == [1]

    def test_inputs_are_not_changed(self) -> None:
        """The arrays may be shared."""
        boxes, scores = np.zeros((3, 4), np.float32), np.arange(3, dtype=np.float32)
        boxes.setflags(write=False)
        scores.setflags(write=False)
        assert suppress_overlaps(boxes, scores, 0.3).tolist() == [2]
