"""The log of when objects were seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.analytics.detection_event_log import event_log
from blocks.analytics.detection_event_log.event_log import EventLog, Sighting
from blocks.analytics.detection_event_log.v1 import (
    DetectionEventLogBlockV1,
    classes_of_tracks,
    seconds_into_file,
)
from blocks.kinds.detections.columns import with_columns
from execution_engine.block_api import WorkflowImageData
from tests.blocks.analytics.video_frames import START, around, frame
from tests.blocks.detection_sets import an_image, some


def see(
    block: DetectionEventLogBlockV1,
    image: WorkflowImageData,
    tracks: list[int],
    threshold: int = 2,
    interval: int = 1,
    stale: int = 3,
) -> Any:
    """One frame with some tracks."""
    rows = around(dict.fromkeys(tracks, (20, 20)), names=[f"c{track}" for track in tracks])
    return block.run(image, rows, threshold, interval, stale, None, 1.0)


class TestDetectionEventLog:
    def test_an_event(self) -> None:
        """All that is known of an object, times relative to the first frame of the file."""
        block = DetectionEventLogBlockV1()
        see(block, frame(3), [7])
        see(block, frame(4), [])
        result = see(block, frame(5), [7])
        start = START.timestamp()
        assert result["event_log"] == {
            "logged": {
                "7": {
                    "tracker_id": 7,
                    "class_name": "c7",
                    "first_seen_frame": 3,
                    "first_seen_timestamp": pytest.approx(start + 0.3),
                    "first_seen_relative": pytest.approx(0.2),
                    "last_seen_frame": 5,
                    "last_seen_timestamp": pytest.approx(start + 0.5),
                    "last_seen_relative": pytest.approx(0.4),
                    "frame_count": 2,
                }
            },
            "pending": {},
        }
        assert (result["total_logged"], result["total_pending"]) == (1, 0)
        assert result["complete_events"] == {}

    def test_live_sources_are_timed_by_timestamps(self) -> None:
        """Relative to the first frame that came."""
        block = DetectionEventLogBlockV1()
        see(block, frame(5, seconds=10.0, from_file=False), [])
        result = see(block, frame(6, seconds=12.5, from_file=False), [1])
        event = result["event_log"]["pending"]["1"]
        assert event["first_seen_relative"] == 2.5
        assert event["first_seen_timestamp"] == START.timestamp() + 12.5

    def test_who_is_gone_is_complete_once(self) -> None:
        """Not before more than `stale_frames` frames; who was pending just goes."""
        block = DetectionEventLogBlockV1()
        see(block, frame(1), [1, 2])
        see(block, frame(2), [1])
        found = [see(block, frame(number), [3]) for number in range(3, 8)]
        assert [list(result["complete_events"]) for result in found] == [[], [], [], ["1"], []]
        assert found[-2]["complete_events"]["1"]["last_seen_frame"] == 2
        assert list(found[-1]["event_log"]["logged"]) == ["3"]
        assert found[-1]["event_log"]["pending"] == {}

    def test_gone_ones_leave_once_in_an_interval(self) -> None:
        """Counted from the first frame; before that they may come back."""
        block = DetectionEventLogBlockV1()
        see(block, frame(1), [1], threshold=1, interval=10, stale=2)
        found = [
            see(block, frame(number), [], threshold=1, interval=10, stale=2)
            for number in range(2, 12)
        ]
        assert [bool(result["complete_events"]) for result in found] == [False] * 9 + [True]

    def test_frames_that_were_left_out_pass(self) -> None:
        """A step that sees each tenth frame counts tens; the threshold counts what was seen."""
        block = DetectionEventLogBlockV1()
        see(block, frame(1), [1], threshold=1, stale=15)
        assert see(block, frame(11), [], stale=15)["complete_events"] == {}
        assert list(see(block, frame(21), [], stale=15)["complete_events"]) == ["1"]

    def test_a_video_that_begins_again_goes_on(self) -> None:
        """Old events grow stale as before."""
        block = DetectionEventLogBlockV1()
        see(block, frame(900), [1], threshold=1)
        found = [see(block, frame(number), []) for number in range(1, 5)]
        assert [bool(result["complete_events"]) for result in found] == [False, False, False, True]

    def test_images_without_numbers_are_counted(self) -> None:
        """An image that is no frame has the number 0."""
        block = DetectionEventLogBlockV1()
        for _ in range(3):
            result = see(block, an_image(), [1])
        event = result["event_log"]["logged"]["1"]
        assert (event["first_seen_frame"], event["last_seen_frame"]) == (1, 3)

    def test_videos_are_logged_by_themselves(self) -> None:
        """The same track id in two videos is two objects."""
        block = DetectionEventLogBlockV1()
        see(block, frame(1, "a"), [1])
        result = see(block, frame(1, "b"), [1])
        assert result["event_log"]["pending"]["1"]["frame_count"] == 1

    def test_results_are_not_changed_later(self) -> None:
        """A buffer may keep them."""
        block = DetectionEventLogBlockV1()
        first = see(block, frame(1), [1])
        see(block, frame(2), [1])
        assert first["event_log"]["pending"]["1"]["frame_count"] == 1

    def test_detections_pass_through(self) -> None:
        """With all they have, whether they have a track or not."""
        rows = around({1: (20, 20), -1: (9, 9)})
        result: Any = DetectionEventLogBlockV1().run(frame(1), rows, 2, 1, 3, None, 1.0)
        assert result["detections"] == rows

    @pytest.mark.parametrize("rows", [some([]), some([[0, 0, 5, 5]]), around({-1: (5, 5)})])
    def test_who_has_no_track_is_not_logged(self, rows: Any) -> None:
        """No rows, rows without ids, and rows whose track is not confirmed."""
        result: Any = DetectionEventLogBlockV1().run(frame(1), rows, 1, 1, 3, None, 1.0)
        assert result["event_log"] == {"logged": {}, "pending": {}}

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ((0, 1, 1, None, 1.0), "`frame_threshold` must be a whole number of at least 1"),
            ((1, 0, 1, None, 1.0), "`flush_interval` must be a whole number of at least 1"),
            ((1, 1, -1, None, 1.0), "`stale_frames` must be a whole number of at least 0"),
            ((1, 1, 1, None, 0), "`fallback_fps` must be a number of more than 0"),
        ],
    )
    def test_numbers_out_of_range(self, fields: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen them."""
        with pytest.raises(ValueError, match=words):
            DetectionEventLogBlockV1().run(frame(1), around({}), *fields)


