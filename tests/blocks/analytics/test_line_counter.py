"""Crossings of a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.analytics.line_counter.family import MOST_TRACKS, LineCounter
from blocks.analytics.line_counter.v1 import LineCounterBlockV1
from blocks.analytics.line_counter.v2 import LineCounterBlockV2
from blocks.kinds.detections.columns import with_columns
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

LINE = [[50, 100], [50, 0]]  # upwards: what comes to its left comes in
IMAGE = an_image((120, 120))


def at(*places: tuple[int, float, float], size: float = 10, form: MaskForm = "none") -> Any:
    """Detections (track, x, y of the centre)."""
    boxes = [[x - size / 2, y - size / 2, x + size / 2, y + size / 2] for _, x, y in places]
    rows = some(boxes, IMAGE, form=form)
    return with_columns(rows, {"tracker_id": np.array([track for track, _, _ in places], int)})


def frame(video: str = "v") -> WorkflowImageData:
    """A frame of a video."""
    metadata = VideoMetadata(video, 1)
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=IMAGE.numpy_image, video_metadata=metadata
    )


def counts(frames: list[Any], line: Any = LINE, anchor: str | None = "CENTER") -> tuple[int, int]:
    """(in, out) after some frames."""
    block = LineCounterBlockV2()
    result: Any = {}
    for detections in frames:
        result = block.run(frame(), detections, line, anchor)
    return result["count_in"], result["count_out"]


class TestLineCounter:
    @pytest.mark.parametrize(
        ("xs", "expected"),
        [
            ([30, 70], (0, 1)),
            ([70, 30], (1, 0)),
            ([30, 70, 30, 70], (1, 2)),
            ([30, 40, 45], (0, 0)),
            ([70], (0, 0)),
            ([30, None, None, None, 70], (0, 1)),  # hidden while it crosses
        ],
    )
    def test_each_crossing_counts_in_its_direction(
        self, xs: list[float | None], expected: tuple[int, int]
    ) -> None:
        """By the side seen last, however long ago."""
        frames = [at() if x is None else at((1, x, 50)) for x in xs]
        assert counts(frames) == expected

    def test_who_passes_beside_the_line_does_not_count(self) -> None:
        """Below its end; coming back between the ends counts against the side before."""
        assert counts([at((1, 30, 110)), at((1, 70, 110))]) == (0, 0)
        assert counts([at((1, 30, 50)), at((1, 30, 110)), at((1, 70, 110)), at((1, 70, 50))]) == (
            0,
            1,
        )

    def test_by_default_the_whole_box_must_cross(self) -> None:
        """While it straddles the line nothing counts; a flicker on the line is no crossing."""
        assert counts([at((1, 30, 50)), at((1, 53, 50))], anchor=None) == (0, 0)
        assert counts([at((1, 30, 50)), at((1, 53, 50)), at((1, 70, 50))], anchor=None) == (0, 1)
        assert counts([at((1, 30, 50)), at((1, 53, 50)), at((1, 30, 50))], anchor=None) == (0, 0)

    def test_the_crossing_detections_are_given(self) -> None:
        """v2 gives the rows of this frame, with all their columns."""
        block = LineCounterBlockV2()
        block.run(frame(), at((1, 30, 20), (2, 70, 50), (3, 30, 80)), LINE, "CENTER")
        result: Any = block.run(frame(), at((3, 70, 80), (2, 30, 50), (1, 30, 20)), LINE, "CENTER")
        assert result["detections_in"].tracker_id.tolist() == [2]
        assert result["detections_out"].tracker_id.tolist() == [3]
        assert result["detections_out"].data["detection_id"].tolist() == ["d0"]

    def test_videos_are_counted_by_themselves(self) -> None:
        """The same track id in two videos is two objects."""
        block = LineCounterBlockV2()
        for video, xs in (("a", 30), ("b", 70), ("a", 70), ("b", 70)):
            result: Any = block.run(frame(video), at((1, xs, 50)), LINE, "CENTER")
        assert (result["count_in"], result["count_out"]) == (0, 0)
        result = block.run(frame("a"), at((1, 70, 50)), LINE, "CENTER")
        assert (result["count_in"], result["count_out"]) == (0, 1)

    def test_another_line_starts_a_new_count(self) -> None:
        """A line that a parameter moves is not the first one for ever."""
        block = LineCounterBlockV2()
        block.run(frame(), at((1, 30, 50)), LINE, "CENTER")
        block.run(frame(), at((1, 70, 50)), LINE, "CENTER")
        other = [[90, 100], [90, 0]]
        assert _both(block.run(frame(), at((1, 70, 50)), other, "CENTER")) == (0, 0)
        assert _both(block.run(frame(), at((1, 95, 50)), other, "CENTER")) == (0, 1)

    def test_v1_takes_the_video_from_metadata(self) -> None:
        """The same count, two outputs."""
        block = LineCounterBlockV1()
        metadata = VideoMetadata("v", 1)
        block.run(metadata, at((1, 30, 50)), LINE, "CENTER")
        assert block.run(metadata, at((1, 70, 50)), LINE, "CENTER") == {
            "count_in": 0,
            "count_out": 1,
        }

    def test_no_detections_are_no_error(self) -> None:
        """roboflow/supervision#429: an empty result without tracker ids."""
        assert counts([some([], IMAGE)]) == (0, 0)

    def test_untracked_detections_are_an_error(self) -> None:
        """The message says what is missing."""
        with pytest.raises(ValueError, match="put a tracker"):
            counts([some([[0, 0, 5, 5]], IMAGE)])

    def test_tracks_that_are_not_confirmed_are_passed_over(self) -> None:
        """Several objects share the id -1."""
        assert counts([at((-1, 30, 50)), at((-1, 70, 50))]) == (0, 0)

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_the_centre_of_mass_needs_masks(self, form: MaskForm) -> None:
        """In whatever form they come."""
        frames = [at((1, 30, 50), form=form), at((1, 70, 50), form=form)]
        if form == "none":
            with pytest.raises(ValueError, match="CENTER_OF_MASS"):
                counts(frames, anchor="CENTER_OF_MASS")
        else:
            assert counts(frames, anchor="CENTER_OF_MASS") == (0, 1)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ([[0, 0]], "at least 2 points"),
            ([[0, 0], [0, 0]], "two different points"),
            ([[0, 0], [1, 1], [2, 2]], "two different points"),
            ([[0, "a"], [1, 1]], "list of points"),
            ("line", "list of points"),
            ([[0, float("nan")], [1, 1]], "list of points"),
        ],
    )
    def test_what_is_no_line_is_refused(self, line: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen it."""
        with pytest.raises(ValueError, match=words):
            counts([at((1, 30, 50))], line=line)

    def test_the_memory_of_sides_is_bounded(self) -> None:
        """The tracks seen longest ago are forgotten."""
        counter = LineCounter(np.array(LINE, float), ("CENTER",))
        for start in range(0, MOST_TRACKS + 2000, 1000):
            places = [(track, 30.0, 50.0) for track in range(start, start + 1000)]
            counter.update(at(*places))
        assert len(counter._sides) == MOST_TRACKS

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.lists(st.tuples(st.integers(0, 100), st.integers(0, 120)), min_size=3, max_size=3),
            min_size=1,
            max_size=12,
        ),
        st.sampled_from(["CENTER", "BOTTOM_CENTER", None]),
    )
    def test_agrees_with_supervision_while_every_track_is_seen(
        self, walk: list[list[tuple[int, int]]], anchor: str | None
    ) -> None:
        """Three objects on random walks, against `sv.LineZone`."""
        anchors = {} if anchor is None else {"triggering_anchors": [sv.Position[anchor]]}
        zone = sv.LineZone(sv.Point(*LINE[0]), sv.Point(*LINE[1]), **anchors)
        frames = [
            at(*((track, x + 0.25, y + 0.25) for track, (x, y) in enumerate(places)))
            for places in walk
        ]
        for detections in frames:
            zone.trigger(detections)
        assert counts(frames, anchor=anchor) == (zone.in_count, zone.out_count)


def _both(result: Any) -> tuple[int, int]:
    return result["count_in"], result["count_out"]
