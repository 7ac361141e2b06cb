"""Collects the problems of a definition and turns them into one error. Finds no problem itself."""

from __future__ import annotations

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


class ProblemList:
    """The problems found so far, each with the class of error it calls for."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[type[WorkflowCompilerError], Problem]] = []

    def add(
        self,
        error: type[WorkflowCompilerError],
        code: str,
        message: str,
        where: str,
        *,
        hint: str | None = None,
        block_id: str | None = None,
        block_type: str | None = None,
        property_name: str | None = None,
    ) -> None:
        """Notes one problem; the first of several about the same place and class wins."""
        problem = Problem(code, message, where, hint, block_id, block_type, property_name)
        for known_error, known in self._entries:
            if known.where == where and known_error is error and known.block_id == block_id:
                return
        self._entries.append((error, problem))

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def problems(self) -> list[Problem]:
        """All problems, earliest phase first, in the order they were found within a phase."""
        ordered = sorted(self._entries, key=lambda entry: _PHASE_OF[entry[0]])
        return [problem for _, problem in ordered]

    def mentions(self, where: str) -> bool:
        """Whether a problem at exactly this place is already noted."""
        return any(problem.where == where for _, problem in self._entries)

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
