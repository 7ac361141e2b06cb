"""`Workflow`: a definition to look at, check and draw. Running it is done by `running`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from execution_engine.errors import Problem
from workflows.inspection import (
    Inspection,
    MissingBlock,
    inspect_definition,
    missing_blocks,
    unknown_fields,
)
from workflows.loading import WorkflowSource, load_definition, nested_too_deep

if TYPE_CHECKING:
    from workflows.interface import Interface
    from workflows.session import Session

DrawingFormat = Literal["svg", "dot", "mermaid"]


class Workflow:
    """A workflow definition.

    A definition with unknown or missing blocks can be loaded, described and drawn; only running it
    is refused.

    Example:
        workflow = Workflow.load("workflow.json")
        for problem in workflow.check():
            print(problem)

    Args:
        definition: the JSON object; a copy is kept.
        origin: path of the file it came from.
        session: whose blocks it is held against; the default session when None.

    Raises:
        WorkflowSyntaxError: the definition is nested too deep to be copied.
    """

    def __init__(
        self, definition: Mapping[str, Any], *, origin: str = "", session: Session | None = None
    ) -> None:
        try:
            self.definition: Mapping[str, Any] = copy.deepcopy(definition)
        except RecursionError as error:
            raise nested_too_deep("The workflow definition", error) from error
        self.origin = origin
        self._session = session

    @classmethod
    def load(cls, source: WorkflowSource, *, session: Session | None = None) -> Workflow:
        """The workflow of a JSON object, a file or JSON text.

        Raises:
            WorkflowDefinitionError: the file cannot be read.
            WorkflowSyntaxError: the text is no JSON.
        """
        loaded = load_definition(source)
        return cls(loaded.definition, origin=loaded.origin, session=session)

    @property
    def name(self) -> str:
        """What to call the workflow: the name of its file, else "workflow"."""
        return Path(self.origin).name or "workflow"

    def check(self, *, strict: bool = False) -> list[Problem]:
        """Every problem of the definition at once; an empty list for a good one.

        Args:
            strict: report the warnings, too: see `warnings`.
        """
        problems = list(self._inspection.problems)
        if strict:
            problems += self.warnings()
        return problems

    def warnings(self) -> list[Problem]:
        """What a run takes as it is but is seldom meant.

        Fields of steps that their blocks do not know, conditions joined by `or` without saying so,
        and parameters that a condition names and its step does not give.
        """
        # Here, as a run needs the query language only where a step has operations.
        from workflows.language_warnings import query_language_warnings

        return [
            *unknown_fields(self._inspection, self._home.registry),
            *query_language_warnings(self._inspection),
        ]

    def missing_blocks(self) -> list[MissingBlock]:
        """Every block type that is not there, with its steps and the plug-in it names."""
        return missing_blocks(self._inspection, self._home.registry)

    def interface(self) -> Interface:
        """The inputs and outputs with their kinds; `*` where they cannot be known."""
        from workflows.interface import describe_interface

        return describe_interface(self._inspection, self._home.registry.codecs)

    def describe(self) -> str:
        """Inputs, steps in the order they run, outputs, missing blocks and problems, as text."""
        from workflows.description import describe_workflow

        plan = None
        if not self._inspection.problems:
            plan = self._home.plans.get(self.definition)
        return describe_workflow(
            self.name, self._inspection, self.interface(), self.missing_blocks(), plan
        )

    def draw(self, format: DrawingFormat = "svg") -> str:
        """The graph of the workflow as the text of a picture.

        Args:
            format: `svg`, `dot` (Graphviz) or `mermaid`.

        Raises:
            ValueError: the format is none of these.
        """
        from workflows.drawing import draw_workflow

        return draw_workflow(self._inspection, self.name, format)

    def to_dict(self) -> dict[str, Any]:
        """A copy of the JSON object."""
        return cast("dict[str, Any]", copy.deepcopy(self.definition))

    def __repr__(self) -> str:
        return f"<Workflow {self.name}>"

    @cached_property
    def _home(self) -> Session:
        if self._session is not None:
            return self._session
        from workflows.running import default_session

        return default_session()

    @cached_property
    def _inspection(self) -> Inspection:
        return inspect_definition(self.definition, self._home.registry)
