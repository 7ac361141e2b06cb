from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import cv2
import numpy as np

from execution_engine.images import (
    ImageCodec,
    ImageParentMetadata,
    VideoMetadata,
    WorkflowImageData,
    serialise_image,
)

PIXELS = np.full((20, 30, 3), (10, 120, 200), np.uint8)


class TestSerialiseImage:
    def test_input_image(self) -> None:
        """An input image is JPEG text and video metadata, with the time as ISO-8601 text."""
        taken = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        image = WorkflowImageData(
            ImageParentMetadata("image"),
            numpy_image=PIXELS,
            video_metadata=VideoMetadata("cam", 7, taken, fps=25, comes_from_video_file=True),
        )
        result = serialise_image(image)
        assert list(result) == ["type", "value", "video_metadata"]
        assert result["type"] == "base64"
        decoded = cv2.imdecode(
            np.frombuffer(base64.b64decode(result["value"]), np.uint8), cv2.IMREAD_COLOR
        )
        assert np.abs(decoded.astype(int) - PIXELS).max() <= 3
        assert result["video_metadata"] == {
            "video_identifier": "cam",
            "frame_number": 7,
            "frame_timestamp": "2026-01-02T03:04:05+00:00",
            "fps": 25,
            "measured_fps": None,
            "comes_from_video_file": True,
            "total_frames": None,
        }
        json.dumps(result)

    def test_crop_round_trip(self) -> None:
        """A crop names parent and root, and comes back with the same lineage."""
        image = WorkflowImageData(ImageParentMetadata("image"), numpy_image=PIXELS)
        first = WorkflowImageData.create_crop(image, "a", PIXELS[5:15, 4:24], 4, 5)
        second = WorkflowImageData.create_crop(first, "b", PIXELS[6:10, 7:12], 3, 1)
        result = serialise_image(second)
        assert result["parent_id"] == "b"
        assert result["parent_origin"] == {"offset_x": 3, "offset_y": 1, "width": 20, "height": 10}
        assert result["root_parent_id"] == "image"
        assert result["root_parent_origin"] == {
            "offset_x": 7,
            "offset_y": 6,
            "width": 30,
            "height": 20,
        }
        again = ImageCodec().load("x", json.loads(json.dumps(result)), "x")
        assert serialise_image(again) == result

    def test_single_channel(self) -> None:
        """A single-channel image is written as such."""
        image = WorkflowImageData(ImageParentMetadata("i"), numpy_image=PIXELS[:, :, 0])
        content = np.frombuffer(base64.b64decode(serialise_image(image)["value"]), np.uint8)
        assert cv2.imdecode(content, cv2.IMREAD_UNCHANGED).shape == (20, 30)
