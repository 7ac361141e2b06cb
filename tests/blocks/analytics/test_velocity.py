"""Velocities of tracks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.analytics.velocity.v1 import MOST_TRACKS, VelocityBlockV1
from tests.blocks.analytics.video_frames import around, frame
from tests.blocks.detection_sets import some


def columns(result: Any) -> dict[str, Any]:
    """The measured columns of a result as lists."""
    data = result["velocity_detections"].data
    names = ("velocity", "speed", "smoothed_velocity", "smoothed_speed")
    return {name: np.asarray(data[name]).tolist() for name in names}


def walk(places: list[tuple[float, float]], alpha: float = 0.5, scale: float = 1.0) -> Any:
    """What is measured at the end of a walk of one object, ten frames a second."""
    block = VelocityBlockV1()
    for number, place in enumerate(places, 1):
        result = block.run(frame(number), around({1: place}), alpha, scale)
    return columns(result)


class TestVelocity:
    def test_of_an_object_seen_first(self) -> None:
        """Nothing moves yet."""
        assert walk([(20, 20)]) == {
            "velocity": [[0, 0]],
            "speed": [0],
            "smoothed_velocity": [[0, 0]],
            "smoothed_speed": [0],
        }

    def test_metres_a_second(self) -> None:
        """3 and 4 px in a tenth of a second, 10 px a metre; half of it smoothed."""
        measured = walk([(20, 20), (23, 24)], scale=10)
        assert measured["velocity"] == [pytest.approx([3, 4])]
        assert measured["speed"] == pytest.approx([5])
        assert measured["smoothed_velocity"] == [pytest.approx([1.5, 2])]
        assert measured["smoothed_speed"] == pytest.approx([2.5])

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 150), st.integers(0, 110)), min_size=2, max_size=8),
        st.sampled_from([0.1, 0.5, 1.0]),
    )
    def test_against_differences(self, places: list[tuple[float, float]], alpha: float) -> None:
        """Differences of positions times ten, and their exponential mean from 0."""
        steps = np.diff(np.array(places, float), axis=0) * 10
        smoothed = np.zeros(2)
        for step in steps:
            smoothed = alpha * step + (1 - alpha) * smoothed
        measured = walk(places, alpha)
        assert measured["velocity"] == [pytest.approx(steps[-1], abs=1e-9)]
        assert measured["smoothed_velocity"] == [pytest.approx(smoothed, abs=1e-9)]
        assert measured["smoothed_speed"] == [pytest.approx(np.linalg.norm(smoothed), abs=1e-9)]

    def test_live_sources_are_timed_by_timestamps(self) -> None:
        """10 px in 2 s, whatever the rate that is declared."""
        block = VelocityBlockV1()
        for seconds, x in ((0.0, 20), (2.0, 30)):
            image = frame(1, seconds=seconds, from_file=False)
            result = block.run(image, around({1: (x, 20)}), 1.0, 1.0)
        assert columns(result)["velocity"] == [pytest.approx([5, 0])]

    def test_frames_in_between_that_miss_it(self) -> None:
        """The way counts over all the time that has passed."""
        block = VelocityBlockV1()
        block.run(frame(1), around({1: (20, 20)}), 1.0, 1.0)
        block.run(frame(2), around({}), 1.0, 1.0)
        result = block.run(frame(3), around({1: (24, 20)}), 1.0, 1.0)
        assert columns(result)["velocity"] == [pytest.approx([20, 0])]

    def test_no_time_has_passed(self) -> None:
        """The velocity is not known; the smoothed one stays."""
        block = VelocityBlockV1()
        for number, x in ((1, 20), (2, 24), (2, 90)):
            result = block.run(frame(number), around({1: (x, 20)}), 0.5, 1.0)
        assert columns(result)["velocity"] == [[0, 0]]
        assert columns(result)["smoothed_velocity"] == [pytest.approx([20, 0])]

    def test_a_video_that_begins_again(self) -> None:
        """No velocity against time."""
        block = VelocityBlockV1()
        for number, x in ((1, 20), (9, 24), (1, 90)):
            result = block.run(frame(number), around({1: (x, 20)}), 0.5, 1.0)
        assert columns(result)["smoothed_speed"] == [0]

    def test_each_video_and_track_by_itself(self) -> None:
        """The same id in two videos is two objects; rows may change places."""
        block = VelocityBlockV1()
        block.run(frame(1, "a"), around({1: (20, 20), 2: (50, 50)}), 1.0, 1.0)
        block.run(frame(1, "b"), around({1: (90, 90)}), 1.0, 1.0)
        result = block.run(frame(2, "a"), around({2: (50, 51), 1: (21, 20)}), 1.0, 1.0)
        assert np.allclose(columns(result)["velocity"], [[0, 10], [10, 0]])

    def test_unconfirmed_tracks(self) -> None:
        """Several objects share the id -1."""
        block = VelocityBlockV1()
        for number, x in ((1, 20.0), (3, 24.0)):
            result = block.run(frame(number), around({-1: (x, 20), 1: (x, 20)}), 1.0, 1.0)
        assert np.allclose(columns(result)["velocity"], [[0, 0], [20, 0]])

    def test_no_rows(self) -> None:
        """Columns of the right shape, also without ids."""
        result: Any = VelocityBlockV1().run(frame(1), some([]), 0.5, 1.0)
        data = result["velocity_detections"].data
        assert data["velocity"].shape == (0, 2)
        assert data["speed"].shape == (0,)

    def test_untracked_detections_are_an_error(self) -> None:
        """The message says what is missing."""
        with pytest.raises(ValueError, match="put a tracker"):
            VelocityBlockV1().run(frame(1), some([[0, 0, 5, 5]]), 0.5, 1.0)

    @pytest.mark.parametrize(
        ("alpha", "scale", "words"),
        [
            (0, 1, "`smoothing_alpha` must be a number of more than 0"),
            (1.5, 1, "`smoothing_alpha` must be a number of at most 1"),
            (None, 1, "`smoothing_alpha` must be a number"),
            (0.5, 0, "`pixels_per_meter` must be a number of more than 0"),
            (0.5, -3, "`pixels_per_meter` must be a number of more than 0"),
        ],
    )
    def test_numbers_out_of_range(self, alpha: Any, scale: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen them."""
        with pytest.raises(ValueError, match=words):
            VelocityBlockV1().run(frame(1), around({1: (5, 5)}), alpha, scale)

    def test_the_memory_is_bounded(self) -> None:
        """The tracks seen longest ago are forgotten."""
        block = VelocityBlockV1()
        for start in range(0, MOST_TRACKS + 2000, 1000):
            places = dict.fromkeys(range(start, start + 1000), (20.0, 20.0))
            block.run(frame(start + 1), around(places), 0.5, 1.0)
        motions = block._motions.get("v")
        assert motions is not None
        assert len(motions) == MOST_TRACKS
