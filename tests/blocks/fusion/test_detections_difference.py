from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.fusion.detections_difference.matching import Costs, matches, spatial_costs
from blocks.fusion.detections_difference.v1 import DetectionsDifferenceBlockV1
from tests.blocks.detection_sets import an_image, some

BEFORE, AFTER = an_image(name="before"), an_image(name="after")


def compare(reference: Any, candidate: Any, **changed: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "spatial_weight": 0.4,
        "class_mismatch_penalty": 0.15,
        "reject_cost": 0.75,
        "class_strict": False,
        "min_removed_to_verify": 1,
        **changed,
    }
    result: Any = DetectionsDifferenceBlockV1().run(reference, candidate, **arguments)
    return result


class TestSpatialCosts:
    def test_overlap_and_distance(self) -> None:
        """1 - IoU of boxes that meet, 1 plus the share of the diagonal for others."""
        costs = spatial_costs([[0, 0, 10, 10]], [[0, 0, 10, 10], [5, 0, 15, 10], [30, 0, 40, 10]])
        assert costs[0].tolist() == pytest.approx([0, 1 - 50 / 150, 1 + 30 / np.hypot(40, 10)])

    def test_any_overlap_is_cheaper(self) -> None:
        """A pair that overlaps at all costs less than any that does not."""
        costs = spatial_costs([[0, 0, 10, 10]], [[9.9, 9.9, 100, 100], [10, 0, 20, 10]])
        assert costs[0, 0] < 1 <= costs[0, 1]

    def test_points(self) -> None:
        """Boxes without extent cost nothing to divide by."""
        with np.errstate(all="raise"):
            assert spatial_costs([[3, 3, 3, 3]], [[3, 3, 3, 3]])[0, 0] == 0


box = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 9), st.integers(1, 9)).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


class TestMatches:
    @settings(max_examples=60)
    @given(st.lists(box, max_size=4), st.lists(box, max_size=4))
    def test_least_sum(self, first: Any, second: Any) -> None:
        """The pairs have the least sum of costs over all assignments."""
        one, other = some(first), some(second)
        rows, columns = matches(one, other, Costs(0.4, 0.15, 10.0, False))
        assert len(rows) == min(len(first), len(second))
        if len(rows) == 0:
            return
        cost = 0.4 * spatial_costs(first, second)
        short, long = (
            (cost, range(len(second))) if len(first) <= len(second) else (cost.T, range(len(first)))
        )
        least = min(
            sum(short[row, column] for row, column in enumerate(order))
            for order in permutations(long, len(short))
        )
        assert cost[rows, columns].sum() == pytest.approx(least)


class TestDifference:
    def test_sets(self) -> None:
        """What went keeps its image, what stayed and what came have the later one."""
        before = some([[0, 0, 10, 10], [40, 40, 50, 50]], BEFORE, ids=["gone", "stays"])
        after = some([[41, 40, 51, 50], [70, 0, 80, 10]], AFTER, ids=["stayed", "came"])
        result = compare(before, after, reject_cost=0.3)
        assert result["removed_detections"].data["detection_id"].tolist() == ["gone"]
        assert result["removed_detections"].data["parent_id"].tolist() == ["before"]
        assert result["persisted_detections"].data["detection_id"].tolist() == ["stayed"]
        assert result["new_detections"].data["detection_id"].tolist() == ["came"]
        assert result["new_detections"].data["parent_id"].tolist() == ["after"]
        assert (result["removed_count"], result["new_count"]) == (1, 1)
        assert result["verified"] is True

    def test_class_penalty(self) -> None:
        """Different classes cost more and may cost too much."""
        before, after = some([[0, 0, 10, 10]], names=["a"]), some([[0, 0, 10, 10]], names=["b"])
        assert compare(before, after)["removed_count"] == 0
        assert compare(before, after, reject_cost=0.1)["removed_count"] == 1

    def test_class_strict(self) -> None:
        """Strict classes never match, however near, and leave the others their matches."""
        before = some([[0, 0, 10, 10], [2, 0, 12, 10]], names=["a", "b"])
        after = some([[0, 0, 10, 10], [2, 0, 12, 10]], names=["b", "a"])
        result = compare(before, after, class_strict=True)
        assert result["removed_count"] == 0
        result = compare(before, some([[0, 0, 10, 10]], names=["c"]), class_strict=True)
        assert (result["removed_count"], result["new_count"]) == (2, 1)

    @pytest.mark.parametrize(("least", "verified"), [(1, True), (2, True), (3, False), (0, True)])
    def test_verified(self, least: int, verified: bool) -> None:
        """Enough must have gone."""
        before = some([[0, 0, 10, 10], [40, 40, 50, 50]])
        assert compare(before, some([]), min_removed_to_verify=least)["verified"] is verified

    def test_nothing_before(self) -> None:
        """Where nothing was nothing can be verified."""
        result = compare(some([], BEFORE), some([[0, 0, 5, 5]], AFTER), min_removed_to_verify=0)
        assert (result["verified"], result["new_count"]) == (False, 1)
        assert result["removed_detections"].metadata["parent_id"] == "before"

    def test_no_rows_keep_the_columns(self) -> None:
        """Empty results have the columns of their set and know their image."""
        before, after = some([[0, 0, 10, 10]], BEFORE), some([[0, 0, 10, 10]], AFTER)
        result = compare(before, after)
        assert result["removed_detections"].data.keys() == before.data.keys()
        assert result["new_detections"].metadata["parent_id"] == "after"

    def test_negative_costs(self) -> None:
        """Costs that came through references are checked."""
        with pytest.raises(
            ValueError, match="`reject_cost` must be a number of at least 0, got -1"
        ):
            compare(some([]), some([]), reject_cost=-1)
