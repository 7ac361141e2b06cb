"""Collects the problems of a definition and turns them into one error. Finds no problem itself."""

from __future__ import annotations

from collections.abc import Callable

from execution_engine.errors import (
    BlockInterfaceError,
    BlockNotInBuildError,
    ControlFlowDefinitionError,
    DuplicatedNameError,
    ExecutionGraphStructureError,
    InvalidReferenceTargetError,
    PluginLoadingError,
    Problem,
    ReferenceTypeError,
    StepInputDimensionalityError,
    StepInputLineageError,
    StepOutputLineageError,
    WorkflowCompilerError,
    WorkflowSyntaxError,
)

# The phases of a compilation in order: the class of the earliest one is raised.
_PHASES: tuple[tuple[type[WorkflowCompilerError], ...], ...] = (
    (WorkflowSyntaxError, BlockNotInBuildError, PluginLoadingError),
    (DuplicatedNameError,),
    (InvalidReferenceTargetError, ReferenceTypeError),
    (ExecutionGraphStructureError, BlockInterfaceError),
    (StepInputDimensionalityError,),
    (StepInputLineageError, StepOutputLineageError, ControlFlowDefinitionError),
)
_PHASE_OF = {error: number for number, errors in enumerate(_PHASES) for error in errors}
_CONTEXTS = (
    "workflow_compilation | workflow_definition_parsing",
    "workflow_compilation | workflow_definition_validation",
    "workflow_compilation | execution_graph_construction",
    "workflow_compilation | execution_graph_construction",
    "workflow_compilation | execution_graph_construction | dimensionality",
    "workflow_compilation | execution_graph_construction | lineage",
)


# A search through all names for each of thousands of problems would take hours.
_MOST_SEARCHED_HINTS = 50
Hint = str | Callable[[], str | None] | None


class ProblemList:
    """The problems found so far, each with the class of error it calls for."""

    __slots__ = ("_entries", "_known", "_places", "_searched")

    def __init__(self) -> None:
        self._entries: list[tuple[type[WorkflowCompilerError], Problem]] = []
        self._known: set[tuple[type[WorkflowCompilerError], str, str | None]] = set()
        self._places: set[str] = set()
        self._searched = 0

    def add(
        self,
        error: type[WorkflowCompilerError],
        code: str,
        message: str,
        where: str,
        *,
        hint: Hint = None,
        block_id: str | None = None,
        block_type: str | None = None,
        property_name: str | None = None,
    ) -> None:
        """Notes one problem; the first of several about the same place and class wins.

        `hint` may be a function that searches for the way out: it is called for the first
        problems only.
        """
        key = (error, where, block_id)
        if key in self._known:
            return
        self._known.add(key)
        self._places.add(where)
        if callable(hint):
            self._searched += 1
            hint = hint() if self._searched <= _MOST_SEARCHED_HINTS else None
        problem = Problem(code, message, where, hint, block_id, block_type, property_name)
        self._entries.append((error, problem))

    def note(self, where: str) -> None:
        """Makes a place count as mentioned: its problem is noted at another one."""
        self._places.add(where)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def problems(self) -> list[Problem]:
        """All problems, earliest phase first, in the order they were found within a phase."""
        ordered = sorted(self._entries, key=lambda entry: _PHASE_OF[entry[0]])
        return [problem for _, problem in ordered]

    def mentions(self, where: str) -> bool:
        """Whether a problem at exactly this place, or its cause elsewhere, is already noted."""
        return where in self._places

    def raise_if_any(self) -> None:
        """Raises one error of the class of the earliest phase, carrying every problem."""
        if not self._entries:
            return
        problems = self.problems
        first = min(self._entries, key=lambda entry: _PHASE_OF[entry[0]])
        if len(problems) == 1:
            message = str(problems[0])
        else:
            lines = "\n".join(
                f"  {number}. {problem}" for number, problem in enumerate(problems, 1)
            )
            message = f"The workflow definition has {len(problems)} problems:\n{lines}"
        raise first[0](message, context=_CONTEXTS[_PHASE_OF[first[0]]], errors=problems)
