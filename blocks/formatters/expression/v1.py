"""Chooses a result by conditions on named values."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from blocks.formatters.named_operations import NamedOperations, check_names
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType, CasesDefinition, QueryCompiler


class ExpressionManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Expression",
            "version": "v1",
            "short_description": "Choose a result by conditions on values.",
            "long_description": (
                "Goes through cases in their order and returns the result of the first whose "
                "condition holds, or the default. Conditions look at named values, which may be "
                "worked on first by `data_operations`. A result is a fixed value or one of the "
                "named values with further operations."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["if", "switch", "rule", "pass fail", "condition"],
        }
    )
    type: Literal["roboflow_core/expression@v1", "Expression"]
    data: dict[str, Selector()] = Field(
        title="Data",
        description="Named values that conditions and results use.",
        examples=[{"predictions": "$steps.model.predictions"}],
    )
    data_operations: dict[str, list[AllOperationsType]] = Field(
        default_factory=dict,
        title="Data Operations",
        description="What is done with values before conditions look at them.",
        examples=[{"predictions": [{"type": "SequenceLength"}]}],
    )
    switch: CasesDefinition = Field(
        title="Switch",
        description="Cases, each a condition and a result, and the default.",
        examples=[
            {
                "type": "CasesDefinition",
                "cases": [],
                "default": {"type": "StaticCaseResult", "value": "PASS"},
            }
        ],
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
        return [OutputDefinition("output")]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class ExpressionBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._compiler = QueryCompiler(kind_codecs)
        self._operations = NamedOperations(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ExpressionManifest

    def run(
        self,
        data: dict[str, Any],
        switch: CasesDefinition,
        data_operations: dict[str, list[AllOperationsType]],
    ) -> BlockResult:
        """`output`: the result of the first case whose condition holds, else the default."""
        values = self._operations.apply(data, data_operations)
        return {"output": self._compiler.cases(switch)(values)}
