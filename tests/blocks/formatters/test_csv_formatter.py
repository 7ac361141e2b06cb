"""`csv_formatter@v1`."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from blocks.formatters.csv_formatter.v1 import CSVFormatterBlockV1, CSVFormatterManifest
from execution_engine.block_api import Batch
from execution_engine.kinds.codec import CodecRegistry

TYPE = "roboflow_core/csv_formatter@v1"


def manifest(columns: dict[str, Any], operations: Any) -> CSVFormatterManifest:
    return CSVFormatterManifest.model_validate(
        {"type": TYPE, "name": "c", "columns_data": columns, "columns_operations": operations}
    )


def run(columns: dict[str, Any], operations: Any = None) -> Any:
    checked = manifest(dict.fromkeys(columns, "$inputs.x"), operations or {})
    return CSVFormatterBlockV1(CodecRegistry()).run(columns, checked.columns_operations)


def rows(content: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content)))


class TestRun:
    def test_single_row(self) -> None:
        """Without a batch there is one row below the header, the time first."""
        content = run({"n": 3, "text": 'say "a", b', "flag": True})["csv_content"]
        header, row = rows(content)
        assert header == ["timestamp", "n", "text", "flag"]
        assert row[1:] == ["3", 'say "a", b', "True"]
        assert abs(datetime.now(UTC) - datetime.fromisoformat(row[0])) < timedelta(minutes=1)
        assert datetime.fromisoformat(row[0]).utcoffset() == timedelta(0)
        assert content.count("\n") == 2

    def test_batch_comes_out_at_the_last_element(self) -> None:
        """A batch is one document with a row an element; only the last element has it."""
        results = run({"n": Batch([1, 2, 3]), "camera": "east"})
        assert [result["csv_content"] for result in results[:-1]] == [None, None]
        content = rows(results[-1]["csv_content"])
        assert [row[1:] for row in content] == [
            ["n", "camera"], ["1", "east"], ["2", "east"], ["3", "east"],
        ]  # fmt: skip
        assert len({row[0] for row in content[1:]}) == 1

    def test_batch_of_one(self) -> None:
        """A batch of one element gives one result."""
        results = run({"n": Batch([1])})
        assert rows(results[0]["csv_content"])[1][1:] == ["1"]

    def test_operations_work_on_each_element(self) -> None:
        """Operations of a column are applied in every row, to single values too."""
        operations = {"n": [{"type": "Multiply", "other": 2}], "c": [{"type": "StringToUpperCase"}]}
        results = run({"n": Batch([1, 2]), "c": "x"}, operations)
        assert [row[1:] for row in rows(results[-1]["csv_content"])[1:]] == [["2", "X"], ["4", "X"]]

    @pytest.mark.parametrize(
        ("value", "cell"),
        [
            (None, ""),
            (float("nan"), ""),
            (np.float64("nan"), ""),
            (0.5, "0.5"),
            (["a", "b"], "['a', 'b']"),
            ([np.str_("a"), np.int64(1)], "['a', 1]"),
            (np.array([1, 2]), "[1, 2]"),
            ("line\nbreak", "line\nbreak"),
        ],
    )
    def test_cells(self, value: Any, cell: str) -> None:
        """Missing values are empty cells; lists are written without names of NumPy types."""
        assert rows(run({"a": value})["csv_content"])[1][1] == cell


class TestManifest:
    def test_timestamp_is_taken(self) -> None:
        """The column that the block writes itself cannot be given."""
        with pytest.raises(ValidationError, match="writes the column 'timestamp' itself"):
            manifest({"timestamp": 1}, {})

    def test_operations_without_column_are_refused(self) -> None:
        """Operations for a column that is not there are refused."""
        with pytest.raises(ValidationError, match="'b', which columns_data does not define"):
            manifest({"a": 1}, {"b": []})
