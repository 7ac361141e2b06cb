"""`VideoSource`: what a video comes from, and how a name of one is understood. Opens nothing before
it is asked to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from execution_engine.images.codec import DEFAULT_MAX_PIXELS
from workflows.video.errors import VideoSourceError
from workflows.video.streams import CaptureStream, ContainerStream, FrameStream

STREAM_SCHEMES = frozenset({"rtsp", "rtsps", "rtmp", "rtmps", "srt", "udp", "tcp", "rtp"})
HTTP_SCHEMES = frozenset({"http", "https"})
FILE_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".wmv", ".ogv", ".3gp"}
)


@dataclass(frozen=True, slots=True)
class VideoSource:
    """A source of frames that can be opened, again and again when it is live.

    Attributes:
        label: name for people: a path, an address without credentials, `camera 0`.
        open: opens it; raises `VideoSourceError`.
        live: whether frames come in real time and the connection may come back; else it is a file
            with an end.
        identifier: name under which blocks keep state; the position in the list of sources when
            None.
        path: the file behind it, None for others.
    """

    label: str
    open: Callable[[], FrameStream]
    live: bool = False
    identifier: str | None = None
    path: Path | None = None


SourceLike = str | int | Path | VideoSource


def source_of(
    reference: SourceLike,
    *,
    max_pixels: int = DEFAULT_MAX_PIXELS,
    properties: Mapping[str, float] | None = None,
) -> VideoSource:
    """The source behind a name.

    Args:
        reference: number of a camera (also as text, unless such a file exists), path of a file, or
            an address. Addresses of http(s) that end like a video file are files; all others are
            live.
        max_pixels: largest height times width of a frame that is decoded.
        properties: settings of a camera, see `CaptureStream`.

    Raises:
        VideoSourceError: no such kind of source, or properties for one that is no camera.
    """
    if isinstance(reference, VideoSource):
        source = reference
    elif isinstance(reference, int) and not isinstance(reference, bool):
        return _camera(reference, properties)
    elif isinstance(reference, Path):
        source = _file(reference, max_pixels)
    elif isinstance(reference, str):
        if reference.isascii() and reference.isdigit() and not os.path.exists(reference):
            return _camera(int(reference), properties)
        scheme = scheme_of(reference)
        if scheme in STREAM_SCHEMES | HTTP_SCHEMES:
            source = _address(reference, scheme, max_pixels)
        elif scheme and not os.path.exists(reference):
            raise VideoSourceError(
                f"'{scheme}' is no kind of address that is read; known are "
                f"{', '.join(sorted(STREAM_SCHEMES | HTTP_SCHEMES))}."
            )
        else:
            source = _file(Path(reference), max_pixels)
    else:
        raise VideoSourceError(
            "a video source is a path, an address, the number of a camera or a VideoSource, got "
            f"{type(reference).__name__}."
        )
    if properties:
        raise VideoSourceError(f"{source.label} is no camera and takes no properties.")
    return source


def sources_of(
    references: SourceLike | Sequence[SourceLike],
    *,
    max_pixels: int = DEFAULT_MAX_PIXELS,
) -> list[VideoSource]:
    """The sources behind one name or a list of names.

    Raises:
        VideoSourceError: none, or one that cannot be meant.
    """
    if isinstance(references, (str, int, Path, VideoSource)):
        references = [references]
    found = [source_of(reference, max_pixels=max_pixels) for reference in references]
    if not found:
        raise VideoSourceError("no video source is given.")
    return found


def scheme_of(reference: str) -> str:
    """Scheme of an address in lower case; empty for paths."""
    scheme, separator, _ = reference.partition("://")
    return scheme.lower() if separator else ""


def public_label(address: str) -> str:
    """An address without credentials, query and fragment, which often hold secrets."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return f"{scheme_of(address)}://..."
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}{port}{parts.path}"


def is_video_file_name(address: str) -> bool:
    """Whether the path of an address ends like a file with an end."""
    return PurePosixPath(urlsplit(address).path).suffix.lower() in FILE_SUFFIXES


def stream_options(scheme: str) -> dict[str, str]:
    """Options of FFmpeg for an address: RTSP over one TCP connection, which firewalls let pass."""
    return {"rtsp_transport": "tcp"} if scheme in {"rtsp", "rtsps"} else {}


def _camera(index: int, properties: Mapping[str, float] | None) -> VideoSource:
    if index < 0:
        raise VideoSourceError(f"cameras are numbered from 0, got {index}.")
    return VideoSource(f"camera {index}", lambda: CaptureStream(index, properties), live=True)


def _file(path: Path, max_pixels: int) -> VideoSource:
    def open_file() -> FrameStream:
        if not path.exists():
            raise VideoSourceError(f"there is no file '{path}'.")
        if not path.is_file():  # devices and pipes may never end
            raise VideoSourceError(f"'{path}' is no regular file.")
        # The prefix keeps FFmpeg from reading a protocol or a pattern into the name.
        return ContainerStream(f"file:{path.absolute()}", f"'{path}'", max_pixels=max_pixels)

    return VideoSource(str(path), open_file, path=path)


def _address(address: str, scheme: str, max_pixels: int) -> VideoSource:
    live = scheme not in HTTP_SCHEMES or not is_video_file_name(address)
    label = public_label(address)

    def open_address() -> FrameStream:
        return ContainerStream(
            address, label, live=live, options=stream_options(scheme), max_pixels=max_pixels
        )

    return VideoSource(label, open_address, live=live)
