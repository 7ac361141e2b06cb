from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.fusion.image_stack.v1 import MOST_VIDEOS, ImageStackBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError
from workflows import run_locally


def frame(level: int, video: str = "cam", size: tuple[int, ...] = (60, 90, 3)) -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=np.full(size, level, np.uint8),
        video_metadata=VideoMetadata(video_identifier=video, frame_number=1),
    )


def run(block: ImageStackBlockV1, image: WorkflowImageData, **changed: Any) -> dict[str, Any]:
    fields = {
        "stack_size": 3, "resolution_width": 1920, "resolution_height": 1080, "clear": False,
        **changed,
    }  # fmt: skip
    result = block.run(image=image, **fields)
    assert isinstance(result, dict)
    return result


def pictures(result: dict[str, Any]) -> list[np.ndarray]:
    decoded = []
    for content in result["frames"]:
        assert isinstance(content, bytes)
        picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
        assert picture is not None
        decoded.append(picture)
    assert result["frames_count"] == len(decoded)
    return decoded


def levels(result: dict[str, Any]) -> list[int]:
    """Levels of the frames, to the nearest ten: JPEG loses a little."""
    return [round(float(picture.mean()) / 10) * 10 for picture in pictures(result)]


class TestImageStack:
    def test_newest_first(self) -> None:
        """The last frames, the newest first; the oldest goes when there is no more room."""
        block = ImageStackBlockV1()
        found = [levels(run(block, frame(level))) for level in (10, 50, 90, 130, 170)]
        assert found == [[10], [50, 10], [90, 50, 10], [130, 90, 50], [170, 130, 90]]

    def test_size_changes(self) -> None:
        """A smaller stack keeps the newest frames; a larger one fills up again."""
        block = ImageStackBlockV1()
        for level in (10, 50, 90):
            run(block, frame(level))
        assert levels(run(block, frame(130), stack_size=2)) == [130, 90]
        assert levels(run(block, frame(170), stack_size=4)) == [170, 130, 90]

    def test_clear(self) -> None:
        """Only this frame is left, and the next comes to it."""
        block = ImageStackBlockV1()
        for level in (10, 50):
            run(block, frame(level))
        assert levels(run(block, frame(90), clear=True)) == [90]
        assert levels(run(block, frame(130))) == [130, 90]

    def test_videos_apart(self) -> None:
        """Each video has its own frames."""
        block = ImageStackBlockV1()
        run(block, frame(10, "a"))
        run(block, frame(50, "żółw"))
        assert levels(run(block, frame(90, "a"))) == [90, 10]
        assert levels(run(block, frame(130, "żółw"), clear=True)) == [130]
        assert levels(run(block, frame(170, "a"))) == [170, 90, 10]

    def test_videos_are_bounded(self) -> None:
        """The longest unused video is given up."""
        block = ImageStackBlockV1()
        for number in range(MOST_VIDEOS + 1):
            run(block, frame(10, f"cam {number}", (4, 4, 3)))
        assert len(block._frames) == MOST_VIDEOS
        assert levels(run(block, frame(90, "cam 0", (4, 4, 3)))) == [90]

    def test_lists_are_new(self) -> None:
        """A list that was handed out does not change later."""
        block = ImageStackBlockV1()
        first = run(block, frame(10))["frames"]
        kept = list(first)
        first.append(b"other")
        assert levels(run(block, frame(50))) == [50, 10]
        assert kept == first[:1]

    @pytest.mark.parametrize(
        ("size", "limits", "expected"),
        [
            ((60, 90, 3), (1920, 1080), (60, 90, 3)),
            ((60, 90), (1920, 1080), (60, 90)),
            ((200, 400, 3), (100, 1080), (50, 100, 3)),
            ((200, 400, 3), (1920, 64), (64, 128, 3)),
            ((200, 400, 4), (100, 64), (50, 100, 3)),
            ((1, 3000, 3), (64, 64), (1, 64, 3)),
            ((1, 1, 3), (64, 64), (1, 1, 3)),
        ],
    )
    def test_resolution(
        self, size: tuple[int, ...], limits: tuple[int, int], expected: tuple[int, ...]
    ) -> None:
        """A frame that is larger shrinks in its own shape; none grows."""
        width, height = limits
        result = run(
            ImageStackBlockV1(), frame(90, size=size),
            resolution_width=width, resolution_height=height,
        )  # fmt: skip
        assert pictures(result)[0].shape == expected

    def test_pixels(self) -> None:
        """A frame that shrinks is the mean of what it covers."""
        pixels = np.random.default_rng(0).integers(90, 160, (128, 256)).astype(np.uint8)
        image = WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels)
        (found,) = pictures(run(ImageStackBlockV1(), image, resolution_width=64))
        expected = pixels.reshape(32, 4, 64, 4).mean(axis=(1, 3))
        assert np.abs(found - expected).mean() < 5

    @pytest.mark.parametrize(
        ("field", "value", "limits"),
        [
            ("stack_size", 0, "1 to 64"), ("stack_size", 65, "1 to 64"),
            ("resolution_width", 63, "64 to 1920"), ("resolution_height", 1081, "64 to 1080"),
        ],
    )  # fmt: skip
    def test_bad_numbers(self, field: str, value: int, limits: str) -> None:
        """The error names field, range and value, and the stack stays as it was."""
        block = ImageStackBlockV1()
        run(block, frame(10))
        with pytest.raises(InvalidFieldValueError) as caught:
            run(block, frame(50), **{field: value}, clear=True)
        expected = f"Field `{field}` must be a whole number from {limits}, got {value}."
        assert str(caught.value) == expected
        assert levels(run(block, frame(90))) == [90, 10]

    def test_as_json(self) -> None:
        """Files travel as base64 text in serialised results."""
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {"type": "roboflow_core/image_stack@v1", "name": "s", "image": "$inputs.image"}
            ],
            "outputs": [{"type": "JsonField", "name": "f", "selector": "$steps.s.frames"}],
        }
        pixels = np.zeros((9, 9, 3), np.uint8)
        (result,) = run_locally(definition, {"image": pixels}, serialize=True)
        assert [text[:4] for text in result["f"]] == ["/9j/"]
