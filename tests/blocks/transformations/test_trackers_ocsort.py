"""What is OC-SORT's own: momentum, recovery and re-update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from blocks.transformations.trackers_ocsort.oc_sort import OcSort, OcSortOptions
from blocks.transformations.tracking.motion import AreaRatioMotion
from tests.blocks.transformations.tracking_scenes import Places, box, ids


def after(frames: list[Any], options: OcSortOptions) -> OcSort:
    """A tracker that has seen one box a frame; None is no box."""
    tracker = OcSort()
    for place in frames:
        boxes = np.array([] if place is None else [box(*place)]).reshape(-1, 4)
        tracker.update(boxes, np.full(len(boxes), 0.9), options)
    return tracker


class TestMomentum:
    def test_the_direction_decides_between_boxes_that_overlap_alike(self) -> None:
        """Where an object should be by now is between a box behind and one ahead, a little nearer
        to that behind.
        """
        frames: list[Places] = [[(100 + 4 * n, 100)] for n in range(6)]
        frames.append([(116, 100), (132, 100)])
        assert ids("ocsort", frames, direction_weight=0.0)[-1] == [1, -1]
        assert ids("ocsort", frames, direction_weight=0.9, direction_frames=1)[-1] == [-1, 1]

    @pytest.mark.parametrize("delta_t", [1, 2, 3, 5])
    def test_the_equation(self, delta_t: int) -> None:
        """Angles by atan2: from the box delta t frames before the newest to the newest, and from
        the box delta t frames ago to the new one.
        """
        places = [(100, 100), (104, 101), (109, 100), (113, 104), (118, 104), (121, 109)]
        options = OcSortOptions(direction_frames=delta_t, direction_weight=0.4)
        tracker = after(places, options)
        tracker._tracks.next_frame()
        boxes = np.array([box(126, 112), box(120, 90), box(90, 90)])
        got = tracker._momentum(tracker._tracks.all, boxes, np.array([0.9, 0.8, 0.7]), options)
        old, new = places[max(5 - delta_t, 0)], places[5]
        way = math.atan2(new[1] - old[1], new[0] - old[0])
        from_here = places[6 - delta_t]
        for number, (x, y, score) in enumerate([(126, 112, 0.9), (120, 90, 0.8), (90, 90, 0.7)]):
            towards = math.atan2(y - from_here[1], x - from_here[0])
            angle = abs((towards - way + math.pi) % (2 * math.pi) - math.pi)
            assert got[0, number] == pytest.approx(0.4 * (1 - angle / math.pi) * score)

    def test_no_way_says_nothing(self) -> None:
        """A single box tells no direction: all boxes gain the same."""
        options = OcSortOptions(direction_weight=1.0)
        tracker = after([(100, 100)], options)
        tracker._tracks.next_frame()
        boxes = np.array([box(110, 100), box(90, 100), box(100, 100)])
        got = tracker._momentum(tracker._tracks.all, boxes, np.ones(3), options)
        assert got.tolist() == [[0.5, 0.5, 0.5]]


class TestRecovery:
    def test_an_object_that_stopped_is_found_where_it_was_seen(self) -> None:
        """SORT looks only where it should be by now: for an object that was hidden and had stopped
        it looks in vain.
        """
        frames: list[Places] = [[(100 + 8 * n, 100)] for n in range(10)]
        frames += [[]] * 8 + [[(172, 100)]]
        assert ids("ocsort", frames)[-1] == [1]
        assert ids("sort", frames)[-1] == [-1]


class TestReUpdate:
    def test_the_filter_is_led_along_the_way(self) -> None:
        """Against a filter that was shown the straight way in every hidden frame."""
        options = OcSortOptions(consecutive_frames=1, minimum_iou=0.05)
        walk: list[Any] = [(100 + 4 * n, 100) for n in range(6)]
        tracker = after([*walk, None, None, None, (128, 112)], options)
        motion = AreaRatioMotion()
        mean, covariance = motion.started(np.array(box(*walk[0])))
        way = [(120 + 2 * n, 100 + 3 * n) for n in range(1, 5)]
        for place in [*walk[1:], *way]:
            mean, covariance = motion.predicted(mean, covariance)
            mean, covariance = motion.corrected(mean, covariance, np.array(box(*place)))
        (track,) = tracker._tracks.all
        assert np.allclose(track.mean, mean)
        assert np.allclose(track.covariance, covariance)

    def test_an_object_that_turned_while_hidden_is_followed_on(self) -> None:
        """It comes back going the other way, and is missed once more soon after."""
        frames: list[Places] = [[(100 + 4 * n, 100)] for n in range(10)]
        frames += [[]] * 4
        frames += [[(130 - 4 * n, 100)] for n in range(3)] + [[]] * 5
        frames += [[(130 - 4 * n, 100)] for n in range(8, 12)]
        assert ids("ocsort", frames)[-4:] == [[1]] * 4

    def test_a_very_long_way_is_shortened(self) -> None:
        """Thousands of hidden frames take no time and end in a sound state."""
        options = OcSortOptions(consecutive_frames=1, lost_frames=10**6)
        tracker = after([(100, 100)] * 3, options)
        for _ in range(2000):
            tracker.update(np.zeros((0, 4)), np.zeros(0), options)
        assert tracker.update([box(104, 100)], [0.9], options).tolist() == [1]
        (track,) = tracker._tracks.all
        assert np.abs(AreaRatioMotion().boxes_of(track.mean) - box(104, 100)).max() < 0.1
        assert np.linalg.eigvalsh(track.covariance).min() > 0


class TestOcSort:
    def test_uncertain_boxes_are_left_out(self) -> None:
        """They neither begin a track nor keep one alive."""
        frames: list[Places] = [[(50, 100)]] * 4 + [[(50, 100, 0.55)]]
        assert ids("ocsort", frames)[-1] == [-1]
        assert ids("ocsort", frames, confident=0.55)[-1] == [1]

    def test_few_boxes_are_remembered(self) -> None:
        """No more than tell a direction, however long the video."""
        options = OcSortOptions(direction_frames=3)
        tracker = after([(100, 100)] * 200, options)
        (seen,) = tracker._seen.values()
        assert len(seen.boxes) == 4
        for _ in range(40):
            tracker.update(np.zeros((0, 4)), np.zeros(0), options)
        assert tracker._seen == {}
