"""Values of earlier frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.fusion.frame_delay.v1 import FrameDelayBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData


def frame(number: int, video: str = "v") -> WorkflowImageData:
    """A frame of a video."""
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=np.zeros((2, 2, 3), np.uint8),
        video_metadata=VideoMetadata(video, number),
    )


class TestFrameDelay:
    @pytest.mark.parametrize("delay", [0, 1, 3])
    def test_gives_the_value_of_so_many_frames_ago(self, delay: int) -> None:
        """Before there are so many, the default, and says so."""
        block = FrameDelayBlockV1()
        results: list[Any] = [block.run(frame(n), n * 10, -delay, "none") for n in range(1, 7)]
        for number, result in enumerate(results, 1):
            available = number > delay
            assert result["is_available"] is available
            assert result["output"] == ((number - delay) * 10 if available else "none")
            assert result["reference_frame_number"] == number

    def test_videos_have_their_own_values(self) -> None:
        """Frames of several videos may come in any order."""
        block = FrameDelayBlockV1()
        block.run(frame(1, "a"), "a1", -1, None)
        result: Any = block.run(frame(1, "b"), "b1", -1, None)
        assert result["output"] is None
        result = block.run(frame(2, "a"), "a2", -1, None)
        assert result["output"] == "a1"

    def test_no_more_values_are_kept_than_are_needed(self) -> None:
        """The memory does not grow with the video."""
        block = FrameDelayBlockV1()
        for number in range(500):
            block.run(frame(number), number, -4, None)
        values = block._values.get("v")
        assert values is not None
        assert len(values) == 5

    @pytest.mark.parametrize("offset", [1, -2000, 0.5, "a", None])
    def test_offsets_that_cannot_be_are_refused(self, offset: Any) -> None:
        """The future, more than may be kept, no whole number."""
        with pytest.raises(ValueError, match="offset"):
            FrameDelayBlockV1().run(frame(1), 1, offset, None)
