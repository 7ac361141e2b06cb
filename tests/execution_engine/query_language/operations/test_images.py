"""Operations on images and frames."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import ImageParentMetadata, VideoMetadata

Run = Callable[..., Any]
PARENT = ImageParentMetadata("image")


def image(height: int = 30, width: int = 40, channels: int = 3, **given: Any) -> WorkflowImageData:
    shape = (height, width) if channels == 1 else (height, width, channels)
    return WorkflowImageData(PARENT, numpy_image=np.full(shape, 90, np.uint8), **given)


def decoded(content: bytes) -> np.ndarray:
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    return pixels


class TestExtractImageProperty:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [("size", 1200), ("height", 30), ("width", 40), ("aspect_ratio", 40 / 30)],
    )
    @pytest.mark.parametrize("channels", [1, 3])
    def test_values(self, run: Run, name: str, expected: float, channels: int) -> None:
        """Measures are in px, the ratio is width over height, colour or not."""
        operation = {"type": "ExtractImageProperty", "property_name": name}
        assert run(image(channels=channels), operation) == expected

    def test_one_pixel(self, run: Run) -> None:
        """An image of one pixel has all measures."""
        assert run(image(1, 1), {"type": "ExtractImageProperty", "property_name": "size"}) == 1

    def test_no_height(self, run: Run) -> None:
        """An image without rows has no ratio."""
        operation = {"type": "ExtractImageProperty", "property_name": "aspect_ratio"}
        with pytest.raises(
            OperationError, match="an image of height 0 and width 40 has no aspect_ratio"
        ):
            run(image(0), operation)

    def test_refuses(self, run: Run) -> None:
        """Pixels alone are no image of a workflow."""
        with pytest.raises(
            InvalidInputTypeError, match="expects an image, got a value of type ndarray"
        ):
            run(np.zeros((2, 2)), {"type": "ExtractImageProperty", "property_name": "size"})


class TestExtractFrameMetadata:
    MOMENT = datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("frame", "fps", "seconds"),
        [(1, 25, 0.0), (26, 25, 1.0), (6, 4, 1.25), (31, 29.97, 30 / 29.97)],
    )
    def test_values(self, run: Run, frame: int, fps: float, seconds: float) -> None:
        """The first frame has number 1 and zero seconds."""
        metadata = VideoMetadata("cam", frame, self.MOMENT, fps)
        for value in (image(video_metadata=metadata), metadata):
            read = {
                name: run(value, {"type": "ExtractFrameMetadata", "property_name": name})
                for name in ("frame_number", "frame_timestamp", "seconds_since_start")
            }
            assert read == {
                "frame_number": frame,
                "frame_timestamp": self.MOMENT,
                "seconds_since_start": seconds,
            }

    @pytest.mark.parametrize("fps", [None, 0])
    def test_unknown_rate(self, run: Run, fps: Any) -> None:
        """Without frames a second there are no seconds."""
        operation = {"type": "ExtractFrameMetadata", "property_name": "seconds_since_start"}
        with pytest.raises(OperationError, match=f"got fps={fps!r}"):
            run(VideoMetadata("cam", 3, self.MOMENT, fps), operation)

    def test_refuses(self, run: Run) -> None:
        """Anything but an image or metadata is refused."""
        with pytest.raises(
            InvalidInputTypeError, match="expects an image or video metadata, got 1"
        ):
            run(1, {"type": "ExtractFrameMetadata", "property_name": "frame_number"})


class TestConvertImageToJPEG:
    def test_bytes(self, run: Run) -> None:
        """The bytes are a JPEG of the pixels, smaller at lower quality."""
        noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        value = WorkflowImageData(PARENT, numpy_image=noise)
        fine = run(value, {"type": "ConvertImageToJPEG"})
        coarse = run(value, {"type": "ConvertImageToJPEG", "compression_level": 5})
        assert fine[:2] == b"\xff\xd8"
        assert decoded(fine).shape == (64, 64, 3)
        assert len(coarse) < len(fine)

    def test_gray(self, run: Run) -> None:
        """Images of one channel stay so."""
        assert decoded(run(image(channels=1), {"type": "ConvertImageToJPEG"})).shape == (30, 40)

    def test_no_pixels(self, run: Run) -> None:
        """An image without pixels cannot be written."""
        with pytest.raises(OperationError, match="has no pixels to encode"):
            run(image(0), {"type": "ConvertImageToJPEG"})

    def test_refuses(self, run: Run) -> None:
        """Only images are written."""
        with pytest.raises(InvalidInputTypeError, match="expects an image"):
            run("a", {"type": "ConvertImageToJPEG"})


class TestConvertImageToBase64:
    def test_text(self, run: Run) -> None:
        """The text is base64 of a JPEG of the pixels."""
        text = run(image(), {"type": "ConvertImageToBase64"})
        assert text.startswith("/9j/")
        assert np.abs(decoded(base64.b64decode(text)).astype(int) - 90).max() <= 2

    def test_jpeg_text_is_kept(self, run: Run) -> None:
        """An image that came as JPEG text is not encoded again."""
        ok, content = cv2.imencode(
            ".jpg", np.full((8, 8, 3), 40, np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 30]
        )
        assert ok
        text = base64.b64encode(content.tobytes()).decode()
        value = WorkflowImageData(PARENT, base64_image=text)
        assert run(value, {"type": "ConvertImageToBase64"}) == text

    def test_png_text_becomes_jpeg(self, run: Run) -> None:
        """An image that came as PNG text leaves as JPEG."""
        ok, content = cv2.imencode(".png", np.full((8, 8, 3), 40, np.uint8))
        assert ok
        value = WorkflowImageData(PARENT, base64_image=base64.b64encode(content.tobytes()).decode())
        assert run(value, {"type": "ConvertImageToBase64"}).startswith("/9j/")

    def test_no_pixels(self, run: Run) -> None:
        """An image without pixels cannot be written."""
        with pytest.raises(OperationError, match="has no pixels to encode"):
            run(image(0), {"type": "ConvertImageToBase64"})
