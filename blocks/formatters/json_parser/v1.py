"""Reads fields out of JSON text, as language models write it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from blocks.formatters.model_json import parse_json_object
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import BOOLEAN_KIND, LANGUAGE_MODEL_OUTPUT_KIND

ERROR_STATUS = "error_status"


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
