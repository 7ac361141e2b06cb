"""Writes values as CSV text, one row for each element of a batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from blocks.formatters.named_operations import NamedOperations, check_names
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import STRING_KIND
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType

TIMESTAMP_COLUMN = "timestamp"


class CSVFormatterManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "CSV Formatter",
            "version": "v1",
            "short_description": "Write values as CSV text.",
            "long_description": (
                "Makes a CSV document with a header and the named values as columns; values may be "
                "worked on first by `columns_operations`. The first column, `timestamp`, is the "
                "time in UTC. For a batch the document has one row for each element: it comes out "
                "at the last element, and the others are empty, so that a sink behind this block "
                "writes it once."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["table", "spreadsheet", "report", "rows"],
        }
    )
    type: Literal["roboflow_core/csv_formatter@v1"]
    columns_data: dict[str, Selector() | str | int | float | bool] = Field(
        title="Columns Data",
        description="Values by column; the name `timestamp` is taken.",
        examples=[{"classes": "$steps.model.predictions", "camera": "entrance"}],
    )
    columns_operations: dict[str, list[AllOperationsType]] = Field(
        default_factory=dict,
        title="Columns Operations",
        description="What is done with the values of a column before they are written.",
        examples=[
            {"classes": [{"type": "DetectionsPropertyExtract", "property_name": "class_name"}]}
        ],
    )

    @field_validator("columns_data")
    @classmethod
    def _timestamp_is_taken(cls, columns: dict[str, Any]) -> dict[str, Any]:
        if TIMESTAMP_COLUMN in columns:
            raise InvalidFieldValueError(
                f"the block writes the column {TIMESTAMP_COLUMN!r} itself; choose another name"
            )
        return columns

    @field_validator("columns_operations")
    @classmethod
    def _operations_have_columns(
        cls, operations: dict[str, Any], info: ValidationInfo
    ) -> dict[str, Any]:
        check_names(operations, info.data.get("columns_data"), "columns_data")
        return operations

    @classmethod
    def get_parameters_accepting_batches_and_scalars(cls) -> list[str]:
        return ["columns_data"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("csv_content", [STRING_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class CSVFormatterBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._operations = NamedOperations(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CSVFormatterManifest

    def run(
        self,
        columns_data: dict[str, Any],
        columns_operations: dict[str, list[AllOperationsType]],
    ) -> BlockResult:
        """`csv_content`: the document; for a batch None at all elements but the last."""
        lengths = {len(value) for value in columns_data.values() if isinstance(value, Batch)}
        if not lengths:
            row = self._operations.apply(columns_data, columns_operations)
            return {"csv_content": write_csv(columns_data, [row])}
        size = max(lengths)
        columns = {
            name: value.broadcast(size) if isinstance(value, Batch) else None
            for name, value in columns_data.items()
        }
        rows = [
            self._operations.apply(
                {
                    name: columns_data[name] if column is None else column[index]
                    for name, column in columns.items()
                },
                columns_operations,
            )
            for index in range(size)
        ]
        results: list[dict[str, Any]] = [{"csv_content": None} for _ in range(size)]
        results[-1]["csv_content"] = write_csv(columns_data, rows)
        return results


def write_csv(columns: Iterable[str], rows: Sequence[dict[str, Any]]) -> str:
    """CSV text with a header: the time in UTC (ISO 8601), then the columns in the given order.

    Lines end with a line feed. None and NaN become empty cells; lists are written as Python
    writes them.
    """
    names = list(columns)
    now = datetime.now(tz=UTC).isoformat()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([TIMESTAMP_COLUMN, *names])
    for row in rows:
        writer.writerow([now, *(_cell(row[name]) for name in names)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    value = _plain(value)
    missing = value is None or (isinstance(value, float) and value != value)
    return "" if missing else value


def _plain(value: Any) -> Any:
    """The value without NumPy types, which would write their own names into the text."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
