"""Runs of one engine that overlap: each step still sees them in the order they were started, so
blocks that keep state need not know. Runs nothing itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from execution_engine.plan import Plan

# Constructor arguments that steps may share without one seeing what another did with them.
_HARMLESS = frozenset(
    {
        "allow_access_to_environmental_variables",
        "allow_access_to_file_system",
        "allow_custom_python",
        "allowed_write_directory",
        "api_key",
        "background_tasks",
        "configuration",
        "disable_sinks",
        "image_codec",
        "kind_codecs",
        "model_manager",
        "step_execution_mode",
        "thread_pool_executor",
    }
)


def shared_objects(plan: Plan) -> list[str]:
    """Init parameters through which one step of a plan may see what another did in an earlier run.

    Such a plan must run one run after the other: overlapped, a step of the next run could come
    before a step of this one that it is to see.
    """
    seen: set[str] = set()
    shared: set[str] = set()
    for step in plan.steps:
        for name in step.spec.init_parameters:
            if name not in _HARMLESS:
                (shared if name in seen else seen).add(name)
    return sorted(shared)


class RunQueue:
    """The runs of one engine in their order.

    Example:
        turn = queue.enter()  # in the order of the frames
        pool.submit(engine.run, inputs, turn=turn)
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._turns: list[Turn] = []

    def enter(self) -> Turn:
        """The place of the next run; it must be finished, whether the run works or not."""
        turn = Turn(self._condition, self._turns)
        with self._condition:
            self._turns.append(turn)
        return turn


class Turn:
    """The place of one run among those that overlap."""

    __slots__ = ("_condition", "_done", "_turns")

    def __init__(self, condition: threading.Condition, turns: list[Turn]) -> None:
        self._condition = condition
        self._turns = turns
        self._done: set[int] = set()

    def keep_order(self, run_step: Callable[[int], None]) -> Callable[[int], None]:
        """`run_step`, each step held back until every earlier run has done it or has ended."""

        def run(position: int) -> None:
            with self._condition:
                self._condition.wait_for(lambda: self._may_run(position))
            run_step(position)
            with self._condition:
                self._done.add(position)
                self._condition.notify_all()

        return run

    def finish(self) -> None:
        """Ends the run: later ones no longer wait for it. May be called again."""
        with self._condition:
            if self in self._turns:
                self._turns.remove(self)
                self._condition.notify_all()

    def _may_run(self, position: int) -> bool:
        for turn in self._turns:
            if turn is self:
                break
            if position not in turn._done:
                return False
        return True
