"""Seconds in a zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from blocks.analytics.time_in_zone.family import MOST_TRACKS
from blocks.analytics.time_in_zone.v1 import TimeInZoneBlockV1
from blocks.analytics.time_in_zone.v2 import TimeInZoneBlockV2
from blocks.analytics.time_in_zone.v3 import TimeInZoneBlockV3
from blocks.kinds.detections.columns import with_columns
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.detection_sets import an_image, some

IMAGE = an_image((120, 120))
LEFT = [[0, 0], [50, 0], [50, 119], [0, 119]]
RIGHT = [[80, 0], [119, 0], [119, 119], [80, 119]]
START = datetime(2026, 1, 1)


def at(*places: tuple[int, float, float]) -> Any:
    """Detections (track, x, y of the centre)."""
    rows = some([[x - 5, y - 5, x + 5, y + 5] for _, x, y in places], IMAGE)
    return with_columns(rows, {"tracker_id": np.array([track for track, _, _ in places], int)})


def frame(number: int, video: str = "v", live_at: float | None = None) -> WorkflowImageData:
    """Frame of a file at 10 a second, or of a live source at a time."""
    live = live_at is not None
    metadata = VideoMetadata(
        video,
        number,
        START + timedelta(seconds=live_at or 0.0),
        fps=10,
        comes_from_video_file=not live,
    )
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=IMAGE.numpy_image, video_metadata=metadata
    )


def times(result: Any) -> dict[int, float]:
    """Seconds by track."""
    rows = result["timed_detections"]
    return dict(zip(rows.tracker_id.tolist(), rows.data["time_in_zone"].tolist(), strict=True))


class TestTimeInZone:
    def test_files_are_timed_by_frame_numbers(self) -> None:
        """Ten frames a second: half a second after five frames."""
        block = TimeInZoneBlockV2()
        for number in (1, 2, 6):
            result = block.run(frame(number), at((1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {1: pytest.approx(0.5)}

    def test_live_sources_are_timed_by_timestamps(self) -> None:
        """Whatever rate they declare."""
        block = TimeInZoneBlockV2()
        for number, seconds in ((1, 0.0), (2, 1.5), (3, 4.0)):
            result = block.run(
                frame(number, live_at=seconds), at((1, 20, 20)), LEFT, "CENTER", True, True
            )
        assert times(result) == {1: pytest.approx(4.0)}

    @pytest.mark.parametrize(
        ("reset", "expected"), [(True, pytest.approx(0.1)), (False, pytest.approx(0.4))]
    )
    def test_coming_back_starts_again_or_goes_on(self, reset: bool, expected: Any) -> None:
        """In at 1, out at 3, in at 4 and 5."""
        block = TimeInZoneBlockV2()
        for number, x in ((1, 20), (2, 20), (3, 60), (4, 20), (5, 20)):
            result = block.run(frame(number), at((1, x, 20)), LEFT, "CENTER", True, reset)
        assert times(result) == {1: expected}

    @pytest.mark.parametrize(("remove", "expected"), [(True, {1: 0.0}), (False, {1: 0.0, 2: 0.0})])
    def test_outsiders_are_left_out_or_have_no_time(
        self, remove: bool, expected: dict[int, float]
    ) -> None:
        """Both ways every row has a number."""
        block = TimeInZoneBlockV2()
        result = block.run(frame(1), at((1, 20, 20), (2, 70, 20)), LEFT, "CENTER", remove, True)
        assert times(result) == expected

    def test_a_track_that_is_not_seen_keeps_its_time(self) -> None:
        """A missed detection is no exit."""
        block = TimeInZoneBlockV2()
        block.run(frame(1), at((1, 20, 20)), LEFT, "CENTER", True, True)
        block.run(frame(2), at(), LEFT, "CENTER", True, True)
        result = block.run(frame(4), at((1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {1: pytest.approx(0.3)}

    def test_videos_are_timed_by_themselves(self) -> None:
        """The same track id in two videos is two objects."""
        block = TimeInZoneBlockV2()
        block.run(frame(1, "a"), at((1, 20, 20)), LEFT, "CENTER", True, True)
        result = block.run(frame(9, "b"), at((1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {1: 0.0}

    def test_the_anchor_is_that_of_the_whole_box(self) -> None:
        """roboflow/supervision#1991: a box over two zones is not clipped to each of them first."""
        box = [[441, 258, 718, 713]]
        zones = [
            [[0, 167], [457, 167], [457, 427], [0, 427]],
            [[458, 67], [1011, 67], [1011, 309], [458, 309]],
        ]
        rows = with_columns(some(box, IMAGE), {"tracker_id": np.array([1])})
        for zone in zones:
            result: Any = TimeInZoneBlockV2().run(frame(1), rows, zone, "CENTER", True, True)
            assert len(result["timed_detections"]) == 0
        result = TimeInZoneBlockV3().run(frame(1), rows, zones, "CENTER", True, True)
        assert len(result["timed_detections"]) == 0

    def test_the_border_belongs_to_the_zone(self) -> None:
        """Exactly on the edge is in, a hundredth of a pixel beside it is out."""
        block = TimeInZoneBlockV2()
        result = block.run(frame(1), at((1, 50, 20), (2, 50.01, 20)), LEFT, "CENTER", True, True)
        assert list(times(result)) == [1]

    def test_several_zones_are_one(self) -> None:
        """v3: going from one zone to the other at once is no exit; between them it is."""
        block = TimeInZoneBlockV3()
        for number, x in ((1, 20), (2, 100)):
            result = block.run(frame(number), at((1, x, 20)), [LEFT, RIGHT], "CENTER", True, True)
        assert times(result) == {1: pytest.approx(0.1)}
        block.run(frame(3), at((1, 65, 20)), [LEFT, RIGHT], "CENTER", True, True)
        result = block.run(frame(4), at((1, 100, 20)), [LEFT, RIGHT], "CENTER", True, True)
        assert times(result) == {1: 0.0}

    def test_v3_takes_one_polygon_too(self) -> None:
        """As v2 does."""
        result = TimeInZoneBlockV3().run(frame(1), at((1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {1: 0.0}

    def test_v1_takes_video_and_time_from_metadata(self) -> None:
        """Not from the image."""
        block = TimeInZoneBlockV1()
        still = an_image((120, 120))
        for number in (1, 4):
            metadata = frame(number).video_metadata
            result = block.run(still, metadata, at((1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {1: pytest.approx(0.3)}

    def test_no_detections_keep_their_columns(self) -> None:
        """roboflow/supervision#429: an empty result is no special case for what comes after."""
        result: Any = TimeInZoneBlockV2().run(frame(1), some([], IMAGE), LEFT, "CENTER", True, True)
        assert len(result["timed_detections"]) == 0

    def test_tracks_that_are_not_confirmed_have_no_time(self) -> None:
        """Several objects share the id -1."""
        block = TimeInZoneBlockV2()
        for number in (1, 9):
            result = block.run(frame(number), at((-1, 20, 20)), LEFT, "CENTER", True, True)
        assert times(result) == {-1: 0.0}

    def test_the_memory_of_tracks_is_bounded(self) -> None:
        """The tracks seen longest ago are forgotten."""
        block = TimeInZoneBlockV2()
        for start in range(0, MOST_TRACKS + 2000, 1000):
            rows = at(*((track, 20, 20) for track in range(start, start + 1000)))
            block.run(frame(1), rows, LEFT, "CENTER", True, True)
        entries = block._entries.get("v")
        assert entries is not None
        assert len(entries) == MOST_TRACKS

    @pytest.mark.parametrize(
        ("zone", "words"),
        [
            ([[0, 0], [1, 1]], "at least 3 points"),
            ([], "list of points or of polygons"),
            ("zone", "list of points or of polygons"),
            ([[0, 0, 0]] * 3, "list of points"),
            ([LEFT, [[0, 0]]], "at least 3 points"),
        ],
    )
    def test_what_is_no_zone_is_refused(self, zone: Any, words: str) -> None:
        """Given by a parameter, where no schema has seen it."""
        with pytest.raises(ValueError, match=words):
            TimeInZoneBlockV3().run(frame(1), at((1, 20, 20)), zone, "CENTER", True, True)
