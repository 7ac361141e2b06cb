"""Opened sources: frames out of containers and network streams (PyAV) and cameras (OpenCV). One
thread reads a stream. Policies, threads and reconnection are not decided here.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import cv2
import numpy as np

from execution_engine.images.codec import DEFAULT_MAX_PIXELS
from workflows.video.errors import ConnectionLostError, FrameDecodeError, VideoSourceError

if TYPE_CHECKING:
    import av

OPEN_TIMEOUT = 10.0
READ_TIMEOUT = 10.0
_HIGHEST_RATE = 480.0
# A file that cannot be read at this many places in a row is given up.
_READ_ATTEMPTS = 16
_MATRIX = struct.Struct("<9i")
_ONE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class DecodedFrame:
    """Pixels, (h, w, 3) BGR uint8, upright, and their time in the stream (s, None when unknown)."""

    image: np.ndarray
    seconds: float | None


class FrameStream(Protocol):
    """An opened source.

    Attributes:
        fps: declared frames a second, None when unknown.
        total_frames: declared number of frames, None when unknown.
    """

    fps: float | None
    total_frames: int | None

    def read(self) -> DecodedFrame | None:
        """The next frame, None at the end.

        Raises:
            FrameDecodeError: one frame is lost; the next call goes on behind it.
            ConnectionLostError: nothing more comes.
        """

    def close(self) -> None:
        """Gives the source back."""


class ContainerStream:
    """The first video stream of a file, of bytes or of a network address, by PyAV.

    Frames that the decoder marks as damaged are lost frames. The display matrix of phone videos
    (turned, mirrored) is applied.

    Args:
        target: `file:<path>`, an address, or a binary file object.
        label: name of the source for messages; never with credentials.
        live: whether the source delivers in real time; its decoder then adds no delay.
        options: options of FFmpeg for opening.
        max_pixels: largest height times width that is decoded.

    Raises:
        VideoSourceError: it cannot be opened, holds no video, or its frames are too large.
    """

    def __init__(
        self,
        target: str | BinaryIO,
        label: str,
        *,
        live: bool = False,
        options: Mapping[str, str] | None = None,
        max_pixels: int = DEFAULT_MAX_PIXELS,
    ) -> None:
        import av
        from av.video.reformatter import VideoReformatter

        self._label = label
        self._live = live
        self._max_pixels = max_pixels
        extra: dict[str, Any] = {}
        if not isinstance(target, str):
            # Bytes were fetched by the caller; nothing in them may make FFmpeg open anything.
            extra["io_open"] = _refuse_to_open
        try:
            self._container = av.open(
                target,
                options=dict(options or {}),
                metadata_errors="replace",
                timeout=(OPEN_TIMEOUT, READ_TIMEOUT),
                **extra,
            )
        except (av.FFmpegError, OSError, ValueError) as error:
            raise VideoSourceError(
                f"{label} cannot be opened as a video: {_reason(error)}.", error
            ) from error
        try:
            self._stream = self._video_stream()
        except BaseException:
            self._container.close()
            raise
        self._stream.thread_type = "SLICE" if live else "AUTO"
        self.fps = _sane_rate(self._stream.average_rate) or _sane_rate(self._stream.guessed_rate)
        self.total_frames = self._stream.frames or None
        self._reformatter = VideoReformatter()
        self._packets: Iterator[av.Packet] = self._container.demux(self._stream)
        self._decoded: deque[av.VideoFrame] = deque()
        self._failed_reads = 0

    def read(self) -> DecodedFrame | None:
        """The next frame, None at the end; errors as `FrameStream.read`."""
        import av

        while not self._decoded:
            if not self._decode_packet():
                return None
        frame = self._decoded.popleft()
        if frame.is_corrupt:
            raise FrameDecodeError("the decoder marks it as damaged")
        if frame.width * frame.height > self._max_pixels:
            raise FrameDecodeError(
                f"it has {frame.width}x{frame.height} px, more than the {self._max_pixels} allowed"
            )
        try:
            pixels = self._reformatter.reformat(frame, format="bgr24").to_ndarray()
        except (av.FFmpegError, ValueError) as error:
            raise FrameDecodeError(
                f"its pixels ({frame.format.name}) cannot be converted: {_reason(error)}"
            ) from error
        return DecodedFrame(_upright(pixels, frame), frame.time)

    def close(self) -> None:
        """Closes the container."""
        self._decoded.clear()
        self._container.close()

    def _video_stream(self) -> av.VideoStream:
        if not self._container.streams.video:
            raise VideoSourceError(f"{self._label} holds no video stream.")
        stream = self._container.streams.video[0]
        size = stream.codec_context.width * stream.codec_context.height
        if size > self._max_pixels:
            raise VideoSourceError(
                f"{self._label} has frames of {stream.codec_context.width}x"
                f"{stream.codec_context.height} px, more than the {self._max_pixels} allowed."
            )
        return stream

    def _decode_packet(self) -> bool:
        """Decodes one more packet; False at the end of the data."""
        import av

        packet = self._next_packet()
        if packet is None:
            return False
        try:
            self._decoded.extend(packet.decode())
        except av.EOFError:  # the decoder was emptied before
            pass
        except av.FFmpegError as error:
            raise FrameDecodeError(_reason(error)) from error
        return True

    def _next_packet(self) -> av.Packet | None:
        import av

        try:
            packet = next(self._packets)
        except StopIteration:
            return None
        except (av.FFmpegError, OSError) as error:
            self._failed_reads += 1
            if self._live or self._failed_reads >= _READ_ATTEMPTS:
                raise ConnectionLostError(_reason(error)) from error
            # The iterator ended with its error; a new one goes on where the file is.
            self._packets = self._container.demux(self._stream)
            raise FrameDecodeError(f"the data cannot be read: {_reason(error)}") from error
        self._failed_reads = 0
        return packet


class CaptureStream:
    """A camera of this machine by OpenCV (the wheels of PyAV bring no driver for them).

    Args:
        index: number of the camera.
        properties: `frame_width`, `frame_height` (px), `fps` and others by their OpenCV name
            without `CAP_PROP_`.

    Raises:
        VideoSourceError: there is no such camera, or it does not take a property.
    """

    total_frames: int | None = None

    def __init__(self, index: int, properties: Mapping[str, float] | None = None) -> None:
        wanted = {name: _property_id(name) for name in properties or {}}
        self._capture = cv2.VideoCapture(index)
        if not self._capture.isOpened():
            self._capture.release()
            raise VideoSourceError(f"camera {index} cannot be opened; is it there, and free?")
        for name, value in (properties or {}).items():
            if not self._capture.set(wanted[name], value):
                self._capture.release()
                raise VideoSourceError(f"camera {index} does not take {name}={value}.")
        self.fps = _sane_rate(self._capture.get(cv2.CAP_PROP_FPS))

    def read(self) -> DecodedFrame | None:
        """The next frame, stamped by nobody; errors as `FrameStream.read`."""
        ok, image = self._capture.read()
        if not ok or image is None:
            raise ConnectionLostError("the camera delivers no frame")
        if image.ndim == 2:
            image = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
        return DecodedFrame(image, None)

    def close(self) -> None:
        """Releases the camera."""
        self._capture.release()


def _property_id(name: str) -> int:
    value = getattr(cv2, f"CAP_PROP_{name.upper()}", None)
    if not isinstance(value, int):
        raise VideoSourceError(f"'{name}' is no property of cameras that OpenCV knows.")
    return value


def _upright(pixels: np.ndarray, frame: av.VideoFrame) -> np.ndarray:
    """Pixels as the display matrix of a frame says; other angles than quarters are left alone."""
    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return pixels
    a, b, _, c, d, *_ = _MATRIX.unpack_from(matrix)
    if abs(a) == abs(d) == _ONE and b == c == 0:
        horizontal, vertical = a, d
    elif abs(b) == abs(c) == _ONE and a == d == 0:
        pixels, horizontal, vertical = pixels.transpose(1, 0, 2), c, b
    else:
        return pixels
    if horizontal < 0:
        pixels = pixels[:, ::-1]
    if vertical < 0:
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _sane_rate(rate: Any) -> float | None:
    """Frames a second, None for what containers write when they do not know."""
    value = float(rate or 0.0)
    return value if 0.0 < value <= _HIGHEST_RATE else None


def _reason(error: BaseException) -> str:
    """The system's text on an error, without the address or path FFmpeg adds."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).rstrip(".")


def _refuse_to_open(url: str, flags: int, options: Mapping[str, Any]) -> BinaryIO:
    raise OSError("the video refers to other data, which is not fetched")
