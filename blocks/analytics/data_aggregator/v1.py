"""Makes statistics of values over intervals."""

from __future__ import annotations

import time
from threading import Lock
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from blocks.analytics.data_aggregator.aggregates import AGGREGATES, Aggregate, elements_of
from blocks.formatters.named_operations import NamedOperations, check_names
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType

Mode = Literal[
    "sum", "avg", "max", "min", "count", "distinct", "count_distinct", "values_counts",
    "values_difference",
]  # fmt: skip
Unit = Literal["seconds", "minutes", "hours", "runs"]
Aggregates = dict[tuple[str, str], Aggregate]
_LENGTHS = {"runs": 1, "seconds": 1, "minutes": 60, "hours": 3600}


class DataAggregatorManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Data Aggregator",
            "version": "v1",
            "short_description": "Make statistics of values over time.",
            "long_description": (
                "Collects named values, which may be worked on first by `data_operations`, and "
                "gives statistics of them once in an interval: after a number of runs, or of "
                "seconds, minutes or hours of the clock. Outputs are called "
                "`<name>_<aggregation>`, such as `cars_avg`; between two intervals they are empty, "
                "so that what follows does not run. Each element of a list counts; missing values "
                "do not. A step has one collection for all its inputs, which starts empty in every "
                "engine and after each interval."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["average", "sum", "window", "report", "statistics", "interval"],
        }
    )
    type: Literal["roboflow_core/data_aggregator@v1"]
    data: dict[str, Selector()] = Field(
        title="Data",
        description="Named values to collect.",
        examples=[{"predictions": "$steps.model.predictions"}],
    )
    data_operations: dict[str, list[AllOperationsType]] = Field(
        default_factory=dict,
        title="Data Operations",
        description="What is done with values before they are collected.",
        examples=[{"predictions": [{"type": "SequenceLength"}]}],
    )
    aggregation_mode: dict[str, list[Mode]] = Field(
        title="Aggregation Mode",
        description="Statistics of each value.",
        examples=[{"predictions": ["avg", "max"]}],
    )
    interval_unit: Unit = Field(
        default="seconds",
        title="Interval Unit",
        description="What the interval counts.",
    )
    interval: int = Field(
        gt=0,
        title="Interval",
        description="Length of the interval in its unit.",
        examples=[10],
    )

    @field_validator("data_operations")
    @classmethod
    def _operations_have_data(
        cls, operations: dict[str, Any], info: ValidationInfo
    ) -> dict[str, Any]:
        check_names(operations, info.data.get("data"), "data")
        return operations

    @field_validator("aggregation_mode")
    @classmethod
    def _outputs_are_distinct(
        cls, modes: dict[str, list[str]], info: ValidationInfo
    ) -> dict[str, list[str]]:
        data = info.data.get("data")
        unknown = [] if data is None else [name for name in modes if name not in data]
        if unknown:
            raise InvalidFieldValueError(
                f"aggregations of {', '.join(map(repr, unknown))}, which data does not define; "
                f"it defines {', '.join(map(repr, data or ())) or 'nothing'}"
            )
        outputs = output_names(modes)
        repeated = sorted({name for name in outputs if outputs.count(name) > 1})
        if repeated:
            raise InvalidFieldValueError(f"outputs named more than once: {', '.join(repeated)}")
        return modes

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("*")]

    def get_actual_outputs(self) -> list[OutputDefinition]:
        return [OutputDefinition(name) for name in output_names(self.aggregation_mode)]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DataAggregatorBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._operations = NamedOperations(kind_codecs)
        self._aggregates: Aggregates = {}
        self._runs = 0
        self._started: float | None = None
        self._lock = Lock()

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DataAggregatorManifest

    def run(
        self,
        data: dict[str, Any],
        data_operations: dict[str, list[AllOperationsType]],
        aggregation_mode: dict[str, list[Mode]],
        interval_unit: Unit,
        interval: int,
    ) -> BlockResult:
        """Statistics by output at the end of an interval, None at all outputs before.

        Raises:
            InvalidFieldValueError: a statistic cannot be made of a value.
        """
        values = self._operations.apply(data, data_operations)
        with self._lock:
            now = time.monotonic()
            started = now if self._started is None else self._started
            self._runs += 1
            passed = self._runs if interval_unit == "runs" else now - started
            ended = passed >= interval * _LENGTHS[interval_unit]
            collected = self._aggregates
            # Set before values are looked at, so that a value that is refused holds up no interval.
            self._started = now if ended else started
            if ended:
                self._runs, self._aggregates = 0, {}
            for name, modes in aggregation_mode.items():
                for mode in modes:
                    collect(collected, name, mode, values[name])
        return {
            output_name(name, mode): collected[name, mode].result() if ended else None
            for name, modes in aggregation_mode.items()
            for mode in modes
        }


def collect(aggregates: Aggregates, name: str, mode: Mode, value: Any) -> None:
    """Adds a value to a statistic.

    Raises:
        InvalidFieldValueError: it is not a value of which the statistic can be made.
    """
    aggregate = aggregates.setdefault((name, mode), AGGREGATES[mode]())
    try:
        for element in elements_of(value):
            aggregate.add(element)
    except InvalidFieldValueError as error:
        raise InvalidFieldValueError(f"`data`, {mode} of {name!r}: {error}") from error


def output_name(name: str, mode: str) -> str:
    """Name of the output of a statistic."""
    return f"{name}_{mode}"


def output_names(modes: dict[str, Any]) -> list[str]:
    """Names of all outputs in order."""
    return [output_name(name, mode) for name, chosen in modes.items() for mode in chosen]
