"""Fills a text template with values."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from blocks.formatters.named_operations import NamedOperations, check_names
from blocks.formatters.string_template.template import fill_template
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import STRING_KIND
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType


class StringTemplateManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "String Template",
            "version": "v1",
            "short_description": "Fill a text template with values.",
            "long_description": (
                "Replaces each `{name}` in a template by the value of that name, which may be "
                "worked on first by `data_operations`. Numbers take Python's format specifications "
                "(`{score:.2f}`); `{{` and `}}` stand for braces. A template that names a value "
                "which is not given fails, so that no text with a gap goes on."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["prompt", "message", "text", "format"],
        }
    )
    type: Literal["roboflow_core/string_template@v1"]
    template: Selector(kind=[STRING_KIND]) | str = Field(
        title="Template",
        description="Text with `{name}` places.",
        examples=["Found {count} of {expected} parts", "$inputs.template"],
    )
    data: dict[str, Selector() | str | int | float | bool] = Field(
        default_factory=dict,
        title="Data",
        description="Values by name.",
        examples=[{"count": "$steps.count.output", "expected": 4}],
    )
    data_operations: dict[str, list[AllOperationsType]] = Field(
        default_factory=dict,
        title="Data Operations",
        description="What is done with values before they are written.",
        examples=[{"count": [{"type": "SequenceLength"}]}],
    )

    @field_validator("data_operations")
    @classmethod
    def _operations_have_data(
        cls, operations: dict[str, Any], info: ValidationInfo
    ) -> dict[str, Any]:
        check_names(operations, info.data.get("data"), "data")
        return operations

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output", [STRING_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class StringTemplateBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._operations = NamedOperations(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return StringTemplateManifest

    def run(
        self,
        template: str,
        data: dict[str, Any],
        data_operations: dict[str, list[AllOperationsType]],
    ) -> BlockResult:
        """`output`: the filled template.

        Raises:
            ValueError: the template is malformed or names a value that is not given.
        """
        return {"output": fill_template(template, self._operations.apply(data, data_operations))}
