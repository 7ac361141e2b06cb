"""Which images count as frames of a video, and how images are shown."""

from __future__ import annotations

import numpy as np
import pytest

from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import ImageParentMetadata, VideoMetadata

PIXELS = np.zeros((2, 3, 3), np.uint8)


class TestRepr:
    @pytest.mark.parametrize(
        ("pixels", "text"),
        [
            (PIXELS, "WorkflowImageData(3x2 px, 3 channels, parent 'i')"),
            (PIXELS[:, :, 0], "WorkflowImageData(3x2 px, 1 channel, parent 'i')"),
        ],
    )
    def test_pixels(self, pixels: np.ndarray, text: str) -> None:
        """Width, height, channels and parent are shown."""
        assert repr(WorkflowImageData(ImageParentMetadata("i"), numpy_image=pixels)) == text

    def test_encoded_text_is_not_decoded(self) -> None:
        """An image that is still text shows its length, even when it would not decode."""
        image = WorkflowImageData(ImageParentMetadata("i"), base64_image="no image")
        assert repr(image) == "WorkflowImageData(base64 text of 8 characters, parent 'i')"


class TestHasVideoMetadata:
    def test_frame(self) -> None:
        """An image that was given video metadata is a frame, and so are copies of it."""
        frame = WorkflowImageData(
            ImageParentMetadata("i"), numpy_image=PIXELS, video_metadata=VideoMetadata("cam", 1)
        )
        assert frame.has_video_metadata
        assert WorkflowImageData.copy_and_replace(frame, numpy_image=PIXELS).has_video_metadata

    def test_still_stays_still(self) -> None:
        """Asking a still image for its metadata gives a stand-in and does not make it a frame."""
        still = WorkflowImageData(ImageParentMetadata("i"), numpy_image=PIXELS)
        assert still.video_metadata.video_identifier == "i"
        assert still.video_metadata is still.video_metadata
        assert not still.has_video_metadata

    def test_crop_of_a_still_that_was_asked(self) -> None:
        """The stand-in of a still image is not handed on to its crops."""
        still = WorkflowImageData(ImageParentMetadata("i"), numpy_image=PIXELS)
        assert still.video_metadata.frame_number == 0
        crop = WorkflowImageData.create_crop(still, "c", PIXELS[:1], 0, 0, True)
        assert not crop.has_video_metadata
        assert crop.video_metadata.video_identifier == "c"

    def test_crop_of_a_frame(self) -> None:
        """A crop is a frame only when it is to keep the metadata."""
        frame = WorkflowImageData(
            ImageParentMetadata("i"), numpy_image=PIXELS, video_metadata=VideoMetadata("cam", 1)
        )
        kept = WorkflowImageData.create_crop(frame, "c", PIXELS[:1], 0, 0, True)
        dropped = WorkflowImageData.create_crop(frame, "c", PIXELS[:1], 0, 0, False)
        assert (kept.has_video_metadata, dropped.has_video_metadata) == (True, False)
