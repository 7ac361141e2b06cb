"""What is ByteTrack's own."""

from __future__ import annotations

from tests.blocks.transformations.tracking_scenes import Places, ids


class TestTwoStageByteTrack:
    def test_an_uncertain_box_keeps_a_track_alive(self) -> None:
        """Also a young one, and one that was lost."""
        walk = [(50 + 4 * n, 100) for n in range(20)]
        frames: list[Places] = [[(*at, 0.3 if 5 <= n < 12 else 0.9)] for n, at in enumerate(walk)]
        assert ids("bytetrack", frames)[1:] == [[1]] * 19
        assert ids("bytetrack", [[(50, 100, 0.9)], [(50, 100, 0.3)]])[-1] == [1]
        lost: list[Places] = [[(50, 100)]] * 3 + [[]] * 3 + [[(50, 100, 0.3)]]
        assert ids("bytetrack", lost)[-1] == [1]

    def test_confident_boxes_come_first(self) -> None:
        """A confident box takes the track even where an uncertain one lies better."""
        frames: list[Places] = [[(50, 100)]] * 4 + [[(50, 100, 0.5), (60, 100, 0.9)]]
        assert ids("bytetrack", frames)[-1] == [-1, 1]
        assert ids("bytetrack", frames, confident=0.5)[-1] == [1, -1]

    def test_who_begins_a_track(self) -> None:
        """A confident box with at least the score of the activation threshold."""
        for score, expected in ((0.65, -1), (0.7, 1)):
            assert ids("bytetrack", [[(50, 100, score)]] * 3)[-1] == [expected]
        found = ids("bytetrack", [[(50, 100, 0.55)]] * 3, activation_threshold=0.5)
        assert found[-1] == [-1]

    def test_the_least_overlap_counts_in_both_stages(self) -> None:
        """A jump of 26 px leaves an overlap of 14 / 66 = 0.21."""
        for score in (0.9, 0.3):
            frames: list[Places] = [[(50, 100)]] * 5 + [[(76, 100, score)]]
            assert ids("bytetrack", frames, minimum_iou=0.2)[-1] == [1]
            assert ids("bytetrack", frames, minimum_iou=0.23)[-1] == [-1]
