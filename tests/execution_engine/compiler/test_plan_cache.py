"""The cache of plans."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from execution_engine import ExecutionEngine, PlanCache
from execution_engine.errors import NotSupportedExecutionEngineError, WorkflowSyntaxError
from tests.execution_engine.compiler.test_compiler import REGISTRY, SMALL
from tests.execution_engine.toy_blocks import (
    parameter,
    step,
    workflow,
)


class TestPlanCache:
    def test_hits_and_misses(self) -> None:
        """Equal JSON gives the same plan; the cache counts."""
        cache = PlanCache(REGISTRY)
        first = cache.get(SMALL)
        assert cache.get(copy.deepcopy(SMALL)) is first
        assert (cache.hits, cache.misses) == (1, 1)
        assert cache.get({**SMALL, "version": "1.1"}) is not first
        assert (cache.hits, cache.misses) == (1, 2)

    @pytest.mark.parametrize("number", [float("nan"), float("inf")])
    def test_numbers_that_json_lacks(self, number: float) -> None:
        """NaN and infinities stay what they are, and are not taken for null."""
        cache = PlanCache(REGISTRY)
        definitions = [workflow([parameter("p", value)], [], {}) for value in (None, number)]
        defaults = [cache.get(item).inputs[0].declaration.default for item in definitions]
        assert defaults[0] is None
        assert repr(defaults[1]) == repr(number)

    def test_values_that_json_lacks(self) -> None:
        """What is no JSON data stays what it is."""
        moment = datetime(2024, 1, 2)
        plan = PlanCache(REGISTRY).get(workflow([parameter("p", moment)], [], {}))
        assert plan.inputs[0].declaration.default == moment

    def test_least_recently_used_is_dropped(self) -> None:
        """A full cache drops the plan that was not asked for the longest."""
        cache = PlanCache(REGISTRY, capacity=2)
        definitions = [workflow(version=version) for version in ("1.0", "1.1", "1.2")]
        plans = [cache.get(definition) for definition in definitions[:2]]
        assert cache.get(definitions[0]) is plans[0]
        cache.get(definitions[2])
        assert cache.get(definitions[0]) is plans[0]
        assert cache.get(definitions[1]) is not plans[1]

    def test_changing_a_definition_after_compiling(self) -> None:
        """The caller's object is not the plan's: changing it makes another definition."""
        cache = PlanCache(REGISTRY)
        definition = copy.deepcopy(SMALL)
        plan = cache.get(definition)
        definition["steps"][2]["b"] = 5
        assert cache.get(definition) is not plan
        assert plan.definition.raw == SMALL
        assert cache.get(SMALL) is plan

    def test_engines_share_plans_but_no_blocks(self) -> None:
        """Two engines of one cache have the same plan and block instances of their own."""
        cache = PlanCache(REGISTRY)
        engines = [ExecutionEngine.init(SMALL, plan_cache=cache) for _ in range(2)]
        assert engines[0].plan is engines[1].plan
        assert engines[0]._blocks[0] is not engines[1]._blocks[0]
        assert cache.hits == 1

    def test_faulty_definitions_are_not_kept(self) -> None:
        """A definition with problems raises each time."""
        cache = PlanCache(REGISTRY)
        for _ in range(2):
            with pytest.raises(WorkflowSyntaxError):
                cache.get(workflow([], [step("nope", "n")]))
        assert (cache.hits, cache.misses) == (0, 0)
        with pytest.raises(NotSupportedExecutionEngineError):
            cache.get(workflow(version="2.0"))

    def test_definition_that_is_no_json(self) -> None:
        """A definition with Python objects in it is compiled every time."""
        cache = PlanCache(REGISTRY)
        marker = object()
        definition = workflow([], [step("constant", "c", value=marker)], {"o": "$steps.c.out"})
        assert cache.get(definition) is not cache.get(definition)
        with ExecutionEngine.init(definition, plan_cache=cache) as engine:
            assert engine.run({})[0]["o"] is marker

    def test_clear(self) -> None:
        """A cleared cache compiles again."""
        cache = PlanCache(REGISTRY)
        plan = cache.get(SMALL)
        cache.clear()
        assert cache.get(SMALL) is not plan

    def test_capacity(self) -> None:
        """A cache keeps at least one plan."""
        with pytest.raises(ValueError, match="a plan cache keeps at least 1 plan, got 0"):
            PlanCache(REGISTRY, capacity=0)

    def test_threads(self) -> None:
        """Threads that ask at once all get a plan, and from then on the same one."""
        cache = PlanCache(REGISTRY, capacity=3)
        definitions = [workflow(version=f"1.{i}") for i in range(6)]
        start = threading.Barrier(4)

        def ask(offset: int) -> int:
            start.wait()
            return sum(
                cache.get(definitions[(offset + i) % 6]).definition.version.count(".")
                for i in range(60)
            )

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(ask, range(4))) == [60] * 4
        assert cache.hits + cache.misses == 240
