"""`AnnotatedVideos`: the picture of every result as a frame of a video, one video a source. Encodes
nothing itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from execution_engine.images.image_data import WorkflowImageData
from execution_engine.plan import Plan
from workflows.files import is_same_file
from workflows.video.errors import VideoOptionError, VideoWriterError
from workflows.video.frames import VideoFrame
from workflows.video.report import VideoReport
from workflows.video.sources import VideoSource
from workflows.video.writer import VideoWriter, check_suffix

_IMAGE_KIND = "image"
_NOT_IN_NAMES = re.compile(r"[^\w\-.]+")


class AnnotatedVideos:
    """Writes one output of a workflow as videos; a frame without that picture is written as it
    came.

    Args:
        path: the video; with several sources `<stem>-<identifier><suffix>` for each.
        output: name of the output with the picture; the first image output when None.
        plan: the workflow.
        sources: what is read; none of their files is overwritten.
        max_fps: frames a second that are run at most.
        report: told of every file written.

    Raises:
        VideoOptionError: the workflow has no such output.
        VideoWriterError: the suffix is not known, or the path is a source.
    """

    def __init__(
        self,
        path: Path,
        output: str | None,
        plan: Plan,
        sources: Sequence[VideoSource],
        max_fps: float | None,
        report: VideoReport,
    ) -> None:
        check_suffix(path)
        self._output = image_output(plan, output)
        self._max_fps = max_fps
        self._report = report
        self._paths = video_paths(path, sources)
        self._writers: dict[int, VideoWriter] = {}
        read = [source.path for source in sources if source.path is not None]
        for target in self._paths:
            if any(is_same_file(target, path) for path in read):
                raise VideoWriterError(f"'{target}' is read by this run and cannot be written.")

    def write(self, row: dict[str, Any], frame: VideoFrame) -> None:
        """Adds the picture of a result.

        Raises:
            VideoWriterError: it cannot be written.
        """
        picture = row[self._output]
        if picture is not None and not isinstance(picture, WorkflowImageData):
            raise VideoWriterError(
                f"Output '{self._output}' is {type(picture).__name__} on frame {frame.frame_id}; "
                "only one picture a frame can be written as a video."
            )
        pixels = frame.image if picture is None else picture.numpy_image
        writer = self._writers.get(frame.source_id)
        if writer is None:
            fps = frame.fps
            if self._max_fps is not None:
                fps = self._max_fps if fps is None else min(fps, self._max_fps)
            path = self._paths[frame.source_id]
            writer = VideoWriter(path, fps, self._report.add_note)
            self._writers[frame.source_id] = writer
        writer.write(pixels, frame.position)
        if writer.pictures == 1:  # the first of them makes the file
            self._report.files.append(str(writer.path))

    def close(self) -> None:
        """Ends every file; the first error is raised after all were ended.

        Raises:
            VideoWriterError: an end cannot be written.
        """
        first: VideoWriterError | None = None
        writers, self._writers = self._writers, {}
        for writer in writers.values():
            try:
                writer.close()
            except VideoWriterError as error:
                first = first or error
        if first is not None:
            raise first


def image_output(plan: Plan, asked: str | None) -> str:
    """Name of the output to write.

    Raises:
        VideoOptionError: no such output, or none with a picture.
    """
    names = [output.name for output in plan.outputs]
    pictures = [
        output.name
        for output in plan.outputs
        if not output.is_object and any(_IMAGE_KIND in kinds for _, _, kinds in output.members)
    ]
    if asked is not None:
        if asked not in names:
            raise VideoOptionError(
                f"The workflow has no output '{asked}' to write as a video; it has "
                f"{', '.join(names) or 'none'}."
            )
        return asked
    if not pictures:
        raise VideoOptionError(
            "The workflow has no image output to write as a video; its outputs are "
            f"{', '.join(names) or 'none'}. Run without --out, or name a picture with "
            "--video-output NAME (in Python: without out, or with video_output)."
        )
    return pictures[0]


def video_paths(path: Path, sources: Sequence[VideoSource]) -> list[Path]:
    """The video of each source: the path itself, or names beside it when there are several."""
    if len(sources) == 1:
        return [path]
    paths: list[Path] = []
    for number, source in enumerate(sources):
        name = _NOT_IN_NAMES.sub("_", source.identifier or str(number))[:100]
        target = path.with_name(f"{path.stem}-{name}{path.suffix}")
        if target in paths:
            target = path.with_name(f"{path.stem}-{name}-{number}{path.suffix}")
        paths.append(target)
    return paths
