"""`ExecutionEngine`: one workflow with its own block instances, ready to run many times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from execution_engine.block_api.workflow_memory import WorkflowMemory
from execution_engine.compiler.compiler import compile_definition
from execution_engine.compiler.plan_cache import PlanCache
from execution_engine.errors import (
    ExecutionEngineNotImplementedError,
    WorkflowEnvironmentConfigurationError,
    WorkflowError,
)
from execution_engine.executor.blocks import close_blocks, create_blocks
from execution_engine.executor.conversions import RunConversions
from execution_engine.executor.failures import StepErrorHandler
from execution_engine.executor.futures import FutureSlots
from execution_engine.executor.inputs import assemble_inputs, check_parameters
from execution_engine.executor.limits import CancellationToken, RunLimits
from execution_engine.executor.model_preloading import ModelPreloader
from execution_engine.executor.outputs import construct_outputs
from execution_engine.executor.overlap import Turn
from execution_engine.executor.report import RunReport
from execution_engine.executor.scheduler import run_concurrently, run_in_order
from execution_engine.executor.secrets import secrets_of
from execution_engine.executor.state import RunState
from execution_engine.executor.step_runner import StepRunner
from execution_engine.images.codec import ImageCodec
from execution_engine.kinds.codec import DecodingContext
from execution_engine.kinds.representation import CPU, NUMPY, resolved
from execution_engine.plan import Plan
from execution_engine.profiling import (
    EXECUTION,
    INPUT_ASSEMBLY,
    INPUT_VALIDATION,
    OUTPUTS_CONSTRUCTION,
    STEP_EXECUTION,
    STEPS_INITIALISATION,
    WORKFLOW_COMPILATION,
    WorkflowsProfiler,
    phase,
)
from execution_engine.registry.discovery import discover_registry
from execution_engine.registry.init_parameters import core_parameter
from execution_engine.registry.registry import BlockRegistry
from execution_engine.size_limits import NO_LIMITS, SizeLimits
from execution_engine.versions import ENGINE_VERSION

_ERROR_HANDLERS: tuple[str, ...] = ("legacy",)


class ExecutionEngine:
    """A compiled workflow with block instances of its own.

    State of blocks (trackers, counters, timers) lasts from `init` to `close`; a new engine starts
    fresh. One engine may be run by several threads at once when its blocks keep no state, or when
    each run has a `Turn`, so that every step sees the runs in their order.
    """

    def __init__(
        self,
        plan: Plan,
        registry: BlockRegistry,
        init_parameters: Mapping[str, Any],
        *,
        max_concurrent_steps: int = 1,
        prevent_local_images_loading: bool = False,
        workflow_id: str | None = None,
        profiler: WorkflowsProfiler | None = None,
        executor: Executor | None = None,
        step_error_handler: StepErrorHandler | None = None,
        size_limits: SizeLimits = NO_LIMITS,
    ) -> None:
        if max_concurrent_steps < 1:
            raise ValueError(f"max_concurrent_steps must be at least 1, got {max_concurrent_steps}")
        self.plan = plan
        own_id = plan.definition.raw.get("id")
        self.workflow_id = own_id if own_id and isinstance(own_id, str) else workflow_id
        self._size_limits = size_limits
        self._max_concurrent_steps = max_concurrent_steps
        self._profiler = profiler
        self._executor = executor
        parameters = {
            "kind_codecs": registry.codecs,
            "workflow_memory": WorkflowMemory(),
            **init_parameters,
        }
        image_codec = core_parameter(init_parameters, "image_codec")
        self._decoding = DecodingContext(
            image_codec or ImageCodec(), prevent_local_images_loading, limits=size_limits
        )
        self._blocks = create_blocks(plan, registry, parameters)
        self._futures = FutureSlots(
            {
                slot: step
                for step, block in zip(plan.steps, self._blocks, strict=True)
                if block.returns_futures
                for slot in step.outputs.values()
            },
            step_error_handler,
        )
        self._future_outputs = self._futures.among(
            slot for output in plan.outputs for _, slot, _ in output.members
        )
        self._runners = [
            StepRunner(step, block, plan.codecs, self._futures, step_error_handler, size_limits)
            for step, block in zip(plan.steps, self._blocks, strict=True)
        ]
        self._preloader = ModelPreloader(plan)

    @classmethod
    def init(
        cls,
        workflow_definition: Mapping[str, Any],
        init_parameters: Mapping[str, Any] | None = None,
        max_concurrent_steps: int = 1,
        prevent_local_images_loading: bool = False,
        workflow_id: str | None = None,
        profiler: WorkflowsProfiler | None = None,
        executor: Executor | None = None,
        step_error_handler: str | StepErrorHandler | None = None,
        dependencies_pre_init: Sequence[str] | None = None,
        *,
        registry: BlockRegistry | None = None,
        plan_cache: PlanCache | None = None,
        representation: str = NUMPY,
    ) -> ExecutionEngine:
        """Compiles a definition and makes its blocks.

        Args:
            workflow_definition: the JSON object of a workflow.
            init_parameters: constructor arguments of blocks, as `source.name` or `name`.
            max_concurrent_steps: how many independent steps may run at the same time.
            prevent_local_images_loading: refuse local files as images whatever the image codec
                allows.
            workflow_id: id for accounting, unless the definition has its own.
            profiler: records phases of compilation and runs.
            executor: pool for concurrent steps; each run makes its own when None.
            step_error_handler: called with a step's name and the error it raised; with `"legacy"`
                or None every error is only wrapped in `StepExecutionError`.
            dependencies_pre_init: `["roboflow_platform_model"]` loads the models of the workflow
                now (ids written in the definition) or at the first run (ids that are parameters).
                Needs the init parameter `model_manager`.
            registry: the blocks to use; installed plug-ins when None.
            plan_cache: plans shared between engines; its registry is used.
            representation: in which form steps hand values on: `numpy`, another one that a plug-in
                offers, or `auto`: `tensor` around models when the `device` of the init parameter
                `model_manager` is not the CPU.

        Raises:
            WorkflowCompilerError: the definition has problems; see `compile_definition`.
            WorkflowEnvironmentConfigurationError: an unknown error handler, or models to load
                without a manager.
        """
        parameters = dict(init_parameters or {})
        manager = core_parameter(parameters, "model_manager")
        representation = resolved(representation, str(getattr(manager, "device", CPU)))
        if plan_cache is not None:
            registry = plan_cache.registry
        elif registry is None:
            registry = discover_registry()
        with phase(profiler, WORKFLOW_COMPILATION):
            if plan_cache is not None:
                plan = plan_cache.get(workflow_definition, representation)
            else:
                plan = compile_definition(workflow_definition, registry, representation)
        handler = _error_handler(step_error_handler)
        with phase(profiler, STEPS_INITIALISATION):
            engine = cls(
                plan,
                registry,
                parameters,
                max_concurrent_steps=max_concurrent_steps,
                prevent_local_images_loading=prevent_local_images_loading,
                workflow_id=workflow_id,
                profiler=profiler,
                executor=executor,
                step_error_handler=handler,
            )
        if dependencies_pre_init:
            try:
                engine.preload(dependencies_pre_init, parameters)
            except BaseException:
                engine.close()
                raise
        return engine

    @staticmethod
    def get_available_versions() -> list[str]:
        """Versions of the definition language this engine serves, newest last."""
        return [ENGINE_VERSION]

    def run(
        self,
        runtime_parameters: Mapping[str, Any],
        fps: float = 0,
        _is_preview: bool = False,
        serialize_results: bool = False,
        defer_stream_pipeline_flush: bool = False,
        resolve_output_futures: bool = True,
        *,
        deadline: float | None = None,
        cancellation: CancellationToken | None = None,
        report: RunReport | None = None,
        turn: Turn | None = None,
        excluded_outputs: Collection[str] = (),
    ) -> list[dict[str, Any]]:
        """Runs the workflow once.

        Args:
            runtime_parameters: values of the declared inputs by name; others are ignored. Never
                changed.
            fps: frames a second of images that bring no video metadata of their own; 0 when
                unknown.
            _is_preview: noted in the profile of the run, for hosts that account for runs.
            serialize_results: give JSON data instead of Python objects.
            defer_stream_pipeline_flush: let pipelined blocks answer for an earlier frame (see
                `flush_stream_pipeline`).
            resolve_output_futures: wait for values that blocks hand over as futures.
            deadline: seconds the run may take; checked before every call of a block and at its end.
            cancellation: lets another thread stop the run before its next call of a block.
            report: filled with the calls of each step and what was skipped and why.
            turn: place of this run among those that overlap; finished when the run ends.
            excluded_outputs: outputs to leave out; they are neither moved nor serialised.

        Returns:
            One object an element of the batch, with one member a declared output.

        Raises:
            RuntimeInputError: a value does not fit the declared inputs.
            StepExecutionError: the code of a block raised.
            RunDeadlineExceededError, RunCancelledError: the run was stopped.
            ExecutionEngineRuntimeError: a block broke its contract, or a result does not serialise.
        """
        limits = None
        most = self._size_limits.max_image_bytes
        if deadline is not None or cancellation is not None or most is not None:
            limits = RunLimits(deadline, cancellation, most)
        conversions = RunConversions(self.plan.conversions) if self.plan.conversions else None
        state = RunState(self.plan.slots, len(self.plan.axes), limits, report, conversions)
        profiler, run_id = self._profiler, None
        if profiler is not None:
            run_id = profiler.start_workflow_run()
            metadata = {"workflow_id": self.workflow_id, "is_preview": _is_preview,
                        "stream_flush_deferred": defer_stream_pipeline_flush}  # fmt: skip
            profiler.notify_event("run_settings", metadata=metadata, run_id=run_id)
        try:
            self._execute(state, runtime_parameters, fps, run_id, turn)
            with phase(profiler, OUTPUTS_CONSTRUCTION, run_id):
                return self._respond(
                    state,
                    runtime_parameters,
                    serialize_results,
                    resolve_output_futures,
                    excluded_outputs,
                )
        except WorkflowError as error:
            if self.plan.secret_slots and isinstance(runtime_parameters, Mapping):
                secrets_of(self.plan, state, runtime_parameters).hide_in_error(error)
            raise
        finally:
            if turn is not None:
                turn.finish()
            if profiler is not None and run_id is not None:
                profiler.end_workflow_run(run_id)

    def flush_stream_pipeline(
        self, runtime_parameters: Mapping[str, Any], serialize_results: bool = False
    ) -> list[dict[str, Any]]:
        """Results that pipelined blocks still hold back; empty, since blocks of this engine answer
        at once.

        Raises:
            ExecutionEngineNotImplementedError: a block of a plug-in says that it is pipelined.
        """
        for step, block in zip(self.plan.steps, self._blocks, strict=True):
            pipelined = getattr(block, "is_stream_pipelined", None)
            if callable(pipelined) and pipelined():
                raise ExecutionEngineNotImplementedError(
                    f"Step '{step.name}' ({step.spec.type_id}) answers for earlier frames; "
                    "draining such steps is not supported.",
                    context="stream_pipeline_flush",
                )
        return []

    def close(self) -> None:
        """Closes every block; the engine must not be run afterwards."""
        blocks, self._blocks = self._blocks, []
        self._runners = []
        close_blocks(blocks)

    def __enter__(self) -> ExecutionEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _execute(
        self,
        state: RunState,
        given: Mapping[str, Any],
        fps: float,
        run_id: str | None,
        turn: Turn | None,
    ) -> None:
        plan, profiler = self.plan, self._profiler
        if not self._runners and plan.steps:
            raise WorkflowEnvironmentConfigurationError(
                "This engine is closed; make a new one with ExecutionEngine.init(...)."
            )
        decoding = self._decoding.for_run(fps)
        with phase(profiler, INPUT_ASSEMBLY, run_id):
            assemble_inputs(plan, given, state, decoding)
        if plan.substitutions:
            with phase(profiler, INPUT_VALIDATION, run_id):
                check_parameters(plan, state)
        self._preloader.load_chosen(state)
        run_step = self._step_function(state, run_id)
        if turn is not None:
            run_step = turn.keep_order(run_step)
        with phase(profiler, EXECUTION, run_id):
            if self._max_concurrent_steps == 1:
                run_in_order(plan.steps, run_step)
            else:
                run_concurrently(plan.steps, run_step, self._max_concurrent_steps, self._executor)
        if state.limits is not None:
            state.limits.check_end()

    def _step_function(self, state: RunState, run_id: str | None) -> Callable[[int], None]:
        runners, profiler, steps = self._runners, self._profiler, self.plan.steps
        if profiler is None:
            return lambda position: runners[position].run(state)

        def profiled(position: int) -> None:
            step = steps[position]
            metadata = {"step": step.name, "type": step.spec.type_id}
            with phase(profiler, STEP_EXECUTION, run_id, metadata):
                runners[position].run(state)

        return profiled

    def _respond(
        self,
        state: RunState,
        given: Mapping[str, Any],
        serialize: bool,
        resolve_futures: bool,
        excluded: Collection[str],
    ) -> list[dict[str, Any]]:
        if resolve_futures:
            self._futures.wait(state, self._future_outputs)
        rows = construct_outputs(self.plan, state, serialize, excluded)
        if self.plan.secret_slots and (serialize or state.report is not None):
            secrets = secrets_of(self.plan, state, given)
            if state.report is not None:
                state.report.secrets = secrets
            if serialize:
                return [secrets.in_data(row) for row in rows]
        return rows

    def preload(self, dependencies: Sequence[str], parameters: Mapping[str, Any]) -> None:
        """Loads models, with `dependencies_pre_init` and `init_parameters` as in `init`."""
        self._preloader.load(dependencies, parameters)


def _error_handler(handler: str | StepErrorHandler | None) -> StepErrorHandler | None:
    if handler is None or handler in _ERROR_HANDLERS:
        return None
    if callable(handler):
        return handler
    raise WorkflowEnvironmentConfigurationError(
        f"step_error_handler must be a function or one of {', '.join(_ERROR_HANDLERS)}, got "
        f"{handler!r}."
    )
