"""`rate_limiter@v1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from blocks.flow_control.rate_limiter.v1 import RateLimiterBlockV1, RateLimiterManifest
from execution_engine.block_api import WorkflowImageData

MakeFrame = Callable[..., WorkflowImageData]
NEXT = ["$steps.s"]


def passes(
    block: RateLimiterBlockV1,
    frame: WorkflowImageData | None,
    cooldown: float = 0.25,
    depends_on: Any = 1,
) -> bool:
    result = block.run(cooldown, depends_on, NEXT, frame)
    assert list(result.targets()) in ([], NEXT)
    return bool(result.targets())


class TestRun:
    def test_cooldown_in_video_time(self, make_frame: MakeFrame) -> None:
        """At 10 frames a second a cooldown of 0.25 s lets every third frame through."""
        block = RateLimiterBlockV1()
        through = [n for n in range(1, 9) if passes(block, make_frame(number=n))]
        assert through == [1, 4, 7]

    def test_exact_cooldown_is_enough(self, make_frame: MakeFrame) -> None:
        """Rounding of frame times does not cost a frame: 0.7 - 0.4 counts as 0.3."""
        block = RateLimiterBlockV1()
        through = [n for n in range(1, 30) if passes(block, make_frame(number=n), cooldown=0.3)]
        assert through == list(range(1, 30, 3))

    def test_videos_have_their_own_cooldown(self, make_frame: MakeFrame) -> None:
        """One video's run does not hold back another's."""
        block = RateLimiterBlockV1()
        assert passes(block, make_frame("a", 1))
        assert passes(block, make_frame("b", 1))
        assert not passes(block, make_frame("a", 2))

    def test_rewound_video_starts_again(self, make_frame: MakeFrame) -> None:
        """A video that begins anew is not held back by its earlier end."""
        block = RateLimiterBlockV1()
        assert passes(block, make_frame(number=1000))
        assert passes(block, make_frame(number=1))
        assert not passes(block, make_frame(number=2))

    def test_live_source_goes_by_timestamps(self, make_frame: MakeFrame) -> None:
        """Of a live source the time of the frames counts, whatever their numbers say."""
        block = RateLimiterBlockV1()
        times = [0.0, 0.1, 0.3, 0.4, 0.6]
        frames = [make_frame(number=i, from_file=False, second=t) for i, t in enumerate(times)]
        assert [passes(block, frame) for frame in frames] == [True, False, True, False, True]

    def test_host_clock_without_reference(self, host_clock: Any) -> None:
        """Without a reference image the host's clock counts."""
        block = RateLimiterBlockV1()
        answers = []
        for host_clock.now in (10.0, 10.2, 10.25, 10.4, 10.6):
            answers.append(passes(block, None))
        assert answers == [True, False, True, False, True]

    def test_stills_share_one_cooldown(self, still: WorkflowImageData, host_clock: Any) -> None:
        """Images that name no video share the host's clock and one cooldown."""
        block = RateLimiterBlockV1()
        assert passes(block, still)
        assert not passes(block, still)
        assert not passes(block, None)

    def test_frame_it_depends_on_names_the_video(
        self, make_frame: MakeFrame, host_clock: Any
    ) -> None:
        """A frame in `depends_on` keeps videos apart when there is no reference image."""
        block = RateLimiterBlockV1()
        crop = WorkflowImageData.create_crop(
            make_frame("a"), "crop.1", np.zeros((1, 1, 3), np.uint8), 0, 0, True
        )
        assert passes(block, None, depends_on=make_frame("a"))
        assert passes(block, None, depends_on=make_frame("b"))
        assert not passes(block, None, depends_on=crop)

    def test_no_cooldown_lets_all_through(self, make_frame: MakeFrame) -> None:
        """A cooldown of 0 never stops."""
        block = RateLimiterBlockV1()
        assert all(passes(block, make_frame(number=1), cooldown=0.0) for _ in range(3))

    def test_long_run_stays_bounded(self, make_frame: MakeFrame) -> None:
        """A server that sees ever new videos does not grow without limit."""
        block = RateLimiterBlockV1()
        for i in range(3000):
            passes(block, make_frame(f"video-{i}", 1))
        assert len(block._last_runs) == 1024


class TestManifest:
    def test_negative_cooldown_is_refused(self) -> None:
        """A cooldown is at least 0."""
        with pytest.raises(ValidationError, match="greater than or equal to 0"):
            RateLimiterManifest(
                type="roboflow_core/rate_limiter@v1",
                name="r",
                cooldown_seconds=-1,
                depends_on="$steps.a.output",
                next_steps=NEXT,
            )
