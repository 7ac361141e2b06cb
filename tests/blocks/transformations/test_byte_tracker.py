"""Ids of objects from frame to frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.transformations.byte_tracker.byte_track import ByteTrack, ByteTrackOptions
from blocks.transformations.byte_tracker.v1 import ByteTrackerBlockV1
from blocks.transformations.byte_tracker.v2 import ByteTrackerBlockV2
from blocks.transformations.byte_tracker.v3 import ByteTrackerBlockV3
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image((400, 600))


def box(x: float, y: float, size: float = 40) -> list[float]:
    """A box around a centre."""
    return [x - size / 2, y - size / 2, x + size / 2, y + size / 2]


def frame(number: int = 1, video: str = "v", fps: float | None = 30) -> WorkflowImageData:
    """A frame of a video."""
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=IMAGE.numpy_image,
        video_metadata=VideoMetadata(video, number, fps=fps),
    )


def ids(frames: list[list[Any]], options: ByteTrackOptions | None = None) -> list[list[int]]:
    """Ids a frame; a box is (x, y) or (x, y, score)."""
    tracker = ByteTrack()
    found = []
    for places in frames:
        boxes = np.array([box(*place[:2]) for place in places]).reshape(-1, 4)
        scores = np.array([place[2] if len(place) > 2 else 0.9 for place in places])
        found.append(tracker.update(boxes, scores, options or ByteTrackOptions()).tolist())
    return found


class TestByteTrack:
    def test_objects_keep_their_ids_whatever_the_order_of_rows(self) -> None:
        """Two objects that walk, given in changing order."""
        frames: list[list[Any]] = []
        for step in range(20):
            pair = [(50 + 5 * step, 50), (50 + 5 * step, 200)]
            frames.append(pair if step % 2 else pair[::-1])
        found = ids(frames)
        assert found[0] == [1, 2]
        assert all(row == ([2, 1] if n % 2 else [1, 2]) for n, row in enumerate(found))

    def test_objects_that_pass_each_other_keep_their_ids(self) -> None:
        """Their speeds tell them apart where the boxes overlap."""
        frames = [[(100 + 8 * n, 100), (260 - 8 * n, 118)] for n in range(21)]
        assert ids(frames) == [[1, 2]] * 21

    def test_an_object_that_was_hidden_gets_its_id_back(self) -> None:
        """Ten frames behind something, walking on."""
        frames: list[list[Any]] = [[(50 + 4 * n, 100)] for n in range(15)]
        frames += [[]] * 10
        frames += [[(50 + 4 * n, 100)] for n in range(25, 30)]
        assert ids(frames)[-1] == [1]

    @pytest.mark.parametrize(("lost_frames", "expected"), [(8, [-1]), (9, [1])])
    def test_a_track_is_forgotten_after_its_time(
        self, lost_frames: int, expected: list[int]
    ) -> None:
        """Nine frames in which it is not seen."""
        frames: list[list[Any]] = [[(50, 100)]] * 3 + [[]] * 9 + [[(50, 100)]]
        assert ids(frames, ByteTrackOptions(lost_frames=lost_frames))[-1] == expected

    def test_an_uncertain_box_keeps_a_track_alive(self) -> None:
        """Scores of 0.15 between confident ones: the id is given all the time."""
        frames = [[(50 + 4 * n, 100, 0.15 if 5 <= n < 12 else 0.9)] for n in range(20)]
        assert ids(frames) == [[1]] * 20

    def test_uncertain_boxes_begin_no_track(self) -> None:
        """Nor do those that are just confident."""
        assert ids([[(50, 100, 0.2)]] * 5) == [[-1]] * 5
        assert ids([[(50, 100, 0.3)]] * 5) == [[-1]] * 5

    def test_an_object_that_appears_later_must_be_seen_twice(self) -> None:
        """One flash is no object; ids are not wasted on it."""
        frames: list[list[Any]] = [[(50, 100)] for _ in range(3)]
        frames += [[(50, 100), (300, 100)], [(50, 100)], [(50, 100), (300, 300)]]
        frames += [[(50, 100), (300, 300)]] * 2
        assert ids(frames)[3:] == [[1, -1], [1], [1, -1], [1, 2], [1, 2]]

    def test_an_id_can_wait_for_consecutive_frames(self) -> None:
        """With three frames asked for, the third gives the id."""
        assert ids([[(50, 100)]] * 4, ByteTrackOptions(consecutive_frames=3)) == [
            [-1],
            [-1],
            [1],
            [1],
        ]

    def test_far_jumps_are_other_objects(self) -> None:
        """No overlap, no match."""
        frames: list[list[Any]] = [[(50, 100)], [(50, 100)], [(400, 300)], [(400, 300)]]
        assert ids(frames) == [[1], [1], [-1], [2]]

    def test_nothing_is_an_empty_integer_array(self) -> None:
        """roboflow/supervision#429: no detections, no special case."""
        found = ByteTrack().update(np.zeros((0, 4)), np.zeros(0), ByteTrackOptions())
        assert found.shape == (0,)
        assert found.dtype == np.int64

    def test_odd_boxes_do_no_harm(self) -> None:
        """Not a number, no area, turned inside out."""
        tracker = ByteTrack()
        boxes = np.array(
            [box(50, 50), [np.nan, 0, 1, 1], [5, 5, 5, 5], [90, 90, 60, 60], box(200, 200)]
        )
        for _ in range(5):
            found = tracker.update(boxes, np.full(5, 0.9), ByteTrackOptions())
        assert found[0] == 1
        assert found[1] == -1
        assert found[4] > 0

    def test_a_crowd_is_followed(self) -> None:
        """Two hundred objects on a grid, all moving: every id stays where it is."""
        grid = [(60 * x, 60 * y) for x in range(20) for y in range(10)]
        frames: list[list[Any]] = [[(x + 3 * n, y + 2 * n) for x, y in grid] for n in range(8)]
        found = ids(frames)
        assert found == [list(range(1, 201))] * 8


