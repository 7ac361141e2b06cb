"""`VideoWriter`: pictures into a video file by PyAV. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from workflows.video.errors import VideoWriterError

if TYPE_CHECKING:
    import av

# What is tried for a suffix, best first: name of the encoder and its options.
_X264 = ("libx264", {"crf": "20", "preset": "veryfast"})
# Quality 3 of 1 (best) to 31, in the unit of FFmpeg.
_QUALITY = {"flags": "+qscale", "global_quality": str(3 * 118)}
_MPEG4 = ("mpeg4", _QUALITY)
_MJPEG = ("mjpeg", _QUALITY)
_ENCODERS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    ".mp4": (_X264, _MPEG4),
    ".m4v": (_X264, _MPEG4),
    ".mov": (_X264, _MPEG4),
    ".mkv": (_X264, _MPEG4, _MJPEG),
    # AVI knows no order of display, which x264 needs.
    ".avi": (_MPEG4, _MJPEG),
    ".webm": (("libvpx-vp9", {"crf": "32", "b:v": "0", "deadline": "realtime", "cpu-used": "8"}),),
}
_PIXEL_FORMATS = {"mjpeg": "yuvj420p"}
USUAL_RATE = 30.0
_HIGHEST_RATE = 240.0
# Largest denominator of a rate, as in 30000/1001. A grid finer than the pictures loses nothing.
_FINEST = 1001
_SMALLEST = 16


class VideoWriter:
    """Writes one video. The size of its first picture is the size of the video.

    Sizes are padded to even ones, which the encoders need, by repeating the last row and column.
    Later pictures of another size are fitted in with black bars. Pictures keep their time: one
    that comes late leaves a gap in which the one before is shown.

    Args:
        path: the file; its suffix chooses container and encoders. Replaced when it exists.
        fps: pictures a second of the time grid; 30 when None or out of range.
        note: told what was done in another way than one may expect.

    Raises:
        VideoWriterError: the suffix is not known.
    """

    def __init__(
        self, path: Path, fps: float | None, note: Callable[[str], None] = lambda text: None
    ) -> None:
        check_suffix(path)
        self.path = path
        self._note = note
        rate = fps if fps is not None and 0 < fps <= _HIGHEST_RATE else USUAL_RATE
        self._rate = max(Fraction(rate).limit_denominator(_FINEST), Fraction(1, _FINEST))
        self._container: av.container.OutputContainer | None = None
        self._stream: av.VideoStream | None = None
        self._size = (0, 0)
        self._tick = -1
        self.pictures = 0

    def write(self, picture: np.ndarray, position: float) -> None:
        """Adds a picture.

        Args:
            picture: (h, w, 3) BGR or (h, w), uint8.
            position: seconds since the start of the video; not before the last one's.

        Raises:
            VideoWriterError: the file cannot be written or no encoder takes the picture.
        """
        import av

        if picture.ndim == 2:
            picture = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
        picture = _even(picture)
        if self._stream is None:
            self._open(picture.shape[0], picture.shape[1])
        height, width = self._size
        if picture.shape[:2] != self._size:
            self._note(
                f"{self.path.name}: pictures of {picture.shape[1]}x{picture.shape[0]} px were "
                f"fitted into {width}x{height} px"
            )
            picture = _fitted(picture, height, width)
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="bgr24")
        self._tick = max(self._tick + 1, round(position * self._rate))
        frame.pts = self._tick
        frame.time_base = 1 / self._rate
        self._encode(frame)
        self.pictures += 1

    def close(self) -> None:
        """Writes what the encoder holds and the end of the file; without pictures there is none.

        Raises:
            VideoWriterError: the end cannot be written.
        """
        container, self._container = self._container, None
        if container is None:
            return
        try:
            if self.pictures:
                self._encode_to(container, None)
        finally:
            with _writer_errors(self.path):
                container.close()

    def _open(self, height: int, width: int) -> None:
        import av

        choices = _ENCODERS[self.path.suffix.lower()]
        failed: list[str] = []
        was_there = self.path.exists()
        for name, options in choices:
            # The prefix keeps FFmpeg from reading a protocol into the name.
            container = av.open(f"file:{self.path.absolute()}", "w")
            try:
                stream = container.add_stream(name, rate=self._rate, options=dict(options))
                assert isinstance(stream, av.VideoStream)
                stream.width, stream.height = width, height
                stream.pix_fmt = _PIXEL_FORMATS.get(name, "yuv420p")
                stream.codec_context.time_base = 1 / self._rate
                stream.codec_context.open()
                container.start_encoding()  # makes the file, so that a fault shows now
            except (av.FFmpegError, ValueError) as error:
                with suppress(av.FFmpegError, ValueError):
                    container.close()
                if isinstance(error, OSError):
                    raise _unwritable(self.path, error) from error
                failed.append(f"{name} ({_text(error)})")
                continue
            if failed:
                self._note(f"{self.path.name}: encoded with {name}, not {', '.join(failed)}")
            self._container, self._stream = container, stream
            self._size = (height, width)
            return
        if not was_there:
            self.path.unlink(missing_ok=True)
        raise VideoWriterError(
            f"No encoder takes pictures of {width}x{height} px for '{self.path}': "
            f"{', '.join(failed)}."
        )

    def _encode(self, frame: av.VideoFrame) -> None:
        assert self._container is not None
        self._encode_to(self._container, frame)

    def _encode_to(
        self, container: av.container.OutputContainer, frame: av.VideoFrame | None
    ) -> None:
        assert self._stream is not None
        with _writer_errors(self.path):
            for packet in self._stream.encode(frame):
                container.mux(packet)


def check_suffix(path: Path) -> None:
    """Raises `VideoWriterError` when a name does not end like a video that can be written."""
    if path.suffix.lower() not in _ENCODERS:
        raise VideoWriterError(
            f"'{path.name}' does not end like a video that is written; known are "
            f"{', '.join(_ENCODERS)}."
        )


@contextmanager
def _writer_errors(path: Path) -> Iterator[None]:
    """Turns errors of FFmpeg and of the system into `VideoWriterError`."""
    import av

    try:
        yield
    except (av.FFmpegError, OSError) as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: BaseException) -> VideoWriterError:
    return VideoWriterError(f"The video '{path}' cannot be written: {_text(error)}.", error)


def _text(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error).rstrip(".")


def _even(picture: np.ndarray) -> np.ndarray:
    """The picture with even sides of at least 16 px; encoders halve the colour planes."""
    height, width = picture.shape[:2]
    down = max(_SMALLEST - height, height % 2)
    right = max(_SMALLEST - width, width % 2)
    if not down and not right:
        return picture
    return cv2.copyMakeBorder(picture, 0, down, 0, right, cv2.BORDER_REPLICATE)


def _fitted(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """The picture as large as it fits, in the middle of black."""
    scale = min(height / picture.shape[0], width / picture.shape[1])
    inner = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    resized = cv2.resize(picture, inner, interpolation=method)
    canvas = np.zeros((height, width, 3), np.uint8)
    top, left = (height - inner[1]) // 2, (width - inner[0]) // 2
    canvas[top : top + inner[1], left : left + inner[0]] = resized
    return canvas
