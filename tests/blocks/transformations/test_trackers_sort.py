"""What is SORT's own."""

from __future__ import annotations

from tests.blocks.transformations.tracking_scenes import Places, ids


class TestSort:
    def test_every_box_is_matched_whatever_its_score(self) -> None:
        """A score of 0.05 keeps a track alive; only a better one begins it."""
        frames: list[Places] = [[(50, 100, 0.9)]] * 4 + [[(50, 100, 0.05)]] * 3
        assert ids("sort", frames)[4:] == [[1]] * 3
        assert ids("sort", [[(50, 100, 0.2)]] * 5) == [[-1]] * 5
        assert ids("sort", [[(50, 100, 0.25)]] * 3)[-1] == [1]

    def test_the_least_overlap(self) -> None:
        """A jump of 16 px leaves an overlap of 24 * 40 / (56 * 40) = 0.43."""
        frames: list[Places] = [[(50, 100)]] * 5 + [[(66, 100)]]
        assert ids("sort", frames, minimum_iou=0.42)[-1] == [1]
        assert ids("sort", frames, minimum_iou=0.44)[-1] == [-1]

    def test_a_speed_is_learnt_at_once(self) -> None:
        """Steps of 18 px, after a first one, are foreseen."""
        frames = [[(50 + 18 * n, 100)] for n in range(8)]
        assert ids("sort", frames, minimum_iou=0.3)[2:] == [[1]] * 6
