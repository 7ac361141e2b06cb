"""Loads the models a workflow names before its steps ask for them. Knows no model; the manager that
the host gives does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from execution_engine.executor.state import RunState
from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND
from execution_engine.plan import Plan
from execution_engine.registry.init_parameters import core_parameter

PRELOADABLE = ("roboflow_platform_model",)
_MODEL_KIND = ROBOFLOW_MODEL_ID_KIND.name


class ModelPreloader:
    """Loads the models of one workflow.

    Args:
        plan: the workflow.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._manager: Any = None
        self._inputs: frozenset[str] = frozenset()

    def load(self, dependencies: Sequence[str], parameters: Mapping[str, Any]) -> None:
        """Loads the models whose ids the definition has, and notes the inputs that name others.

        Args:
            dependencies: what to load, of `PRELOADABLE`.
            parameters: init parameters, `model_manager` among them.

        Raises:
            WorkflowEnvironmentConfigurationError: something else is to be loaded, or there is no
                manager.
        """
        unknown = [name for name in dependencies if name not in PRELOADABLE]
        if unknown:
            raise WorkflowEnvironmentConfigurationError(
                f"dependencies_pre_init knows {', '.join(PRELOADABLE)}, got {', '.join(unknown)}."
            )
        manager = core_parameter(parameters, "model_manager")
        if manager is None:
            raise WorkflowEnvironmentConfigurationError(
                "dependencies_pre_init needs the init parameter 'model_manager' to load models "
                "with."
            )
        self._manager = manager
        for step in self._plan.steps:
            for name in step.spec.fields_of_kind(_MODEL_KIND):
                constant = step.constants.get(name)
                if isinstance(constant, str):
                    manager.warm_up(constant)
        self._inputs = frozenset(
            item.declaration.name
            for item in self._plan.inputs
            if _MODEL_KIND in item.declaration.kinds and item.declaration.is_parameter
        )

    def load_chosen(self, state: RunState) -> None:
        """Loads the models that a run names by its inputs, at the first run after `load`."""
        if not self._inputs:
            return
        names, self._inputs = self._inputs, frozenset()
        for item in self._plan.inputs:
            if item.declaration.name in names and isinstance(state.slots[item.slot], str):
                self._manager.warm_up(state.slots[item.slot])
