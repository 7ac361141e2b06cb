"""What trackers share: motion of boxes, assignment, ages and ids, first sightings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from blocks.transformations.tracking.assignment import best_pairs
from blocks.transformations.tracking.first_sightings import FirstSightings
from blocks.transformations.tracking.motion import (
    AreaRatioMotion,
    AspectHeightMotion,
    BoxMotion,
    WidthHeightMotion,
)
from blocks.transformations.tracking.tracks import Tracks, at_least, usable_boxes
from tests.blocks.transformations.tracking_scenes import box

MOTIONS = (AspectHeightMotion(), WidthHeightMotion(), AreaRatioMotion())
every_motion = pytest.mark.parametrize("motion", MOTIONS, ids=lambda m: type(m).__name__)


@every_motion
class TestBoxMotion:
    def test_boxes_come_back(self, motion: BoxMotion) -> None:
        """What is measured of a box is the box; also of many at once."""
        boxes = np.array([[0, 0, 10, 40], [5.5, 7, 300, 9]], np.float64)
        means, covariances = motion.started(boxes)
        assert np.allclose(motion.boxes_of(means), boxes)
        assert covariances.shape == (2, means.shape[1], means.shape[1])

    def test_the_filter_is_that_of_the_book(self, motion: BoxMotion) -> None:
        """Against the textbook equations of Kalman with the observation matrix written out."""
        rng = np.random.default_rng(3)
        means, covariances = motion.started(np.array([box(100, 90), box(300, 200, 70)]))
        for step in range(1, 6):
            seen = np.array([box(100 + 3 * step, 90), box(300, 200 - step, 70)])
            seen += rng.normal(0, 1, seen.shape)
            expected = []
            for mean, covariance, one in zip(means, covariances, seen, strict=True):
                size = len(mean)
                forward = np.eye(size) + np.eye(size, k=4)
                noise = np.diag(motion.drift(mean) ** 2)
                mean, covariance = forward @ mean, forward @ covariance @ forward.T + noise
                look = np.eye(4, size)
                error = np.diag(motion.measuring_error(mean) ** 2)
                gain = covariance @ look.T @ np.linalg.inv(look @ covariance @ look.T + error)
                mean = mean + gain @ (motion.measured(one) - look @ mean)
                expected.append((mean, (np.eye(size) - gain @ look) @ covariance))
            means, covariances = motion.predicted(means, covariances)
            means, covariances = motion.corrected(means, covariances, seen)
            for mean, covariance, (mean_2, covariance_2) in zip(
                means, covariances, expected, strict=True
            ):
                assert np.allclose(mean, mean_2)
                assert np.allclose(covariance, covariance_2)

    def test_a_constant_speed_is_learnt(self, motion: BoxMotion) -> None:
        """After some frames the next box is foreseen to the pixel."""
        mean, covariance = motion.started(np.array(box(100, 100)))
        for step in range(1, 30):
            mean, covariance = motion.predicted(mean, covariance)
            mean, covariance = motion.corrected(
                mean, covariance, np.array(box(100 + 6 * step, 100))
            )
        mean, covariance = motion.predicted(mean, covariance)
        assert np.abs(motion.boxes_of(mean) - box(280, 100)).max() < 1
        assert np.allclose(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() > 0

    @pytest.mark.parametrize("odd", [[5, 5, 5, 5], [9, 9, 2, 3], [0, 0, 2**53, 1]])
    def test_odd_boxes_stay_finite(self, motion: BoxMotion, odd: list[float]) -> None:
        """No area, inside out, huge; then an ordinary one."""
        mean, covariance = motion.started(np.array(odd, np.float64))
        for one in (odd, box(100, 100), odd, box(1, 1, 1)):
            mean, covariance = motion.predicted(mean, covariance)
            mean, covariance = motion.corrected(mean, covariance, np.array(one, np.float64))
            left, top, right, bottom = motion.boxes_of(mean)
            assert left <= right
            assert top <= bottom
            assert np.isfinite(covariance).all()


class TestSeenFromMovedCamera:
    def test_shift_and_zoom(self) -> None:
        """Places move, sizes and speeds grow with the zoom."""
        motion = WidthHeightMotion()
        mean, covariance = motion.started(np.array([box(100, 50)]))
        mean[0, 4:6] = [3, 4]
        moved, spread = motion.seen_from_moved_camera(
            mean, covariance, np.array([[2.0, 0, 10], [0, 2.0, -5]])
        )
        assert moved.tolist() == [[210, 95, 80, 80, 6, 8, 0, 0]]
        assert np.allclose(spread, 4 * covariance)

    def test_a_turn_keeps_sizes(self) -> None:
        """A quarter turn: x becomes y; width stays width."""
        motion = WidthHeightMotion()
        mean, covariance = motion.started(np.array([[90.0, 40, 110, 80]]))
        mean[0, 4:6] = [3, 4]
        moved, _ = motion.seen_from_moved_camera(
            mean, covariance, np.array([[0.0, -1, 0], [1, 0, 0]])
        )
        assert np.allclose(moved, [[-60, 100, 20, 40, -4, 3, 0, 0]])


class TestBestPairs:
    @pytest.mark.parametrize("seed", range(8))
    def test_brute_force(self, seed: int) -> None:
        """No other choice of allowed pairs gains more."""
        rng = np.random.default_rng(seed)
        rows, columns = rng.integers(1, 5, 2)
        gains = rng.random((rows, columns))
        allowed = gains > 0.4
        worth = np.where(allowed, gains, 0)
        if rows > columns:
            worth = worth.T
        best = max(
            sum(worth[row, column] for row, column in enumerate(order))
            for order in itertools.permutations(range(worth.shape[1]), worth.shape[0])
        )
        pairs = best_pairs(gains, allowed)
        assert gains[pairs.rows, pairs.columns].sum() == pytest.approx(best)
        assert allowed[pairs.rows, pairs.columns].all()
        assert sorted([*pairs.rows, *pairs.free_rows]) == list(range(rows))
        assert sorted([*pairs.columns, *pairs.free_columns]) == list(range(columns))

    @pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
    def test_nothing_to_pair(self, shape: tuple[int, int]) -> None:
        """No rows, no columns, nothing allowed."""
        pairs = best_pairs(np.zeros(shape), np.zeros(shape, bool))
        assert [len(part) for part in pairs] == [0, 0, *shape]


class TestTracks:
    def test_lives(self) -> None:
        """A young track dies at the first miss; one with an id after its time; ids count up."""
        tracks = Tracks(WidthHeightMotion())
        boxes = np.array([box(50, 50), box(200, 200)])
        rows = np.arange(2)
        tracks.next_frame()
        first, second = tracks.begin(boxes, rows)
        tracks.confirm([first])
        assert tracks.ids(2).tolist() == [1, -1]
        tracks.next_frame()
        tracks.forget(1)
        assert tracks.all == [first]
        tracks.next_frame()
        tracks.forget(1)
        assert tracks.all == []
        assert second.id == -1
        tracks.confirm(tracks.begin(boxes, rows[1:]))
        assert tracks.ids(3).tolist() == [-1, 2, -1]

    @every_motion
    def test_what_is_hidden_keeps_its_size(self, motion: BoxMotion) -> None:
        """It goes on, but does not grow on."""
        tracks = Tracks(motion)
        rows = np.array([0])
        for step in range(20):
            tracks.next_frame()
            seen = np.array([box(100 + 4 * step, 100, 40 + step)])
            if step:
                tracks.see(tracks.all, seen, rows)
            else:
                tracks.confirm(tracks.begin(seen, rows))
        tracks.next_frame()
        first = tracks.boxes(tracks.all)[0]
        for _ in range(9):
            tracks.next_frame()
        last = tracks.boxes(tracks.all)[0]
        assert np.allclose(last[2:] - last[:2], first[2:] - first[:2], rtol=0.01)
        assert (last[0] + last[2] - first[0] - first[2]) / 2 == pytest.approx(36, abs=2)

    def test_ids_are_given_in_order_of_rows(self) -> None:
        """Whatever the order in which tracks were seen."""
        tracks = Tracks(WidthHeightMotion())
        boxes = np.array([box(50, 50), box(200, 200)])
        tracks.next_frame()
        one, two = tracks.begin(boxes, np.array([1, 0]))
        tracks.next_frame()
        tracks.see([one, two], boxes, np.array([1, 0]))
        tracks.confirm_old_enough(2)
        assert tracks.ids(2).tolist() == [1, 2]


class TestUsableBoxes:
    def test_rows_that_cannot_be_followed(self) -> None:
        """Not a number, endless, out of reach."""
        boxes: Any = [[0, 0, 1, 1], [np.nan, 0, 1, 1], [0, 0, np.inf, 1], [0, 0, 1e300, 1]]
        corners, marks, usable = usable_boxes([*boxes, [0, 0, 1, 1]], [1, 1, 1, 1, np.nan])
        assert usable.tolist() == [True, False, False, False, False]
        assert np.isfinite(corners).all()
        assert marks.dtype == np.float64

    def test_none(self) -> None:
        """No boxes."""
        assert [len(part) for part in usable_boxes(np.zeros((0, 4)), [])] == [0, 0, 0]


class TestAtLeast:
    def test_a_model_means_the_threshold(self) -> None:
        """The float32 next to 0.7 lies below 0.7."""
        scores = np.array([0.7], np.float32).astype(np.float64)
        assert scores[0] < 0.7
        assert at_least(scores, 0.7).tolist() == [True]
        assert at_least(np.array([0.69]), 0.7).tolist() == [False]


class TestFirstSightings:
    def test_ids_are_new_once(self) -> None:
        """Until they are forgotten, those not met longest first."""
        seen = FirstSightings()
        assert seen.are_new(np.array([1, 2]), 2).tolist() == [True, True]
        assert seen.are_new(np.array([1]), 2).tolist() == [False]
        assert seen.are_new(np.array([3]), 2).tolist() == [True]
        assert seen.are_new(np.array([1, 2]), 2).tolist() == [False, True]

    def test_none(self) -> None:
        """No ids."""
        assert FirstSightings().are_new(None, 1).tolist() == []
