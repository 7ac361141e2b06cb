"""Reads fields out of JSON text, as language models write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.definition.nesting import find_too_deep
from execution_engine.kinds.catalogue import BOOLEAN_KIND, LANGUAGE_MODEL_OUTPUT_KIND

ERROR_STATUS = "error_status"
FENCE = "```"
JSON_MARK = "json"


class JSONParserManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "JSON Parser",
            "version": "v1",
            "short_description": "Read fields out of JSON text.",
            "long_description": (
                "Parses text that holds a JSON object, alone or in a fenced code block as language "
                "models write it, and returns the fields named in `expected_fields`, each as an "
                "output. Text that is no JSON object or lacks a field sets `error_status`; what is "
                "missing is empty."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["language model", "vlm", "decode", "structured output"],
        }
    )
    type: Literal["roboflow_core/json_parser@v1"]
    raw_json: str | Selector(kind=[LANGUAGE_MODEL_OUTPUT_KIND]) = Field(
        title="Raw JSON",
        description="Text with the JSON object.",
        examples=["$steps.vlm.output"],
    )
    expected_fields: list[str] = Field(
        title="Expected Fields",
        description="Fields of the object that become outputs.",
        examples=[["brand", "colour"]],
    )

    @field_validator("expected_fields")
    @classmethod
    def _outputs_are_distinct(cls, fields: list[str]) -> list[str]:
        if ERROR_STATUS in fields:
            raise ValueError(f"{ERROR_STATUS!r} is an output of the block itself")
        repeated = sorted({field for field in fields if fields.count(field) > 1})
        if repeated:
            raise ValueError(f"fields named more than once: {', '.join(repeated)}")
        return fields

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition(ERROR_STATUS, [BOOLEAN_KIND]), OutputDefinition("*")]

    def get_actual_outputs(self) -> list[OutputDefinition]:
        return [
            OutputDefinition(ERROR_STATUS, [BOOLEAN_KIND]),
            *(OutputDefinition(field) for field in self.expected_fields),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class JSONParserBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return JSONParserManifest

    def run(self, raw_json: str, expected_fields: list[str]) -> BlockResult:
        """`error_status` and one output for each field, None where it is missing."""
        document = parse_json_object(raw_json)
        found = {} if document is None else document
        result: dict[str, Any] = {field: found.get(field) for field in expected_fields}
        complete = document is not None and all(field in found for field in expected_fields)
        result[ERROR_STATUS] = not complete
        return result


def parse_json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, None when there is none.

    Tried in this order: the text as a whole, its first fenced block marked `json`, its first fenced
    block without a mark.
    """
    for candidate in _candidates(text):
        try:
            document = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if find_too_deep(document) is not None:
            return None  # such an object can be read, but not written again
        return document if isinstance(document, dict) else None
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text
    marked, bare = None, None
    begin = text.find(FENCE)
    # One pass from fence to fence: a text full of fences takes no longer than another one.
    while begin >= 0 and (marked is None or bare is None):
        end = text.find(FENCE, begin + len(FENCE))
        if end < 0:
            break
        inside = text[begin + len(FENCE) : end]
        if marked is None and inside[: len(JSON_MARK)].lower() == JSON_MARK:
            marked = inside[len(JSON_MARK) :]
        first_line, line_end, rest = inside.partition("\n")
        if bare is None and line_end and not first_line.strip(" \t\r"):
            bare = rest
        begin = end
    for block in (marked, bare):
        if block is not None:
            yield block
