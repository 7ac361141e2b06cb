"""Statistics over intervals."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.analytics.data_aggregator import aggregates, v1
from blocks.analytics.data_aggregator.aggregates import AGGREGATES, elements_of
from blocks.analytics.data_aggregator.v1 import DataAggregatorBlockV1, DataAggregatorManifest
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.codec import CodecRegistry
from tests.blocks.detection_sets import some
from workflows import run_locally

ALL = list(AGGREGATES)


def of(values: list[Any], *modes: Any) -> dict[str, Any]:
    """Statistics of values that come in one run each."""
    block = DataAggregatorBlockV1(CodecRegistry([]))
    for value in values:
        result: Any = block.run({"n": value}, {}, {"n": list(modes)}, "runs", len(values))
    return {name.removeprefix("n_"): found for name, found in result.items()}


def a_step(**fields: Any) -> dict[str, Any]:
    """A step that aggregates one value."""
    return {
        "type": "roboflow_core/data_aggregator@v1",
        "name": "s",
        "data": {"n": "$inputs.n"},
        "aggregation_mode": {"n": ["sum"]},
        "interval": 2,
        **fields,
    }


class TestDataAggregator:
    @given(st.lists(st.integers(-50, 50), min_size=1, max_size=20))
    def test_against_python(self, values: list[int]) -> None:
        """Each statistic as Python has it."""
        found = of(values, *ALL)
        assert found["avg"] == pytest.approx(statistics.fmean(values))
        del found["avg"]
        assert found == {
            "sum": sum(values),
            "max": max(values),
            "min": min(values),
            "count": len(values),
            "distinct": list(dict.fromkeys(values)),
            "count_distinct": len(set(values)),
            "values_counts": dict(Counter(values)),
            "values_difference": max(values) - min(values),
        }

    def test_nothing_comes_before_the_end(self) -> None:
        """Outputs are empty between intervals, and each interval begins at nothing."""
        block = DataAggregatorBlockV1(CodecRegistry([]))
        found = [
            block.run({"n": value}, {}, {"n": ["sum", "count"]}, "runs", 2)
            for value in (1, 2, 3, 4, 5)
        ]
        empty = {"n_sum": None, "n_count": None}
        assert found == [
            empty,
            {"n_sum": 3, "n_count": 2},
            empty,
            {"n_sum": 7, "n_count": 2},
            empty,
        ]

    @pytest.mark.parametrize(
        ("unit", "seconds"), [("seconds", 1), ("minutes", 60), ("hours", 3600)]
    )
    def test_time(self, unit: Any, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """By a clock that is not set back, from the first run on and then from end to end."""
        now = [100.0]
        monkeypatch.setattr(v1.time, "monotonic", lambda: now[0])
        block = DataAggregatorBlockV1(CodecRegistry([]))
        found = []
        for passed in (0, 1.5, 0.5, 1.9, 0.1, 2):
            now[0] += passed * seconds
            result: Any = block.run({"n": 1}, {}, {"n": ["count"]}, unit, 2)
            found.append(result["n_count"])
        assert found == [None, None, 3, None, 2, 1]

    def test_each_element_of_a_list_counts(self) -> None:
        """Lists, sets and arrays; missing values do not."""
        values = [[1, 2, None], np.array([3, 4], np.int32), (2.0, float("nan")), None, {5}, []]
        found = of(values, "sum", "count", "count_distinct", "max", "avg")
        assert found == {"sum": 17, "count": 6, "count_distinct": 5, "max": 5, "avg": 17 / 6}
        assert of([some([[0, 0, 5, 5]] * 3)], "count") == {"count": 3}

    def test_of_nothing(self) -> None:
        """An interval in which only empty lists came."""
        assert of([[], []], *ALL) == {
            "sum": 0, "avg": None, "max": None, "min": None, "count": 0, "distinct": [],
            "count_distinct": 0, "values_counts": {}, "values_difference": None,
        }  # fmt: skip

    def test_text_and_lists(self) -> None:
        """Text has an order; lists are told apart by what they hold; 1 is not True."""
        assert of(["b", "ä", "b"], "max", "min", "values_counts") == {
            "max": "ä",
            "min": "b",
            "values_counts": {"b": 2, "ä": 1},
        }
        found = of([[[1, 2], [1, 2], {"a": [3]}], np.array([[1, 2]])], "distinct", "values_counts")
        assert found == {
            "distinct": [[1, 2], {"a": [3]}],
            "values_counts": {"[1, 2]": 3, "{'a': [3]}": 1},
        }
        assert of([1, True, 1.0], "distinct") == {"distinct": [1, True]}

    @pytest.mark.parametrize(
        ("value", "mode", "words"),
        [
            ("12", "sum", "`data`, sum of 'n': values must be numbers, got '12'"),
            (10**400, "avg", "`data`, avg of 'n': values must be numbers, got a whole number"),
            ({"a": 1}, "values_difference", "values must be numbers, got {'a': 1}"),
            ([1, "a"], "max", "of one type that has an order, got 'a' after 1"),
            ([{1}], "distinct", "got one of type set"),
        ],
    )
    def test_values_of_the_wrong_type(self, value: Any, mode: str, words: str) -> None:
        """The message names the statistic, the value and what it should be."""
        with pytest.raises(InvalidFieldValueError, match=words.replace("{", r"\{")):
            of([value], mode)

    def test_a_value_that_is_refused_holds_up_no_interval(self) -> None:
        """The next interval begins empty."""
        block = DataAggregatorBlockV1(CodecRegistry([]))
        with pytest.raises(InvalidFieldValueError):
            block.run({"n": "a"}, {}, {"n": ["sum"]}, "runs", 1)
        assert block.run({"n": 4}, {}, {"n": ["sum"]}, "runs", 1) == {"n_sum": 4}

    def test_the_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond a number of different values the message says what to do."""
        monkeypatch.setattr(aggregates, "MOST_DIFFERENT", 3)
        assert of([[1, 2, 3, 3]], "count_distinct") == {"count_distinct": 3}
        with pytest.raises(InvalidFieldValueError, match="shorten the interval"):
            of([[1, 2, 3, 4]], "distinct")

    def test_in_a_workflow(self) -> None:
        """Operations come first; outputs have the names of their statistics."""
        step = a_step(
            data_operations={"n": [{"type": "SequenceLength"}]},
            aggregation_mode={"n": ["sum", "values_counts"]},
            interval_unit="runs",
        )
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowBatchInput", "name": "n", "kind": ["list_of_values"]}],
            "steps": [step],
            "outputs": [
                {"type": "JsonField", "name": "sum", "selector": "$steps.s.n_sum"},
                {"type": "JsonField", "name": "all", "selector": "$steps.s.*"},
            ],
        }
        first, second = run_locally(definition, {"n": [[7, 7, 7], [8]]})
        assert first == {"sum": None, "all": {"n_sum": None, "n_values_counts": None}}
        assert second == {"sum": 4, "all": {"n_sum": 4, "n_values_counts": {3: 1, 1: 1}}}


