"""What all visualizations share: copies in colour, and things kept from frame to frame."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest

from blocks.visualizations.visualization_block import MOST_SETTINGS, Prepared, colour_copy
from tests.blocks.visualizations.scenes import objects, picture, run, visualizations


class Counted:
    """Makes a list of its settings and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *settings: object) -> list[object]:
        self.calls += 1
        return list(settings)


class TestPrepared:
    def test_made_once(self) -> None:
        """The same settings give the same thing, others another one."""
        make, prepared = Counted(), Prepared()
        first = prepared.get(make, 1, "a")
        assert prepared.get(make, 1, "a") is first
        assert prepared.get(make, 2, "a") == [2, "a"]
        assert make.calls == 2

    def test_equal_values_of_other_types(self) -> None:
        """1, 1.0 and True are different settings."""
        make, prepared = Counted(), Prepared()
        for value in (1, 1.0, True):
            assert prepared.get(make, value)[0] is value
        assert make.calls == 3

    def test_bounded(self) -> None:
        """The longest unused thing is dropped first."""
        make, prepared = Counted(), Prepared(most=2)
        for value in (1, 2, 1, 3):
            prepared.get(make, value)
        assert (make.calls, len(prepared)) == (3, 2)
        prepared.get(make, 1)
        assert make.calls == 3
        prepared.get(make, 2)
        assert make.calls == 4

    def test_settings_that_cannot_be_kept(self) -> None:
        """Lists as settings are passed on, so that whoever checks them can say what is wrong."""
        make, prepared = Counted(), Prepared()
        assert prepared.get(make, [1]) == [[1]]
        assert len(prepared) == 0

    def test_failures_are_not_kept(self) -> None:
        """Settings that are refused are refused again."""
        prepared = Prepared()
        for _ in range(2):
            with pytest.raises(ValueError, match="invalid literal"):
                prepared.get(int, "x")

    def test_block_with_ever_new_settings(self) -> None:
        """A block whose settings change in every frame keeps a bounded number of annotators."""
        block = visualizations()["dot_v1"]()
        for radius in range(2 * MOST_SETTINGS):
            run("dot_v1", objects(), block=block, radius=radius)
        assert len(block._prepared) == MOST_SETTINGS  # type: ignore[attr-defined]

    def test_threads(self) -> None:
        """Several threads may draw with one block."""
        block = visualizations()["label_v1"]()
        scales = [0.3 + 0.1 * (index % 7) for index in range(60)]

        def draw(scale: float) -> np.ndarray:
            return run("label_v1", objects(), block=block, text_scale=scale)

        expected = {scale: run("label_v1", objects(), text_scale=scale) for scale in set(scales)}
        with ThreadPoolExecutor(4) as pool:
            for scale, result in zip(scales, pool.map(draw, scales), strict=True):
                assert (result == expected[scale]).all()


class TestColourCopy:
    @pytest.mark.parametrize("channels", [None, 1])
    def test_grey(self, channels: int | None) -> None:
        """Grey becomes the same value in three channels."""
        pixels = picture(channels=channels)
        result = colour_copy(pixels)
        assert result.shape == (*pixels.shape[:2], 3)
        assert (result == pixels.reshape(*pixels.shape[:2], 1)).all()

    def test_colour(self) -> None:
        """Colours stay, transparency goes, memory is not shared."""
        pixels = picture()
        assert (colour_copy(pixels) == pixels).all()
        assert not np.shares_memory(colour_copy(pixels), pixels)
        assert (colour_copy(cv2.cvtColor(pixels, cv2.COLOR_BGR2BGRA)) == pixels).all()

    def test_read_only_view(self) -> None:
        """A copy of pixels that may not be written, or lie backwards in memory, can be drawn on."""
        pixels = picture()[::-1, :, ::-1]
        pixels.flags.writeable = False
        result = colour_copy(pixels)
        cv2.line(result, (0, 0), (9, 9), (1, 2, 3), 2)
        assert result[5, 5].tolist() == [1, 2, 3]
