"""`PlanCache`: plans by the JSON of their definitions. Compiles nothing itself."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from math import isfinite
from typing import Any

import orjson

from execution_engine.compiler.compiler import checked_plan, compile_definition
from execution_engine.kinds.representation import NUMPY
from execution_engine.plan import Plan
from execution_engine.registry.registry import BlockRegistry

# Values that JSON does not have stay what they are: such a definition is compiled each time.
_ONLY_JSON = (
    orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class PlanCache:
    """Plans by definition and representation: equal JSON gives the same plan. Thread-safe; the
    least recently used is dropped.

    Args:
        registry: the blocks definitions may use.
        capacity: number of plans kept.
    """

    def __init__(self, registry: BlockRegistry, capacity: int = 256) -> None:
        if capacity < 1:
            raise ValueError(f"a plan cache keeps at least 1 plan, got {capacity}")
        self.registry = registry
        self._capacity = capacity
        self._plans: OrderedDict[tuple[str, bytes], Plan] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, definition: Mapping[str, Any], representation: str = NUMPY) -> Plan:
        """The plan of a definition in a representation, compiled when its JSON has not been seen;
        errors as `compile_definition`.
        """
        try:
            text = orjson.dumps(definition, option=_ONLY_JSON)
        except TypeError:
            return compile_definition(definition, self.registry, representation)
        if b"null" in text and _holds_non_finite(definition):
            return compile_definition(definition, self.registry, representation)
        key = (representation, text)
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                self.hits += 1
                return plan
        plan = checked_plan(orjson.loads(text), self.registry, representation)
        with self._lock:
            self.misses += 1
            self._plans[key] = plan
            if len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
        return plan

    def clear(self) -> None:
        """Drops every plan."""
        with self._lock:
            self._plans.clear()


def _holds_non_finite(value: Any) -> bool:
    """Whether a number is NaN or infinite, which a key would not tell from null."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_holds_non_finite, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_holds_non_finite, value))
