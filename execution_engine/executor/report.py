"""`RunReport`: what a run did with each step, for hosts that ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from execution_engine.executor.secrets import Secrets

SkipReason = Literal["gate closed", "input empty", "no elements"]


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that did not run, for the whole run or for some elements.

    Attributes:
        step: name of the step.
        reason: why: a gate closed, an input was empty, or there was nothing to work on.
        because_of: name of the gate or of the argument, "" when there were no elements.
        elements: how many elements were left out; None when the step runs once.
    """

    step: str
    reason: SkipReason
    because_of: str
    elements: int | None = None


@dataclass(slots=True)
class RunReport:
    """Filled by a run: calls of each step and what was skipped.

    Attributes:
        calls: number of calls of each step's `run`.
        skipped: steps (or elements of steps) that did not run, with the reason.
        secrets: what to star in texts made of the results; None when the workflow has no secrets.
    """

    calls: dict[str, int] = field(default_factory=dict)
    skipped: list[SkippedStep] = field(default_factory=list)
    secrets: Secrets | None = field(default=None, repr=False)

    @property
    def skipped_steps(self) -> list[str]:
        """Names of the steps that were never called."""
        names = dict.fromkeys(entry.step for entry in self.skipped)
        return [name for name in names if not self.calls.get(name)]