class TestSecondsIntoFile:
    @pytest.mark.parametrize(
        ("image", "seconds"),
        [
            (frame(21), 2.0),
            (frame(0), 0.0),
            (frame(21, fps=None), 5.0),
            (frame(21, from_file=None), 2.0),
            (frame(21, fps=None, from_file=None), 5.0),
            (frame(0, from_file=None), None),
            (frame(21, from_file=False), None),
        ],
    )
    def test_by_number_and_rate(self, image: WorkflowImageData, seconds: float | None) -> None:
        """Ten frames a second, or four where the file does not tell."""
        assert seconds_into_file(image.video_metadata, 4.0) == seconds


class TestClassesOfTracks:
    def test_names_else_ids(self) -> None:
        """Without names the class id makes one."""
        rows = around({4: (5, 5), 9: (9, 9)}, names=["größe", "b"])
        assert classes_of_tracks(rows) == {4: "größe", 9: "b"}
        del rows.data["class_name"]
        rows.class_id = np.array([3, 8])
        assert classes_of_tracks(rows) == {4: "class_3", 9: "class_8"}
        assert classes_of_tracks(with_columns(rows, {"class_id": None})) == {4: "", 9: ""}


class TestEventLog:
    def test_the_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The objects seen longest ago are complete early."""
        monkeypatch.setattr(event_log, "MOST_EVENTS", 10)
        log = EventLog()
        log.next_frame(1)
        log.see(dict.fromkeys(range(12), "a"), Sighting(1, 0.0, 0.0), 1)
        assert [event.tracker_id for event in log.flush(30, 300)] == [0, 1]
        assert len(log.logged()) == 10
