"""Turns the results of a run into files and JSON data: pictures become files, the rest JSON. Runs
nothing and decides on no name of a folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import Plan
from workflows.cli.terminal import json_text
from workflows.remote.signature import ANYTHING, OutputShape, signature_of_plan

_NOT_IN_NAMES = re.compile(r"[^\w\-. ]")
_LONGEST_OUTPUT_NAME = 100
# In bytes of UTF-8: what file systems take for a whole name, and what its end needs.
_LONGEST_NAME = 255
_ROOM_FOR_END = 12
_FILE, _NOT_WRITTEN = "file", "not_written"
_PICTURE_FIELDS = {
    _FILE: frozenset({"type", "value", "width", "height"}),
    _NOT_WRITTEN: frozenset({"type", "width", "height"}),
}
_JPEG_QUALITY = 95


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What a workflow gives: its outputs by name, and how their values are written."""

    outputs: Mapping[str, OutputShape]
    codecs: CodecRegistry

    @classmethod
    def of_plan(cls, plan: Plan) -> ResultForm:
        """That of a workflow which compiled here."""
        return cls(signature_of_plan(plan).outputs, plan.codecs)


class ResultFiles:
    """Writes the results of one image.

    Args:
        form: what the workflow gives; outputs it does not name are written by their values.
        folder: where files go; None to write none, images then become a note on their size.
        stem: how every file name begins.
        suffix: `png` or `jpg`.
        keep: resolved paths of files that must not be overwritten, such as the images of the run.
    """

    def __init__(
        self,
        form: ResultForm,
        folder: Path | None,
        stem: str,
        suffix: str,
        keep: Collection[Path] = (),
    ) -> None:
        self._form = form
        self._folder = folder
        self._stem = stem
        self._suffix = suffix
        self.pictures: list[Path] = []
        self._names: set[str] = set()
        self._keep = keep

    def rows(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Results (not serialised) as JSON data; pictures are written on the way.

        Raises:
            ExecutionEngineRuntimeError: a value does not serialise.
            OSError: a picture cannot be written.
        """
        rows = []
        for number, result in enumerate(results):
            prefix = () if len(results) == 1 else (str(number),)
            rows.append(
                {
                    name: self._output(
                        value, (*prefix, name), self._form.outputs.get(name, OutputShape(ANYTHING))
                    )
                    for name, value in result.items()
                }
            )
        return rows

    def write_json(self, rows: list[dict[str, Any]]) -> Path:
        """Writes the rows (one alone as an object) to `<stem>.json` and gives its path.

        Raises:
            OSError: the file cannot be written.
        """
        path = self._free_path(self._stem, "json")
        objects = [_one_line_each(row) for row in rows]
        text = objects[0] if len(objects) == 1 else f"[{', '.join(objects)}]"
        # A lone surrogate, as file names may hold them, becomes the escape that JSON has for it.
        path.write_bytes(f"{text}\n".encode("utf-8", "backslashreplace"))
        return path

    def _output(self, value: Any, names: tuple[str, ...], shape: OutputShape) -> Any:
        if shape.depth and isinstance(value, list):
            inner = OutputShape(shape.kinds, shape.depth - 1)
            return [
                self._output(item, (*names, str(number)), inner)
                for number, item in enumerate(value)
            ]
        if not isinstance(shape.kinds, Mapping):
            return self._leaf(value, names, shape.kinds, shape.depth)
        if isinstance(value, list) and shape.depth is None:
            return [
                self._output(item, (*names, str(number)), shape)
                for number, item in enumerate(value)
            ]
        if not isinstance(value, Mapping):
            return self._leaf(value, names, ANYTHING, shape.depth)
        return {
            name: self._leaf(item, (*names, name), shape.kinds.get(name, ANYTHING), 0)
            for name, item in value.items()
        }

    def _leaf(
        self, value: Any, names: tuple[str, ...], kinds: tuple[str, ...], depth: int | None
    ) -> Any:
        if value is None:
            return None
        if isinstance(value, WorkflowImageData):
            return self._picture(value, names)
        if _holds_picture(value):
            if isinstance(value, Mapping):
                return {
                    str(key): self._leaf(item, (*names, str(key)), ANYTHING, 0)
                    for key, item in value.items()
                }
            return [
                self._leaf(item, (*names, str(number)), ANYTHING, 0)
                for number, item in enumerate(value)
            ]
        try:
            return self._form.codecs.serialise(value, kinds)
        except ExecutionEngineRuntimeError:
            if depth is not None or not isinstance(value, list):
                raise
            # How deep values lie is not known: what is no value is a list of some.
            return [
                self._leaf(item, (*names, str(number)), kinds, None)
                for number, item in enumerate(value)
            ]

    def _picture(self, image: WorkflowImageData, names: tuple[str, ...]) -> dict[str, Any]:
        pixels = image.numpy_image
        height, width = pixels.shape[:2]
        if self._folder is None:
            return {"type": _NOT_WRITTEN, "width": width, "height": height}
        path = self._free_path(f"{self._stem}.{self._output_name(names)}", self._suffix)
        options = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY] if self._suffix == "jpg" else []
        try:
            encoded = cv2.imencode(f".{self._suffix}", pixels, options)[1]
        except cv2.error as error:  # JPEG ends at 65535 px
            raise ExecutionEngineRuntimeError(
                f"The picture of output '{'.'.join(names)}' ({width}x{height} px, {pixels.dtype}) "
                f"cannot be encoded as {self._suffix}.",
                context="workflow_execution | outputs_construction",
                inner_error=error,
            ) from error
        path.write_bytes(encoded.tobytes())  # cv2.imwrite fails on names beyond ASCII
        self.pictures.append(path)
        return {"type": _FILE, "value": path.name, "width": width, "height": height}

    def _output_name(self, names: tuple[str, ...]) -> str:
        plain = ".".join(_NOT_IN_NAMES.sub("_", name) for name in names)[:_LONGEST_OUTPUT_NAME]
        room = _LONGEST_NAME - _ROOM_FOR_END - len(self._stem.encode("utf-8", "surrogateescape"))
        return plain.encode("utf-8", "replace")[: max(room, 1)].decode("utf-8", "ignore")

    def _free_path(self, name: str, suffix: str) -> Path:
        """A path in the folder that neither this run wrote nor must be kept."""
        assert self._folder is not None
        number, chosen = 1, name
        path = self._folder / f"{chosen}.{suffix}"
        while path.name.casefold() in self._names or path.resolve() in self._keep:
            number += 1
            chosen = f"{name}-{number}"
            path = self._folder / f"{chosen}.{suffix}"
        self._names.add(path.name.casefold())
        return path


def is_picture(value: Any) -> bool:
    """Whether a value of a row stands for a picture, written or not."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return value.keys() == _PICTURE_FIELDS.get(value["type"])


def _one_line_each(row: Mapping[str, Any]) -> str:
    """A JSON object with a line for each member: long lists of numbers stay on one line."""
    members = [f"  {json_text(name)}: {json_text(value)}" for name, value in row.items()]
    return "{\n" + ",\n".join(members) + "\n}" if members else "{}"


def _holds_picture(value: Any) -> bool:
    if isinstance(value, WorkflowImageData):
        return True
    if isinstance(value, Mapping):
        return any(_holds_picture(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_holds_picture(item) for item in value)