class TestBlocks:
    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_only_tracked_rows_are_given_with_all_their_columns(self, form: MaskForm) -> None:
        """Also masks, in whatever form."""
        block = ByteTrackerBlockV2()
        rows = some([box(50, 50), box(200, 200)], IMAGE, scores=[0.9, 0.05], form=form)
        result: Any = block.run(frame(), rows, 0.25, 30, 0.8, 1)
        tracked = result["tracked_detections"]
        assert tracked.tracker_id.tolist() == [1]
        assert tracked.data["detection_id"].tolist() == ["d0"]
        assert (tracked.mask is not None) == (form in ("dense", "compact", "both"))

    def test_no_detections_give_ids_of_length_zero(self) -> None:
        """roboflow/supervision#429: integers, not None."""
        result: Any = ByteTrackerBlockV2().run(frame(), some([], IMAGE), 0.25, 30, 0.8, 1)
        found = result["tracked_detections"].tracker_id
        assert found.shape == (0,)
        assert np.issubdtype(found.dtype, np.integer)

    def test_videos_are_tracked_by_themselves(self) -> None:
        """Ids of each count from 1."""
        block = ByteTrackerBlockV2()
        for video, x in (("a", 50), ("b", 300), ("a", 52), ("b", 302)):
            result: Any = block.run(frame(video=video), some([box(x, 50)], IMAGE), 0.25, 30, 0.8, 1)
            assert result["tracked_detections"].tracker_id.tolist() == [1]

    def test_v1_takes_the_video_from_metadata(self) -> None:
        """The same ids."""
        block = ByteTrackerBlockV1()
        for number in (1, 2):
            metadata = VideoMetadata("v", number)
            result: Any = block.run(metadata, some([box(50, 50)], IMAGE), None, None, None, None)
        assert result["tracked_detections"].tracker_id.tolist() == [1]

    def test_v3_tells_new_objects_from_old_ones(self) -> None:
        """Each id is new once; with a small memory it is new again."""
        block = ByteTrackerBlockV3()
        both = some([box(50, 50), box(300, 300)], IMAGE)
        found = []
        for size in (10, 10, 1, 1):
            result: Any = block.run(frame(), both, 0.25, 30, 0.8, 1, size)
            found.append(
                (
                    result["new_instances"].tracker_id.tolist(),
                    result["already_seen_instances"].tracker_id.tolist(),
                )
            )
        assert found == [([1, 2], []), ([], [1, 2]), ([], [1, 2]), ([1], [2])]

    def test_the_buffer_is_in_frames_of_thirty_a_second(self) -> None:
        """At 10 frames a second, 30 frames are ten."""
        for empty, expected in ((8, [1]), (12, [])):
            block = ByteTrackerBlockV2()
            for _ in range(3):
                block.run(frame(fps=10), some([box(50, 50)], IMAGE), 0.25, 30, 0.8, 1)
            for _ in range(empty):
                block.run(frame(fps=10), some([], IMAGE), 0.25, 30, 0.8, 1)
            result: Any = block.run(frame(fps=10), some([box(50, 50)], IMAGE), 0.25, 30, 0.8, 1)
            assert result["tracked_detections"].tracker_id.tolist() == expected

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ((1.5, 30, 0.8, 1), "track_activation_threshold"),
            ((0.25, -1, 0.8, 1), "lost_track_buffer"),
            ((0.25, 30, -0.1, 1), "minimum_matching_threshold"),
            ((0.25, 30, 0.8, 0), "minimum_consecutive_frames"),
        ],
    )
    def test_options_out_of_range_are_refused(self, options: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen it."""
        with pytest.raises(ValueError, match=words):
            ByteTrackerBlockV2().run(frame(), some([], IMAGE), *options)
