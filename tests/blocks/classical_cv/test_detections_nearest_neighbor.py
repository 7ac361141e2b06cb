from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st

from blocks.classical_cv.detections_nearest_neighbor.v1 import DetectionsNearestNeighborBlockV1
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image()


def match(queries: sv.Detections, targets: sv.Detections, **changed: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "query_point": "CENTER",
        "target_point": "CENTER",
        "query_keypoint_name": None,
        "target_keypoint_name": None,
        "max_distance": None,
        **changed,
    }
    result: Any = DetectionsNearestNeighborBlockV1().run(queries, targets, **arguments)
    return result


def pairs(result: dict[str, Any]) -> list[tuple[str, str]]:
    return list(
        zip(
            result["matched_query_detections"].data["detection_id"].tolist(),
            result["matched_target_detections"].data["detection_id"].tolist(),
            strict=True,
        )
    )


def distances(result: dict[str, Any]) -> list[float]:
    return result["query_predictions"].data["nearest_target_distance"].tolist()


def at(points: list[tuple[float, float]], prefix: str) -> sv.Detections:
    """Boxes of 4 px around points."""
    boxes = [[x - 2, y - 2, x + 2, y + 2] for x, y in points]
    return some(boxes, IMAGE, ids=[f"{prefix}{row}" for row in range(len(points))])


grid = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6)


class TestNearest:
    @given(grid, grid)
    def test_equals_plain_search(self, first: Any, second: Any) -> None:
        """Pairs and distances are those of a search through all targets."""
        result = match(at(first, "q"), at(second, "t"))
        expected, least = [], []
        for row, (x, y) in enumerate(first):
            gaps = [np.hypot(x - u, y - v) for u, v in second]
            least.append(min(gaps, default=np.nan))
            expected += [
                (f"q{row}", f"t{column}") for column, gap in enumerate(gaps) if gap <= min(gaps) + 1
            ]
        assert pairs(result) == expected
        assert np.allclose(distances(result), least, equal_nan=True)

    def test_never_itself(self) -> None:
        """The same set on both sides matches each with another one."""
        both = at([(0, 0), (5, 0), (20, 0)], "d")
        assert pairs(match(both, both)) == [("d0", "d1"), ("d1", "d0"), ("d2", "d1")]

    @pytest.mark.parametrize(("limit", "count"), [(5, 1), (4, 0), (0, 0), (None, 1)])
    def test_max_distance(self, limit: int | None, count: int) -> None:
        """Targets beyond the limit do not count; the limit itself is still near."""
        result = match(at([(0, 0)], "q"), at([(5, 0)], "t"), max_distance=limit)
        assert len(pairs(result)) == count
        assert np.isnan(distances(result)[0]) == (count == 0)

    def test_points_of_boxes(self) -> None:
        """The named points of both boxes count."""
        queries, targets = some([[0, 0, 10, 10]], ids=["q"]), some([[20, 0, 40, 10]], ids=["t"])
        result = match(queries, targets, query_point="CENTER_RIGHT", target_point="CENTER_LEFT")
        assert distances(result) == [10]

    def test_inputs_stay(self) -> None:
        """Distances are not written into the sets that were given."""
        queries, targets = at([(0, 0)], "q"), at([(5, 0)], "t")
        match(queries, targets)
        assert "nearest_target_distance" not in queries.data
        assert "nearest_target_distance" not in targets.data

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_rows_keep_their_masks(self, form: MaskForm) -> None:
        """A target that is matched twice stands in both pairs with its mask."""
        targets = some([[0, 0, 5, 5]], IMAGE, ids=["t"], form=form)
        result = match(at([(0, 0), (9, 9)], "q"), targets)["matched_target_detections"]
        assert len(result) == 2
        if targets.mask is not None:
            assert np.array_equal(np.asarray(result.mask)[1], np.asarray(targets.mask)[0])

    def test_no_rows(self) -> None:
        """Empty sets give no pairs and keep their columns and image."""
        nothing = at([], "t")
        result = match(at([(0, 0)], "q"), nothing)
        assert np.isnan(distances(result)[0])
        assert result["matched_query_detections"].metadata["parent_id"] == "image"
        assert result["matched_target_detections"].data.keys() == nothing.data.keys()
        assert distances(match(nothing, at([(0, 0)], "q"))) == []


class TestKeypoints:
    ROWS = some(
        [[0, 0, 9, 9]] * 2,
        ids=["q0", "q1"],
        keypoints_xy=np.array([[[1, 1], [5, 5]], [[7, 7], [0, 0]]], np.float32),
        keypoints_class_name=np.array([["nose", "eye"], ["nose", ""]]),
    )

    def test_named_point(self) -> None:
        """A keypoint counts; rows that lack it have no neighbour."""
        target = some([[4, 4, 6, 6]], ids=["t"])
        result = match(self.ROWS, target, query_point="KEYPOINT", query_keypoint_name="eye")
        assert pairs(result) == [("q0", "t")]
        assert distances(result)[0] == 0
        assert np.isnan(distances(result)[1])

    @pytest.mark.parametrize(
        ("rows", "name", "message"),
        [
            (ROWS, None, "`query_keypoint_name` must be given"),
            (some([[0, 0, 9, 9]]), "eye", "the query predictions have no keypoints"),
        ],
    )
    def test_missing(self, rows: sv.Detections, name: str | None, message: str) -> None:
        """What a keypoint needs is named when it is not there."""
        with pytest.raises(ValueError, match=message):
            match(rows, rows, query_point="KEYPOINT", query_keypoint_name=name)

    def test_unknown_point(self) -> None:
        """A point that came through a reference is checked."""
        with pytest.raises(ValueError, match=r"`target_point` must be one of .* got 'MIDDLE'"):
            match(self.ROWS, self.ROWS, target_point="MIDDLE")

    def test_no_rows(self) -> None:
        """Empty sets need no keypoints."""
        result = match(some([]), some([]), query_point="KEYPOINT", query_keypoint_name="eye")
        assert pairs(result) == []
