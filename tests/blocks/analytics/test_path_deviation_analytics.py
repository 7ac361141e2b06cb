"""Distances of ways from paths."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.analytics.path_deviation_analytics import frechet
from blocks.analytics.path_deviation_analytics.frechet import PathDeviations
from blocks.analytics.path_deviation_analytics.v1 import PathDeviationAnalyticsBlockV1
from blocks.analytics.path_deviation_analytics.v2 import PathDeviationAnalyticsBlockV2
from tests.blocks.analytics.video_frames import around, frame
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, some

PATH = [[10, 10], [50, 10], [90, 10]]
Points = list[tuple[float, float]]
POINTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=7)


def by_definition(way: Points, path: Points) -> float:
    """The discrete Fréchet distance as it is defined, from the end to the beginning."""

    @cache
    def leash(i: int, j: int) -> float:
        here = float(np.hypot(way[i][0] - path[j][0], way[i][1] - path[j][1]))
        before = [
            leash(a, b) for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if a >= 0 and b >= 0
        ]
        return max(here, min(before)) if before else here

    return leash(len(way) - 1, len(path) - 1)


def distances(result: Any) -> list[float]:
    """The column of a result."""
    return list(result["path_deviation_detections"].data["path_deviation"].tolist())


def after(way: Points, path: Any = PATH, anchor: str = "CENTER", form: MaskForm = "none") -> float:
    """Distance at the end of a way of one object."""
    block = PathDeviationAnalyticsBlockV2()
    for number, place in enumerate(way, 1):
        result = block.run(frame(number), around({1: place}, form=form), anchor, path)
    return distances(result)[0]


class TestPathDeviation:
    @settings(max_examples=80, deadline=None)
    @given(POINTS, POINTS)
    def test_agrees_with_the_definition(self, way: Points, path: Points) -> None:
        """Frame by frame, though only one row of the table is kept."""
        for length in range(1, len(way) + 1):
            expected = by_definition(way[:length], path)
            assert after(way[:length], [list(point) for point in path]) == pytest.approx(expected)

    def test_by_hand(self) -> None:
        """Along the path it is 0 at the end; the farthest step aside stays."""
        assert after([(10, 10), (50, 10), (90, 10)]) == 0
        assert after([(10, 10)]) == 80
        assert after([(10, 10), (50, 40), (90, 10)]) == 30
        assert after([(90, 10), (50, 10), (10, 10)]) == 80

    def test_v1_takes_the_video_from_metadata(self) -> None:
        """The same distances."""
        block = PathDeviationAnalyticsBlockV1()
        for number, x in ((1, 10), (2, 50), (3, 90)):
            metadata = frame(number).video_metadata
            result = block.run(metadata, around({1: (x, 13)}), "CENTER", PATH)
        assert distances(result) == [3]

    def test_each_video_and_track_by_itself(self) -> None:
        """The same id in two videos is two objects; rows may change places."""
        block = PathDeviationAnalyticsBlockV2()
        block.run(frame(1, "a"), around({1: (10, 10), 2: (10, 20)}), "CENTER", PATH)
        block.run(frame(1, "b"), around({1: (10, 60)}), "CENTER", PATH)
        block.run(frame(2, "a"), around({2: (50, 20), 1: (50, 10)}), "CENTER", PATH)
        result = block.run(frame(3, "a"), around({2: (90, 20), 1: (90, 10)}), "CENTER", PATH)
        assert distances(result) == [10, 0]

    @pytest.mark.parametrize(
        ("path", "anchor"), [([[10, 20], [90, 20]], "CENTER"), (PATH, "TOP_LEFT")]
    )
    def test_another_path_or_anchor_starts_anew(self, path: Any, anchor: str) -> None:
        """What was measured before does not count."""
        block = PathDeviationAnalyticsBlockV2()
        block.run(frame(1), around({1: (0, 119)}), "CENTER", PATH)
        result = block.run(frame(2), around({1: (10, 10)}), anchor, path)
        alone = PathDeviationAnalyticsBlockV2().run(frame(2), around({1: (10, 10)}), anchor, path)
        assert distances(result) == distances(alone)

    def test_the_anchor_is_followed(self) -> None:
        """Boxes of 10 x 10 px whose lower edge is on the path."""
        assert after([(10, 5), (50, 5), (90, 5)], anchor="BOTTOM_CENTER") == 0
        with pytest.raises(ValueError, match="triggering_anchor"):
            after([(10, 5)], anchor="MIDDLE")

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_the_centre_of_mass_needs_masks(self, form: MaskForm) -> None:
        """In whatever form they come; the mask of a box lies half a pixel before its middle."""
        if form == "none":
            with pytest.raises(ValueError, match="CENTER_OF_MASS"):
                after([(10, 10)], [[10, 10]], "CENTER_OF_MASS", form)
        else:
            found = after([(10, 10)], [[10, 10]], "CENTER_OF_MASS", form)
            assert found == pytest.approx(np.hypot(0.5, 0.5))

    def test_unconfirmed_tracks(self) -> None:
        """Several objects share the id -1: each is a way of one point."""
        block = PathDeviationAnalyticsBlockV2()
        for number, x in ((1, 10.0), (2, 90.0)):
            result = block.run(
                frame(number), around({-1: (x, 10), 1: (x, 10)}), "CENTER", PATH[::2]
            )
        assert distances(result) == [80, 0]

    def test_no_rows(self) -> None:
        """An empty column, also without ids."""
        block = PathDeviationAnalyticsBlockV2()
        assert distances(block.run(frame(1), some([]), "CENTER", PATH)) == []

    def test_untracked_detections_are_an_error(self) -> None:
        """The message says what is missing."""
        with pytest.raises(ValueError, match="put a tracker"):
            PathDeviationAnalyticsBlockV2().run(frame(1), some([[0, 0, 5, 5]]), "CENTER", PATH)

    @pytest.mark.parametrize("path", [[], "path", [[1, 2, 3]], [[0, "a"]], [[0, float("nan")]], 5])
    def test_what_is_no_path_is_refused(self, path: Any) -> None:
        """Given by a parameter, where no schema has seen it."""
        with pytest.raises(ValueError, match="`reference_path` must"):
            after([(5, 5)], path)


class TestPathDeviations:
    def test_the_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the number of tracks, and of points of the path for each."""
        monkeypatch.setattr(frechet, "MOST_NUMBERS", 30)
        deviations = PathDeviations(np.array(PATH, float), "CENTER")
        for track in range(40):
            deviations.update(np.array([track]), np.array([[5.0, 5.0]]))
        assert list(deviations._rows) == list(range(30, 40))
