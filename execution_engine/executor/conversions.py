"""Converted values of one run: each slot is converted when it is first needed, and once.

What is converted into what is planned in `compiler.planner`.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from execution_engine.plan import ConversionPlan


class RunConversions:
    """Which conversions of a run are done. Steps of several threads may share it.

    Args:
        conversions: all that the plan has.
    """

    __slots__ = ("_done", "_locks")

    def __init__(self, conversions: Iterable[ConversionPlan]) -> None:
        self._locks = {conversion.slot: Lock() for conversion in conversions}
        self._done: set[int] = set()

    def fill(self, slots: list[Any], conversion: ConversionPlan) -> None:
        """Fills the slot of a converted value unless that was done; errors of the converters pass
        through.
        """
        with self._locks[conversion.slot]:
            if conversion.slot not in self._done:
                value = slots[conversion.source]
                # A column that no step wrote has no elements.
                slots[conversion.slot] = None if value is None else conversion.applied(value)
                self._done.add(conversion.slot)
