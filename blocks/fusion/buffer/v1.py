"""Keeps the last values it was given."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import IMAGE_KIND, LIST_OF_VALUES_KIND, WILDCARD_KIND
from execution_engine.value_text import short_text

LONGEST_BUFFER = 1_000_000


class BufferManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Buffer",
            "version": "v1",
            "short_description": "Return the last values of a step as a list.",
            "long_description": (
                "Remembers the last `length` values it was given and returns them, the newest "
                "first. With `pad` the list is filled up with empty entries until `length` values "
                "have come. A step has one buffer, which starts empty in every engine."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["window", "history", "queue", "last frames"],
        }
    )
    type: Literal["roboflow_core/buffer@v1", "Buffer"]
    data: Selector(kind=[WILDCARD_KIND, IMAGE_KIND, LIST_OF_VALUES_KIND]) = Field(
        title="Data",
        description="Value to remember.",
        examples=["$steps.visualization.image"],
    )
    length: int = Field(
        title="Length",
        description="Number of values to keep, at least 1.",
        examples=[5],
    )
    pad: bool = Field(
        default=False,
        title="Pad",
        description="Whether a list that is not full yet is filled up with empty entries.",
        examples=[True],
    )

    @field_validator("length")
    @classmethod
    def _keeps_something(cls, length: int) -> int:
        if length < 1:
            raise InvalidFieldValueError(f"a buffer keeps at least 1 value, got length {length}")
        return length

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output", [LIST_OF_VALUES_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class BufferBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._values: deque[Any] = deque()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BufferManifest

    def run(self, data: Any, length: int, pad: bool) -> BlockResult:
        """`output`: a new list of the last values, newest first.

        Raises:
            ValueError: `length` is larger than a list that each run could make anew.
        """
        if length > LONGEST_BUFFER:
            raise InvalidFieldValueError(
                f"`length` must be at most {LONGEST_BUFFER}, got {short_text(length)}"
            )
        with self._lock:
            self._values.appendleft(data)
            while len(self._values) > length:
                self._values.pop()
            values = list(self._values)
        if pad:
            values += [None] * (length - len(values))
        return {"output": values}
