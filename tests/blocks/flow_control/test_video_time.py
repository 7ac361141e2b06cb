"""What gates know of videos and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blocks.flow_control.video_time import Moment, moment_of, video_of
from execution_engine.block_api import WorkflowImageData

MakeFrame = Callable[..., WorkflowImageData]


class TestMomentOf:
    @pytest.mark.parametrize(
        ("metadata", "clock", "seconds"),
        [
            # a file: frame number over rate
            ({"number": 7, "fps": 10, "from_file": True, "second": 50.0}, "frames", 0.7),
            # an unknown source with numbered frames counts as a file
            ({"number": 7, "fps": 10, "from_file": None, "second": 50.0}, "frames", 0.7),
            # a live source: when the frame was taken
            ({"number": 7, "fps": 10, "from_file": False, "second": 50.0}, "timestamps", 50.0),
            # an unknown source without numbers
            ({"number": 0, "fps": 10, "from_file": None, "second": 50.0}, "timestamps", 50.0),
            # a file without a rate
            ({"number": 7, "fps": None, "from_file": True, "second": 50.0}, "timestamps", 50.0),
            ({"number": 7, "fps": 0, "from_file": True, "second": 50.0}, "timestamps", 50.0),
        ],
    )
    def test_clock_of_a_frame(
        self, make_frame: MakeFrame, metadata: dict[str, Any], clock: str, seconds: float
    ) -> None:
        """Each kind of source is timed by what it knows best."""
        moment = moment_of(make_frame(**metadata))
        zero = moment_of(make_frame(**{**metadata, "number": 0, "second": 0.0}))
        start = 0.0 if clock == "frames" else zero.seconds
        assert moment.clock == clock
        assert moment.seconds - start == pytest.approx(seconds)

    def test_host_clock_without_a_frame(self, still: WorkflowImageData, host_clock: Any) -> None:
        """No image, and an image that is no frame, are timed by the host."""
        host_clock.now = 42.0
        assert moment_of(None) == moment_of(still) == Moment("host", 42.0)


class TestDistance:
    def test_counts_in_both_directions(self) -> None:
        """The distance has no sign."""
        assert Moment("frames", 3.0).distance(Moment("frames", 5.0)) == 2.0
        assert Moment("frames", 5.0).distance(Moment("frames", 3.0)) == 2.0

    def test_none_between_clocks(self) -> None:
        """Moments of different clocks have no distance."""
        assert Moment("frames", 3.0).distance(Moment("host", 3.0)) is None


class TestVideoOf:
    def test_frame_names_its_video(self, make_frame: MakeFrame) -> None:
        """A frame belongs to the video of its metadata."""
        assert video_of(make_frame("cam-7")) == "cam-7"

    def test_crop_of_a_frame_names_the_same_video(self, make_frame: MakeFrame) -> None:
        """Crops have ids that change from frame to frame; the video is what they were cut from."""
        crop = WorkflowImageData.create_crop(
            make_frame("cam-7"), "crop.1", np.zeros((1, 1, 3), np.uint8), 0, 0, True
        )
        assert video_of(crop) == "cam-7"

    def test_still_image_names_no_video(self, still: WorkflowImageData) -> None:
        """Asking a still image for its metadata does not make it a frame."""
        assert still.video_metadata.frame_number == 0
        assert video_of(still) is None
        assert video_of(None) is None
