"""Stands for the steps of another workflow."""

from __future__ import annotations

from typing import Any, Literal, Union

from pydantic import ConfigDict, Field, model_validator

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)

_IDS = ("workflow_workspace_id", "workflow_id", "workflow_version_id")


class InnerWorkflowManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Inner Workflow",
            "version": "v1",
            "short_description": "Run the steps of another workflow in the place of this one.",
            "long_description": (
                "Holds a whole workflow. Its inputs are bound to values and results of the "
                "workflow around it, its outputs are the outputs of this step. When the workflow "
                "is compiled, its steps take the place of this one under the names "
                "`<this step>__<inner step>`; nothing is left of it at run time. A control-flow "
                "step that names this step lets all steps inside run."
            ),
            "license": "Apache-2.0",
            "block_type": "flow_control",
            "search_keywords": ["nested", "sub workflow", "reuse", "compose"],
            "examples": [
                {
                    "type": "roboflow_core/inner_workflow@v1",
                    "name": "inner_workflow",
                    "workflow_definition": {
                        "version": "1.0",
                        "inputs": [{"type": "WorkflowImage", "name": "photo"}],
                        "steps": [],
                        "outputs": [
                            {"type": "JsonField", "name": "same", "selector": "$inputs.photo"}
                        ],
                    },
                    "parameter_bindings": {"photo": "$inputs.image"},
                }
            ],
        }
    )
    type: Literal["roboflow_core/inner_workflow@v1"]
    execution_mode: Literal["embedded", "remote_dispatch"] = Field(
        default="embedded",
        title="Execution Mode",
        description="Where the inner workflow runs; this build only runs it as part of this one.",
    )
    workflow_definition: dict[str, Any] | None = Field(
        default=None,
        title="Workflow Definition",
        description="The inner workflow.",
        examples=[{"version": "1.0", "inputs": [], "steps": [], "outputs": []}],
    )
    workflow_workspace_id: str | None = Field(
        default=None,
        title="Workspace",
        description="Workspace of a stored workflow: a folder beside the file of this one.",
    )
    workflow_id: str | None = Field(
        default=None,
        title="Workflow",
        description="Id of a stored workflow: the name of its file.",
    )
    workflow_version_id: str | None = Field(
        default=None,
        title="Workflow Version",
        description="Version of a stored workflow; stored files have none.",
    )
    parameter_bindings: dict[str, Union[Selector(), Any]] = Field(
        title="Parameter Bindings",
        description="A reference or a plain value for each input of the inner workflow; "
        "parameters with a default may be left out.",
        examples=[{"image": "$inputs.image", "confidence": 0.4}],
    )
    remote_target: str | dict[str, Any] | None = Field(
        default=None,
        title="Remote Target",
        description="Server of a workflow that is dispatched; this build dispatches none.",
    )

    @model_validator(mode="after")
    def _has_a_definition(self) -> InnerWorkflowManifest:
        if self.execution_mode != "embedded":
            raise ValueError(
                "this build does not dispatch inner workflows to other servers; 'execution_mode' "
                "must be 'embedded'"
            )
        named = [name for name in _IDS if getattr(self, name) is not None]
        if self.workflow_definition is None:
            got = f"only {', '.join(named)}" if named else "none"
            raise ValueError(
                f"'workflow_definition' must hold the inner workflow, got {got}; a stored one is "
                "found beside the file of the workflow around it, as '<workspace>/<id>.json' or "
                "'<id>.json'"
            )
        if named:
            raise ValueError(
                f"it has a 'workflow_definition' and {', '.join(named)}; give the workflow one way"
            )
        return self

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("*")]

    def get_actual_outputs(self) -> list[OutputDefinition]:
        outputs = (self.workflow_definition or {}).get("outputs")
        names = [
            output["name"]
            for output in (outputs if isinstance(outputs, list) else [])
            if isinstance(output, dict) and isinstance(output.get("name"), str)
        ]
        return [OutputDefinition(name) for name in dict.fromkeys(names)]

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        return {"remote_target": "This build dispatches no inner workflows to other servers."}

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.4.0,<2.0.0"


class InnerWorkflowBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return InnerWorkflowManifest

    def run(
        self,
        execution_mode: str,
        workflow_definition: dict[str, Any] | None,
        workflow_workspace_id: str | None,
        workflow_id: str | None,
        workflow_version_id: str | None,
        parameter_bindings: dict[str, Any],
        remote_target: str | dict[str, Any] | None,
    ) -> BlockResult:
        """Never called: the compiler puts the inner steps in the place of this one.

        Raises:
            RuntimeError: an engine did not.
        """
        raise RuntimeError("this engine does not embed inner workflows")
