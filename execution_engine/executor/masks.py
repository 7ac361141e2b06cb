"""`Masks`: which elements of a step its gates let through. Decides nothing about empty inputs."""

from __future__ import annotations

from execution_engine.executor.axes import Axis
from execution_engine.executor.state import RunState
from execution_engine.plan import SINGLE, StepPlan


class Masks:
    """The verdicts of a step's gates, read once a run.

    Attributes:
        closed_by: name of the gate that closes the step as a whole, None when none does.
    """

    __slots__ = ("_verdicts", "closed_by")

    def __init__(self, plan: StepPlan, state: RunState) -> None:
        self._verdicts: list[tuple[Axis, list[bool], str]] = []
        self.closed_by: str | None = None
        for gate in plan.gates:
            verdict = state.slots[gate.slot]
            if gate.axis != SINGLE:
                self._verdicts.append((state.axis(gate.axis), verdict, gate.source))
            elif not verdict:
                self.closed_by = gate.source

    def allowed(self, axis: Axis) -> list[bool] | None:
        """One verdict an element of `axis`, None when every element may run."""
        if self.closed_by is not None:
            return [False] * axis.size
        result: list[bool] | None = None
        for gate_axis, verdict, _ in self._verdicts:
            if not axis.descends_from(gate_axis):
                continue
            spread = axis.spread(verdict, gate_axis)
            result = (
                spread if result is None else [a and b for a, b in zip(result, spread, strict=True)]
            )
        return result

    @property
    def gate_names(self) -> str:
        """The gates with a verdict an element, for reports."""
        return ", ".join(name for _, _, name in self._verdicts) or self.closed_by or ""
