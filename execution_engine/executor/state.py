"""`RunState`: slots and axes of one run. Steps write disjoint slots, so threads may share it."""

from __future__ import annotations

from typing import Any

from execution_engine.executor.axes import Axis
from execution_engine.executor.conversions import RunConversions
from execution_engine.executor.limits import RunLimits
from execution_engine.executor.report import RunReport


class RunState:
    """Values of one run.

    Attributes:
        slots: one value, or one column, a slot; None where nothing was made.
        axes: levels of batching by axis number, None until known.
        limits: deadline and cancellation, None without.
        report: filled when the host asked for one.
        conversions: values in a second representation, None when the plan has none.
    """

    __slots__ = ("axes", "conversions", "limits", "report", "slots")

    def __init__(
        self,
        slots: int,
        axes: int,
        limits: RunLimits | None = None,
        report: RunReport | None = None,
        conversions: RunConversions | None = None,
    ) -> None:
        self.slots: list[Any] = [None] * slots
        self.axes: list[Axis | None] = [None] * axes
        self.limits = limits
        self.report = report
        self.conversions = conversions

    def axis(self, number: int) -> Axis:
        """The axis of this number, which must be known by now."""
        axis = self.axes[number]
        assert axis is not None, f"axis {number} is read before it is made"
        return axis
