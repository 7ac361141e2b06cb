"""The one tree of errors of the engine. Nothing here may import another module of this package.

Class names and fields are part of the wire contract: servers map them to HTTP answers and clients
read them by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a definition.

    Attributes:
        code: stable machine-readable name of the rule that was broken, such as
            `unknown_block_type`.
        message: what is wrong, where, what was found and what was expected.
        where: JSON pointer into the definition, such as `/steps/2/model_id`.
        hint: the way out, often the nearest known name.
        block_id: name of the step (`$outputs` for a workflow output), None when no step is
            concerned.
        block_type: type id of that step.
        property_name: field of that step, or the name of the output.
    """

    code: str
    message: str
    where: str
    hint: str | None = None
    block_id: str | None = None
    block_type: str | None = None
    property_name: str | None = None

    def __str__(self) -> str:
        text = f"{self.where or '/'}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text

    def to_dict(self) -> dict[str, str | None]:
        """The problem as plain JSON data."""
        return {
            "code": self.code,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
            "block_id": self.block_id,
            "block_type": self.block_type,
            "property_name": self.property_name,
        }


@dataclass(frozen=True, slots=True)
class BlockTraceback:
    """Where a block's code failed, in terms of that code."""

    traceback: str
    error_line: int | None = None
    code_snippet: str | None = None
    stdout: str | None = None
    stderr: str | None = None


@dataclass(frozen=True, slots=True)
class WorkflowBlockError:
    """A problem that belongs to one step, in the shape clients know."""

    block_id: str | None
    block_type: str | None = None
    block_details: str | None = None
    property_name: str | None = None
    property_details: str | None = None
    block_traceback: BlockTraceback | None = None


class WorkflowError(Exception):
    """Base of every error of the engine.

    Args:
        public_message: safe to show to whoever sent the definition.
        context: breadcrumb of the phase, such as `workflow_compilation |
            execution_graph_construction`.
        inner_error: the exception that caused this one.
    """

    def __init__(
        self, public_message: str, context: str = "", inner_error: BaseException | None = None
    ) -> None:
        super().__init__(public_message)
        self.public_message = public_message
        self.context = context
        self.inner_error = inner_error

    @property
    def inner_error_type(self) -> str | None:
        """Class name of the cause, None without one."""
        return None if self.inner_error is None else type(self.inner_error).__name__


class WorkflowEnvironmentConfigurationError(WorkflowError):
    """The host is set up in a way the definition cannot run with."""


class AssumptionError(WorkflowError):
    """An invariant of the engine does not hold: a bug of ours."""


class WorkflowCompilerError(WorkflowError):
    """Base of everything found before a run starts.

    `errors` holds every problem of the definition, `blocks_errors` those that belong to a step.
    """

    def __init__(
        self,
        public_message: str,
        context: str = "workflow_compilation",
        inner_error: BaseException | None = None,
        errors: Sequence[Problem] = (),
    ) -> None:
        super().__init__(public_message, context, inner_error)
        self.errors = tuple(errors)

    @property
    def blocks_errors(self) -> list[WorkflowBlockError]:
        """The problems that belong to a step or an output, in the order of `errors`."""
        return [
            WorkflowBlockError(
                block_id=problem.block_id,
                block_type=problem.block_type,
                block_details=None if problem.property_name else problem.message,
                property_name=problem.property_name,
                property_details=problem.message if problem.property_name else None,
            )
            for problem in self.errors
            if problem.block_id is not None
        ]


class PluginLoadingError(WorkflowCompilerError):
    """A plug-in cannot be loaded or clashes with another one."""


class PluginInterfaceError(WorkflowCompilerError):
    """A plug-in does not offer what plug-ins must offer."""


class BlockInterfaceError(WorkflowCompilerError):
    """A block's manifest and code contradict each other or the block contract."""


class DynamicBlockError(WorkflowCompilerError):
    """A custom Python block is malformed."""


class WorkflowDefinitionError(WorkflowCompilerError):
    """The definition as a whole cannot be used."""


class WorkflowSyntaxError(WorkflowDefinitionError):
    """The definition does not fit the schema of the language or of its blocks."""


class BlockNotInBuildError(WorkflowSyntaxError):
    """The definition uses blocks that are known by name but are not part of this build."""


class DuplicatedNameError(WorkflowDefinitionError):
    """Two inputs, two steps or two outputs share a name."""


class ExecutionGraphStructureError(WorkflowCompilerError):
    """Steps are connected in a way that cannot run."""


class InvalidReferenceTargetError(WorkflowCompilerError):
    """A selector points to an input, step or output that does not exist."""


class ReferenceTypeError(WorkflowCompilerError):
    """A selector delivers a kind of data that the field does not take."""


class UnknownManifestType(WorkflowCompilerError):
    """A step has a type that no loaded block serves."""


class BlockInitParameterNotProvidedError(WorkflowCompilerError):
    """A block needs a constructor argument that nobody provides."""


