"""Where an image comes from: its place in its parents and in a video. Holds no pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class OriginCoordinatesSystem:
    """Place of an image in an ancestor, px.

    Attributes:
        left_top_x: x of this image's left edge in the ancestor.
        left_top_y: y of its top edge.
        origin_width: width of the ancestor.
        origin_height: height of the ancestor.
    """

    left_top_x: int
    left_top_y: int
    origin_width: int
    origin_height: int

    def to_dict(self) -> dict[str, int]:
        """The origin in the names of the wire format."""
        return {
            "offset_x": self.left_top_x,
            "offset_y": self.left_top_y,
            "width": self.origin_width,
            "height": self.origin_height,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> OriginCoordinatesSystem:
        """Origin from the names of the wire format; raises `ValueError` naming what is missing."""
        missing = [key for key in ("offset_x", "offset_y", "width", "height") if key not in data]
        if missing:
            raise ValueError(
                f"an image origin needs offset_x, offset_y, width, height; missing {missing}"
            )
        return cls(
            int(data["offset_x"]), int(data["offset_y"]), int(data["width"]), int(data["height"])
        )


@dataclass(frozen=True, slots=True)
class ImageParentMetadata:
    """Id of an ancestor image and this image's place in it (None: the image is that ancestor)."""

    parent_id: str
    origin_coordinates: OriginCoordinatesSystem | None = None


@dataclass(frozen=True, slots=True)
class VideoMetadata:
    """Place of a frame in a video.

    Attributes:
        video_identifier: id of the source.
        frame_number: counts from 1 in videos; 0 for images that are no frames.
        frame_timestamp: when the frame was taken.
        fps: declared frames a second.
        measured_fps: measured frames a second.
        comes_from_video_file: whether the source is a file (then time is frame_number / fps).
        total_frames: length of the source in frames where known.
    """

    video_identifier: str
    frame_number: int = 0
    frame_timestamp: datetime = field(default_factory=datetime.now)
    fps: float | None = 30
    measured_fps: float | None = None
    comes_from_video_file: bool | None = None
    total_frames: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible form, the timestamp as ISO-8601 text."""
        return {
            "video_identifier": self.video_identifier,
            "frame_number": self.frame_number,
            "frame_timestamp": self.frame_timestamp.isoformat(),
            "fps": self.fps,
            "measured_fps": self.measured_fps,
            "comes_from_video_file": self.comes_from_video_file,
            "total_frames": self.total_frames,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> VideoMetadata:
        """Metadata from its JSON form.

        Raises:
            ValueError: a mandatory member is missing or a value has the wrong type; the text names
                it.
        """
        missing = [
            key
            for key in ("video_identifier", "frame_number", "frame_timestamp")
            if key not in data
        ]
        if missing:
            raise ValueError(f"video metadata lacks {', '.join(missing)}")
        timestamp = data["frame_timestamp"]
        if isinstance(timestamp, str):
            timestamp = datetime.fromisoformat(timestamp)
        if not isinstance(timestamp, datetime):
            raise ValueError(
                "frame_timestamp must be ISO-8601 text or a datetime, got "
                f"{type(timestamp).__name__}"
            )
        frame_number = data["frame_number"]
        if isinstance(frame_number, bool) or not isinstance(frame_number, int):
            raise ValueError(f"frame_number must be a whole number, got {frame_number!r}")
        return cls(
            video_identifier=str(data["video_identifier"]),
            frame_number=frame_number,
            frame_timestamp=timestamp,
            fps=data.get("fps", 30),
            measured_fps=data.get("measured_fps"),
            comes_from_video_file=data.get("comes_from_video_file"),
            total_frames=data.get("total_frames"),
        )
