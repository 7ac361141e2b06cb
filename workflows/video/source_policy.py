"""`SourcePolicy`: which sources a host lets strangers name. Without it every source is open to who
calls from this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from execution_engine.images.codec import DEFAULT_MAX_PIXELS
from workflows.public_addresses import Address, FetchError, is_public, resolve
from workflows.video.errors import VideoSourceError
from workflows.video.sources import (
    HTTP_SCHEMES,
    STREAM_SCHEMES,
    VideoSource,
    is_video_file_name,
    public_label,
    scheme_of,
    source_of,
)
from workflows.video.streams import ContainerStream, FrameStream

# Containers that hold their frames themselves. Play lists and session descriptions, which name
# other places to read from, are not among them.
_CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,mpjpeg,mjpeg,flv,ogg,asf,gif,"
    "h264,hevc,m4v,ivf"
)
_NOTHING = "none"


@dataclass(frozen=True, slots=True)
class SourcePolicy:
    """What a client may name as a source. Nothing, unless the host says so.

    Addresses of http(s) are fetched by `HttpVideoFile`, which checks every address it connects to,
    as for images. The decoder's own protocols (RTSP and the like) are not held to that: it resolves
    names and follows redirects of an RTSP server by itself, to private addresses as well. So they
    are permitted only for hosts that the operator names, and trusts not to do so.

    Attributes:
        folders: folders whose files may be read, with those below.
        cameras: whether cameras of this machine may be read.
        urls: whether http(s) addresses of the public internet may be read.
        hosts: names of hosts that may be reached by any protocol, wherever they are.
        max_pixels: largest height times width of a frame.
        permits: which addresses are public.
        resolver: addresses of a host and port.
    """

    folders: tuple[Path, ...] = ()
    cameras: bool = False
    urls: bool = False
    hosts: frozenset[str] = frozenset()
    max_pixels: int = DEFAULT_MAX_PIXELS
    permits: Callable[[Address], bool] = is_public
    resolver: Callable[[str, int], list[Address]] = resolve

    def source(self, reference: Any, properties: Mapping[str, float] | None = None) -> VideoSource:
        """The source behind a name that a client gave.

        Raises:
            VideoSourceError: it is not permitted or cannot be meant; what lies on this machine
                cannot be told from the text.
        """
        if isinstance(reference, bool) or not isinstance(reference, (int, str)):
            raise VideoSourceError(
                "A video reference is a text or the number of a camera, got "
                f"{type(reference).__name__}."
            )
        if isinstance(reference, int) or (reference.isascii() and reference.isdigit()):
            if not self.cameras:
                raise VideoSourceError("This server does not let clients use its cameras.")
            return source_of(int(reference), properties=properties)
        if properties:
            raise VideoSourceError("Only cameras take source properties.")
        scheme = scheme_of(reference)
        if not scheme:
            return self._file(reference)
        if scheme not in HTTP_SCHEMES | STREAM_SCHEMES:
            raise VideoSourceError(f"'{scheme}' is no kind of address that is read.")
        if _host_of(reference) in self.hosts:
            return source_of(reference, max_pixels=self.max_pixels)
        if scheme in STREAM_SCHEMES:
            raise VideoSourceError(
                f"This server reads {scheme} streams only from hosts that its operator names."
            )
        if not self.urls:
            raise VideoSourceError("This server does not fetch videos from addresses.")
        return self._address(reference)

    def _file(self, reference: str) -> VideoSource:
        if not self.folders:
            raise VideoSourceError("This server does not let clients read its files.")
        refused = VideoSourceError("There is no such video in the folders of this server.")
        for folder in self.folders:
            root = folder.resolve()
            try:
                path = (root / reference).resolve()
                if not path.is_relative_to(root) or not path.is_file():
                    continue
            except (OSError, ValueError):  # a name no file can have
                continue
            return self._opened_by(reference, path)
        raise refused

    def _opened_by(self, label: str, path: Path) -> VideoSource:
        def open_file() -> FrameStream:
            return ContainerStream(
                f"file:{path}",
                f"'{label}'",
                options={"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"},
                max_pixels=self.max_pixels,
            )

        return VideoSource(label, open_file, path=path)

    def _address(self, url: str) -> VideoSource:
        from workflows.video.http_file import HttpVideoFile

        label = public_label(url)
        live = not is_video_file_name(url)

        def open_url() -> FrameStream:
            try:
                file = HttpVideoFile(url, permits=self.permits, resolver=self.resolver)
            except FetchError as error:
                raise VideoSourceError(f"{label} cannot be read: {error}.", error) from error
            try:
                return ContainerStream(
                    file,  # type: ignore[arg-type]  # all that is needed of a file
                    label,
                    live=live,
                    options={"format_whitelist": _CONTAINERS, "protocol_whitelist": _NOTHING},
                    max_pixels=self.max_pixels,
                )
            except BaseException:
                file.close()
                raise

        return VideoSource(label, open_url, live=live)


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""