class TestDataAggregatorManifest:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"aggregation_mode": {"m": ["sum"]}}, "aggregations of 'm', which data does not"),
            ({"data_operations": {"m": []}}, "operations for 'm', which data does not define"),
            ({"aggregation_mode": {"n": ["sum", "sum"]}}, "more than once: n_sum"),
            (
                {
                    "data": {"n": "$inputs.n", "n_count": "$inputs.n"},
                    "aggregation_mode": {"n": ["count_distinct"], "n_count": ["distinct"]},
                },
                "more than once: n_count_distinct",
            ),
            ({"interval": 0}, "greater than 0"),
            ({"interval_unit": "days"}, "'seconds', 'minutes', 'hours' or 'runs'"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, fields: dict[str, Any], words: str) -> None:
        """Before anything runs."""
        with pytest.raises(ValidationError, match=words):
            DataAggregatorManifest.model_validate(a_step(**fields))


class TestElementsOf:
    @pytest.mark.parametrize(
        ("value", "elements"),
        [
            ("text", ["text"]),
            (b"ab", [b"ab"]),
            ({"a": 1}, [{"a": 1}]),
            (np.float32(2), [2.0]),
            (np.array(3), [3]),
            (np.zeros((1, 2)), [[0.0, 0.0]]),
            (None, []),
            (float("nan"), []),
            (0, [0]),
        ],
    )
    def test_what_is_a_list(self, value: Any, elements: list[Any]) -> None:
        """Text and mappings are one value."""
        assert list(elements_of(value)) == elements
