"""Smoothed boxes, and objects brought back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.kinds.detections import keys
from blocks.transformations.stabilize_detections import stable_tracks
from blocks.transformations.stabilize_detections.stable_tracks import StableTracks
from blocks.transformations.stabilize_detections.v1 import StabilizeDetectionsBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.analytics.video_frames import IMAGE, around, frame, tracked
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, a_crop, an_image, dense_masks, some


class Run:
    """A block and its options, frame after frame."""

    def __init__(self, window: int | None = 3, share: float | None = 1.0) -> None:
        self.block = StabilizeDetectionsBlockV1()
        self._options = window, share
        self._number = 0

    def __call__(self, rows: Any, video: str = "v") -> Any:
        self._number += 1
        result: Any = self.block.run(frame(self._number, video), rows, *self._options)
        return result["tracked_detections"]


def centers(rows: Any) -> dict[int, list[float]]:
    """Centres of boxes by track."""
    middles = (rows.xyxy[:, :2] + rows.xyxy[:, 2:]) / 2
    return dict(zip(rows.tracker_id.tolist(), middles.tolist(), strict=True))


class TestStabilizeDetections:
    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(st.lists(st.integers(0, 100), min_size=4, max_size=4), min_size=1, max_size=6),
        st.sampled_from([0.0, 0.2, 1.0]),
    )
    def test_boxes_are_smoothed(self, boxes: list[list[int]], share: float) -> None:
        """The exponential mean of the boxes, from the first one on."""
        run = Run(share=share)
        expected = np.array(boxes[0], float)
        for box in boxes:
            expected = share * np.array(box) + (1 - share) * expected
            found = run(tracked({1: box}))
        assert found.xyxy[0] == pytest.approx(expected, abs=1e-3)

    def test_missing_objects_come_back_for_the_window(self) -> None:
        """Moved on by the mean of the last steps, with their ids and classes, and then no more."""
        run = Run(window=2)
        for x, y in ((10, 20), (20, 20), (24, 22), (30, 22)):
            run(around({5: (x, y)}, names=["große Katze"], ids=["d"]))
        first, second, third = run(around({})), run(some([])), run(around({}))
        assert centers(first) == {5: pytest.approx([35, 23])}
        assert centers(second) == {5: pytest.approx([40, 24])}
        assert len(third) == 0
        assert second.data["class_name"].tolist() == ["große Katze"]
        assert second.data["detection_id"].tolist() == ["d"]

    def test_an_object_seen_once_stays_where_it_was(self) -> None:
        """Nothing is known of its way."""
        run = Run()
        run(around({1: (50, 50)}))
        assert centers(run(around({}))) == {1: [50, 50]}

    def test_rows_of_the_frame_come_first(self) -> None:
        """Then those brought back, also from different frames."""
        run = Run()
        run(around({1: (10, 10), 2: (20, 20), 3: (30, 30)}))
        run(around({2: (20, 20), 3: (30, 30)}))
        assert run(around({3: (30, 30)})).tracker_id.tolist() == [3, 1, 2]

    def test_coming_back_after_a_gap(self) -> None:
        """The step counts for each frame of the gap; smoothing goes on where it should be."""
        run = Run(share=0.5)
        run(around({1: (10, 10)}))
        run(around({1: (20, 10)}))  # given out at 15
        run(around({}))  # 25
        run(around({}))  # 35
        assert centers(run(around({1: (50, 10)}))) == {1: pytest.approx([42.5, 10])}
        assert centers(run(around({}))) == {1: pytest.approx([52.5, 10])}

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_masks_and_keypoints_move_along(self, form: MaskForm) -> None:
        """By whole pixels, cut at the border of the image."""
        run = Run()
        for left in (10, 16):
            points = np.array([[[left + 4, 14]]], np.float32)
            found = run(tracked({1: [left, 10, left + 20, 30]}, form=form, keypoints_xy=points))
        found = run(tracked({}, form=form))
        assert found.xyxy.tolist() == [[22, 10, 42, 30]]
        assert np.asarray(found.data["keypoints_xy"]).tolist() == [[[26, 14]]]
        if form != "none":
            expected = np.zeros(IMAGE.size, bool)
            expected[10:30, 22:42] = True
            assert np.array_equal(dense_masks(found)[0], expected)

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_rows_stay_of_their_image(self, form: MaskForm) -> None:
        """Those brought back name the same parent and root, also of a crop."""
        crop = a_crop(IMAGE, (30, 40, 130, 110))
        run = Run()
        names = {"tracker_id": np.array([1])}
        for left in (10, 14):
            rows = some([[left, 10, left + 20, 30]], crop, form=form)
            rows.tracker_id = names["tracker_id"]
            seen = run(rows)
        found = run(some([], crop, form=form))
        assert found.xyxy.tolist() == [[18, 10, 38, 30]]
        for key in keys.IMAGE_LEVEL:
            assert (key in found.data) == (key in seen.data)
            if key in seen.data:
                assert np.array_equal(found.data[key], seen.data[key]), key

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_the_input_is_not_written(self, form: MaskForm) -> None:
        """Nor what was given in earlier frames."""
        run = Run(share=0.2)
        before = tracked({1: [10, 10, 30, 30]}, form=form)
        before.xyxy.flags.writeable = False
        run(before)
        run(tracked({1: [14, 10, 34, 30]}, form=form))
        run(tracked({}, form=form))
        assert before.xyxy.tolist() == [[10, 10, 30, 30]]

    def test_videos_are_smoothed_by_themselves(self) -> None:
        """The same track id in two videos is two objects."""
        run = Run(share=0.5)
        run(around({1: (10, 10)}), "a")
        assert centers(run(around({1: (90, 90)}), "b")) == {1: [90, 90]}
        assert centers(run(around({1: (20, 10)}), "a")) == {1: [15, 10]}

    def test_frames_of_another_size_start_anew(self) -> None:
        """Another view: nothing comes back into it."""
        run = Run()
        run(around({1: (10, 10)}))
        rows = some([], an_image((50, 50)))
        image = WorkflowImageData(
            ImageParentMetadata("image"),
            numpy_image=np.zeros((50, 50), np.uint8),
            video_metadata=VideoMetadata("v", 2),
        )
        found: Any = run.block.run(image, rows, 3, 1.0)
        assert len(found["tracked_detections"]) == 0

    def test_unconfirmed_tracks_stay_as_they_are(self) -> None:
        """Several objects share the id -1; none comes back."""
        run = Run(share=0.5)
        run(around({-1: (10, 10)}))
        assert centers(run(around({-1: (90, 10)}))) == {-1: [90, 10]}
        assert len(run(around({}))) == 0

    def test_no_value_is_the_default(self) -> None:
        """Three frames and a fifth of the new box."""
        run = Run(None, None)
        run(around({1: (10, 10)}))
        assert centers(run(around({1: (20, 10)}))) == {1: pytest.approx([12, 10])}
        assert [len(run(around({}))) for _ in range(4)] == [1, 1, 1, 0]

    def test_a_window_that_changes(self) -> None:
        """Counts as it is in each frame."""
        block = StabilizeDetectionsBlockV1()
        block.run(frame(1), around({1: (10, 10)}), 5, 1.0)
        block.run(frame(2), around({}), 5, 1.0)
        found: Any = block.run(frame(3), around({}), 1, 1.0)
        assert len(found["tracked_detections"]) == 0

    def test_boxes_without_area_and_far_away(self) -> None:
        """Numbers stay finite."""
        run = Run()
        for x in (0.0, 3e38):
            run(tracked({1: [x, 5, x, 5]}))
        for _ in range(3):
            assert np.isfinite(run(around({})).xyxy).all()

    def test_no_rows(self) -> None:
        """Nothing comes of nothing, also without ids."""
        assert len(Run()(some([]))) == 0

    def test_untracked_detections_are_an_error(self) -> None:
        """The message says what is missing."""
        with pytest.raises(ValueError, match="put a tracker"):
            Run()(some([[0, 0, 5, 5]]))

    @pytest.mark.parametrize(
        ("window", "share", "words"),
        [
            (0, 0.5, "`smoothing_window_size` must be a whole number from 1"),
            (2.5, 0.5, "`smoothing_window_size` must be a whole number"),
            (3, 1.5, "`bbox_smoothing_coefficient` must be a number from 0 to 1"),
            (3, -0.5, "`bbox_smoothing_coefficient` must be a number from 0 to 1"),
        ],
    )
    def test_numbers_out_of_range(self, window: Any, share: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen them."""
        with pytest.raises(ValueError, match=words):
            Run(window, share)(around({1: (5, 5)}))


class TestStableTracks:
    def test_the_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tracks seen longest ago are forgotten."""
        monkeypatch.setattr(stable_tracks, "MOST_TRACKS", 10)
        tracks = StableTracks((120, 160))
        rows = around(dict.fromkeys(range(12), (20, 20)))
        tracks.update(rows, rows.tracker_id, 3, 0.5)
        assert len(tracks) == 10