class StepInputDimensionalityError(WorkflowCompilerError):
    """The inputs of a step lie at depths that do not fit together."""


class StepInputLineageError(WorkflowCompilerError):
    """The inputs of a step come from unrelated batches."""


class StepOutputLineageError(WorkflowCompilerError):
    """The outputs of a step cannot be given a place among the batches."""


class ControlFlowDefinitionError(WorkflowCompilerError):
    """A step can never run under the conditions that gate it."""


class WorkflowExecutionEngineError(WorkflowError):
    """Base of everything that goes wrong while running."""


class NotSupportedExecutionEngineError(WorkflowExecutionEngineError):
    """No engine of the requested version is available."""


class WorkflowExecutionEngineVersionError(WorkflowError):
    """A version given to a describe call cannot be read."""


class RuntimeInputError(WorkflowExecutionEngineError):
    """A value given to a run does not fit the declared inputs."""


class RunDeadlineExceededError(WorkflowExecutionEngineError):
    """The run did not finish within its deadline."""


class RunTooLargeError(WorkflowExecutionEngineError):
    """The run holds more than the host lets it hold; servers answer with the status 400."""

    status_code = 400


class RunCancelledError(WorkflowExecutionEngineError):
    """The run was cancelled by the host."""


class StepExecutionError(WorkflowExecutionEngineError):
    """The code of a step raised; the message is that of the original error."""

    def __init__(
        self,
        public_message: str,
        context: str = "workflow_execution | step_execution",
        inner_error: BaseException | None = None,
        block_id: str | None = None,
        block_type: str | None = None,
        block_traceback: BlockTraceback | None = None,
    ) -> None:
        super().__init__(public_message, context, inner_error)
        self.block_id = block_id
        self.block_type = block_type
        self.block_traceback = block_traceback


class ClientCausedStepExecutionError(StepExecutionError):
    """A step failed because of what the client asked for; a host maps it to `status_code`."""

    def __init__(
        self, public_message: str, *, status_code: int, block_id: str | None = None,
        block_type: str | None = None, context: str = "workflow_execution | step_execution",
        inner_error: BaseException | None = None,
    ) -> None:  # fmt: skip
        super().__init__(public_message, context, inner_error, block_id, block_type)
        self.status_code = status_code


class InvalidFieldValueError(ValueError):
    """A field of a step got a value, through a reference, that it does not take.

    Blocks raise it where no schema has seen the value. It leaves the engine inside a
    `StepExecutionError`; servers answer with the status 400: the step itself has no fault.
    """


class ForbiddenByHostError(PermissionError):
    """A step asks for what its host does not allow: files, variables of the environment.

    Blocks raise it; it leaves the engine inside a `StepExecutionError`; servers answer with the
    status 403.
    """


class RuntimeLimitsCausedStepExecutionError(ClientCausedStepExecutionError):
    """A step failed because the host limits what it may use."""


class DynamicBlockCodeError(StepExecutionError):
    """Custom Python code of the user raised."""

    def __init__(
        self, public_message: str, *, block_type_name: str, error_line: int | None = None,
        code_snippet: str | None = None, traceback: str | None = None, stdout: str | None = None,
        stderr: str | None = None, context: str = "dynamic_block_code_execution",
        inner_error: BaseException | None = None, block_id: str | None = None,
    ) -> None:  # fmt: skip
        trace = BlockTraceback(traceback or "", error_line, code_snippet, stdout, stderr)
        super().__init__(public_message, context, inner_error, block_id, block_type_name, trace)
        self.block_type_name = block_type_name
        self.error_line = error_line
        self.code_snippet = code_snippet
        self.traceback = traceback
        self.stdout = stdout
        self.stderr = stderr


class ExecutionEngineRuntimeError(WorkflowExecutionEngineError):
    """A block's results or their serialisation break the contract of the engine."""


class InvalidBlockBehaviourError(WorkflowExecutionEngineError):
    """A block returned a container of the wrong type."""


class ExecutionEngineNotImplementedError(WorkflowExecutionEngineError):
    """The engine has no way to do what the definition asks for."""


class WorkflowImageLoadError(WorkflowExecutionEngineError):
    """An image source is not permitted or cannot be read."""


class RoboflowQueryLanguageError(WorkflowExecutionEngineError):
    """Base of the errors of the query language.

    Where one leaves a step, `block_id` and `block_type` are those of the step.
    """

    block_id: str | None = None
    block_type: str | None = None


class UndeclaredSymbolError(RoboflowQueryLanguageError):
    """A statement names a parameter that was not given."""


class InvalidInputTypeError(RoboflowQueryLanguageError):
    """An operation got a value of a type it cannot work on."""


class OperationTypeNotRecognisedError(RoboflowQueryLanguageError):
    """An operation, comparator or operator is not part of the language."""


class OperationError(RoboflowQueryLanguageError):
    """An operation could not be carried out."""


class EvaluationEngineError(RoboflowQueryLanguageError):
    """A statement could not be evaluated; the context names the place in the statement."""
