"""Small videos and sources that the tests make themselves, and workflows that count in them."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from execution_engine import ExecutionEngine
from execution_engine.block_api import WorkflowImageData
from tests.execution_engine.toy_blocks import block, toy_registry
from workflows.video.errors import ConnectionLostError, VideoSourceError
from workflows.video.sources import VideoSource
from workflows.video.streams import DecodedFrame, FrameStream

SIDE = 64


def picture(squares: int, height: int = SIDE, width: int = SIDE) -> np.ndarray:
    """A dark (h, w, 3) picture with so many bright squares of 8 px, at most 16 on 64x64 px."""
    pixels = np.full((height, width, 3), 16, np.uint8)
    columns = width // 16
    for number in range(squares):
        top, left = (number // columns) * 16 + 4, (number % columns) * 16 + 4
        pixels[top : top + 8, left : left + 8] = 235
    return pixels


def write_video(
    path: Path,
    pictures: Iterable[np.ndarray],
    *,
    fps: int = 30,
    codec: str = "libx264",
    times: Sequence[float] | None = None,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Writes pictures of one size as a video; `times` (s) replaces the even grid."""
    pixel_formats = {"mjpeg": "yuvj444p", "libx264": "yuv444p"}
    if codec == "libx264" and options is None:
        options = {"crf": "10", "g": "6"}
    with av.open(f"file:{path}", "w", options=container_options or {}) as container:
        stream: Any = None
        for number, pixels in enumerate(pictures):
            if stream is None:
                stream = container.add_stream(codec, rate=fps, options=options or {})
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt = pixel_formats.get(codec, "yuv420p")
                if times is not None:
                    stream.codec_context.time_base = Fraction(1, 1000)
            frame = av.VideoFrame.from_ndarray(pixels, format="bgr24")
            if times is None:
                frame.pts, frame.time_base = number, Fraction(1, fps)
            else:
                frame.pts, frame.time_base = round(times[number] * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def counting_workflow() -> dict[str, Any]:
    """Counts the bright squares of a picture."""
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [
            {
                "type": "roboflow_core/convert_grayscale@v1",
                "name": "gray",
                "image": "$inputs.image",
            },
            {
                "type": "roboflow_core/threshold@v1",
                "name": "bright",
                "image": "$steps.gray.image",
                "threshold_type": "binary",
                "thresh_value": 128,
            },
            {
                "type": "roboflow_core/contours_detection@v1",
                "name": "contours",
                "image": "$steps.bright.image",
            },
        ],
        "outputs": [
            {
                "type": "JsonField",
                "name": "count",
                "selector": "$steps.contours.number_contours",
            },
            {"type": "JsonField", "name": "picture", "selector": "$steps.contours.image"},
        ],
    }


def remembering_workflow() -> dict[str, Any]:
    """Keeps the last two counts of each video in a buffer."""
    definition = counting_workflow()
    definition["steps"].append(
        {
            "type": "roboflow_core/delta_filter@v1",
            "name": "changed",
            "image": "$inputs.image",
            "value": "$steps.contours.number_contours",
            "next_steps": ["$steps.last"],
        }
    )
    definition["steps"].append(
        {
            "type": "roboflow_core/property_definition@v1",
            "name": "last",
            "data": "$steps.contours.number_contours",
            "operations": [{"type": "ToString"}],
        }
    )
    definition["outputs"].append(
        {"type": "JsonField", "name": "changed", "selector": "$steps.last.output"}
    )
    return definition


def broken_workflow() -> dict[str, Any]:
    """Compiles, and fails on every frame: it looks for letters in a number."""
    definition = counting_workflow()
    definition["steps"].append(
        {
            "type": "roboflow_core/property_definition@v1",
            "name": "broken",
            "data": "$steps.contours.number_contours",
            "operations": [{"type": "StringMatches", "regex": "a"}],
        }
    )
    definition["outputs"].append(
        {"type": "JsonField", "name": "broken", "selector": "$steps.broken.output"}
    )
    return definition


class ScriptedStream:
    """An opened source that plays a list: pictures, (picture, seconds) pairs, or errors to raise.

    Args:
        script: what `read` gives or raises, one a call; the end comes after the last.
        fps: declared frames a second.
        gate: waited for before each frame.
    """

    total_frames: int | None = None

    def __init__(
        self,
        script: Iterable[Any],
        fps: float | None = 30.0,
        gate: threading.Semaphore | None = None,
    ) -> None:
        self._script = iter(script)
        self._gate = gate
        self._number = 0
        self.fps = fps
        self.reads = 0
        self.closed = threading.Event()

    def read(self) -> DecodedFrame | None:
        """The next entry of the script."""
        if self._gate is not None and not self._gate.acquire(timeout=1.0):
            raise ConnectionLostError("no frame in time")
        self.reads += 1
        entry = next(self._script, None)
        if entry is None:
            return None
        if isinstance(entry, BaseException):
            raise entry
        seconds: float | None
        if isinstance(entry, tuple):
            pixels, seconds = entry
        else:
            pixels, seconds = entry, self._number / (self.fps or 30.0)
        self._number += 1
        return DecodedFrame(pixels, seconds)

    def close(self) -> None:
        """Remembers that it was called."""
        self.closed.set()


def scripted_source(
    *scripts: Iterable[Any] | VideoSourceError,
    live: bool = False,
    fps: float | None = 30.0,
    identifier: str | None = None,
    opened: list[ScriptedStream] | None = None,
) -> VideoSource:
    """A source that plays one script each time it is opened; an error in place of a script is
    raised, and so it is once there are no more.
    """
    remaining = list(scripts)

    def open_next() -> FrameStream:
        script = remaining.pop(0) if remaining else VideoSourceError("the scripts are used up")
        if isinstance(script, VideoSourceError):
            raise script
        stream = ScriptedStream(script, fps)
        if opened is not None:
            opened.append(stream)
        return stream

    return VideoSource("scripted", open_next, live=live, identifier=identifier)


def turned_mp4(source: Path, target: Path, matrix: tuple[int, int, int, int]) -> Path:
    """A copy of an MP4 file whose track header holds the display matrix (a, b, c, d)."""
    content = bytearray(source.read_bytes())
    header = content.find(b"tkhd")
    version = content[header + 4]
    start = header + 8 + (20 if version == 0 else 32) + 16
    a, b, c, d = (value << 16 for value in matrix)
    content[start : start + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    target.write_bytes(content)
    return target


def video_threads() -> list[str]:
    """Names of the threads that video runs have started and that are still alive."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith(("video-", "workflow-task"))
    ]


def toy_engine(run: Callable[..., Any], **attributes: Any) -> ExecutionEngine:
    """An engine with one step that gets each frame as `image` and gives `value`."""
    made = block("toy/video@v1", run, outputs=("value",))
    for name, value in attributes.items():
        setattr(made, name, value)
    definition = {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [{"type": "toy/video@v1", "name": "it", "image": "$inputs.image"}],
        "outputs": [{"type": "JsonField", "name": "value", "selector": "$steps.it.value"}],
    }
    return ExecutionEngine.init(definition, registry=toy_registry(made))


def fails_on(number: int) -> Callable[..., Any]:
    """The code of a block that gives the number of a frame and fails on one of them."""

    def run(image: WorkflowImageData) -> dict[str, Any]:
        if image.video_metadata.frame_number == number:
            raise RuntimeError(f"frame {number} is unlucky")
        return {"value": image.video_metadata.frame_number}

    return run
