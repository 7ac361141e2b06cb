"""`Session`: owns what outlives a run: blocks, compiled plans, loaded models, settings. It runs
nothing; `running` and the engines it makes do.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from execution_engine.compiler.plan_cache import PlanCache
from execution_engine.engine import ExecutionEngine
from execution_engine.errors import WorkflowEnvironmentConfigurationError
from execution_engine.executor.failures import StepErrorHandler
from execution_engine.images.codec import ImageCodec
from execution_engine.kinds.representation import CPU, NUMPY, resolved
from execution_engine.plan import Plan
from execution_engine.profiling import WORKFLOW_COMPILATION, WorkflowsProfiler, phase
from execution_engine.registry.discovery import discover_plugins
from execution_engine.registry.init_parameters import CORE_SOURCE, core_name, core_parameter
from execution_engine.registry.registry import BlockRegistry
from execution_engine.size_limits import SizeLimits
from workflows.loading import WorkflowSource, load_definition

if TYPE_CHECKING:
    from inference_models.manager.descriptions import ModelStatus
    from inference_models.manager.dispatch import DispatcherFactory
    from inference_models.manager.manager import CallObserver, ModelManager
    from workflows.locking.checks import LockChecks
    from workflows.remote.client import RemoteServer
    from workflows.remote.models import RemoteModels
    from workflows.settings import WeftlensSettings
    from workflows.workflow import Workflow

RepresentationName = Literal["numpy", "tensor", "auto"]

MODEL_MANAGER = "model_manager"
STEP_EXECUTION_MODE = "step_execution_mode"
REMOTE = "remote"
# Settings that blocks get as constructor arguments of the same name.
_BLOCK_SETTINGS = (
    "allow_access_to_file_system",
    "allowed_write_directory",
    "allow_access_to_environmental_variables",
    "allow_custom_python",
)


class Session:
    """Blocks, plans, models and settings that many runs share. Thread-safe.

    Example:
        with Session(WeftlensSettings(allow_image_urls=True)) as session:
            run_locally("workflow.json", {"image": "https://..."}, session=session)

    Args:
        settings: what is permitted; read from the environment (`WEFTLENS_...`) when None.
        registry: the blocks to use; the core blocks and every installed plug-in when None.
        model_manager: models to use, also those of a `RemoteServer`, which the session then does
            not close; one of its own, made when a block first needs it, when None.

    Raises:
        WorkflowEnvironmentConfigurationError: the environment has a setting that cannot be used.
        PluginLoadingError, PluginInterfaceError: an installed plug-in cannot be used.
    """

    def __init__(
        self,
        settings: WeftlensSettings | None = None,
        *,
        registry: BlockRegistry | None = None,
        model_manager: ModelManager | RemoteModels | None = None,
    ) -> None:
        if settings is None:
            from workflows.settings import read_settings

            settings = read_settings()
        self.settings = settings
        self.registry = _installed_blocks() if registry is None else registry
        self.plans = PlanCache(self.registry, settings.plan_cache_size)
        self.image_codec = _image_codec(settings)
        # Both have the same face for those who run models.
        self._model_manager = cast("ModelManager | None", model_manager)
        self._owns_manager = model_manager is None
        self._model_observer: CallObserver | None = None
        self._remote: RemoteServer | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._locks: LockChecks | None = None

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def model_manager(self) -> ModelManager:
        """The models of this session; the manager is made at the first access.

        Raises:
            WorkflowEnvironmentConfigurationError: the settings name a device or a folder that
                cannot be used, or the session is closed.
        """
        self._check_open()
        with self._lock:
            if self._model_manager is None:
                self._model_manager = _new_model_manager(self.settings)
                self._model_manager.observer = self._model_observer
            return self._model_manager

    def list_models(self) -> list[ModelStatus]:
        """State of the models that were asked for so far; makes no manager."""
        with self._lock:
            manager = self._model_manager
        return [] if manager is None else manager.list_models()

    def observe_models(self, observer: CallObserver) -> None:
        """Has a function called after each call of a model, in place of an earlier one."""
        with self._lock:
            self._model_observer = observer
            remote = None if self._remote is None else self._remote.models
            for models in (self._model_manager, remote):
                if models is not None:
                    models.observer = observer

    @property
    def size_limits(self) -> SizeLimits:
        """How much one run may hold."""
        return SizeLimits(
            max_batch=self.settings.max_batch,
            max_elements=self.settings.max_elements,
            max_total_pixels=self.settings.max_total_pixels,
            max_image_bytes=self.settings.max_image_bytes,
        )

    @property
    def locks(self) -> LockChecks:
        """The checks of lock files; made at the first access."""
        with self._lock:
            if self._locks is None:
                from workflows.locking.checks import LockChecks

                self._locks = LockChecks(self)
            return self._locks

    @property
    def remote_models(self) -> RemoteModels:
        """The models of the server that the settings name; nothing is asked yet.

        Raises:
            WorkflowEnvironmentConfigurationError: they name none or one that cannot be used, or the
                session is closed.
        """
        self._check_open()
        with self._lock:
            if self._remote is None:
                from workflows.remote.host_settings import server_of_settings

                self._remote = server_of_settings(self)
                self._remote.models.observer = self._model_observer
            return self._remote.models

    def compile(
        self,
        workflow: WorkflowSource | Workflow,
        profiler: WorkflowsProfiler | None = None,
        representation: RepresentationName = NUMPY,
    ) -> Plan:
        """The plan of a workflow; equal definitions are compiled once a representation.

        Args:
            workflow: an object, JSON text, the path of a file, or a `Workflow`.
            profiler: records the phase of compilation.
            representation: see `run_locally`; `auto` goes by the device of this session's models.

        Raises:
            WorkflowEnvironmentConfigurationError: the representation needs a library that is not
                installed.
            WorkflowCompilerError: the definition has problems, all of them in `.errors`.
            NotSupportedExecutionEngineError: it asks for another engine version.
        """
        self._check_open()
        return self._compile(workflow, profiler, resolved(representation, self._device({})))

    def _compile(
        self,
        workflow: WorkflowSource | Workflow,
        profiler: WorkflowsProfiler | None,
        representation: str,
    ) -> Plan:
        definition = definition_of(workflow)
        with phase(profiler, WORKFLOW_COMPILATION):
            return self.plans.get(definition, representation)

    def engine(
        self,
        workflow: WorkflowSource | Workflow,
        *,
        max_concurrent_steps: int = 1,
        init_parameters: Mapping[str, Any] | None = None,
        profiler: WorkflowsProfiler | None = None,
        representation: RepresentationName = NUMPY,
        step_error_handler: StepErrorHandler | None = None,
        workflow_id: str | None = None,
    ) -> ExecutionEngine:
        """A workflow with block instances of its own, for many runs that share their state.

        Use it for video: trackers and counters live from here to `engine.close()`.

        Args:
            workflow: an object, JSON text, the path of a file, or a `Workflow`.
            max_concurrent_steps: how many independent steps may run at the same time.
            init_parameters: constructor arguments of blocks, as `source.name` or `name`; they win
                over the settings.
            profiler: records phases of compilation and runs.
            representation: see `run_locally`.
            step_error_handler: called with a step's name and the error it raised; may raise its
                own.
            workflow_id: id for accounting, unless the definition has its own.

        Raises:
            WorkflowEnvironmentConfigurationError: the representation needs a library that is not
                installed.
            WorkflowCompilerError: the definition has problems, all of them in `.errors`.
            NotSupportedExecutionEngineError: it asks for another engine version.
            BlockInitParameterNotProvidedError: a block needs an argument that nobody gives.
        """
        self._check_open()
        given = init_parameters or {}
        plan = self._compile(workflow, profiler, resolved(representation, self._device(given)))
        return ExecutionEngine(
            plan,
            self.registry,
            self._init_parameters(plan, given),
            max_concurrent_steps=max_concurrent_steps,
            workflow_id=workflow_id,
            profiler=profiler,
            step_error_handler=step_error_handler,
            size_limits=self.size_limits,
        )

    def close(self) -> None:
        """Drops the plans and unloads the models the session made; it cannot be used afterwards."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            manager, self._model_manager = self._model_manager, None
            remote, self._remote = self._remote, None
        self.plans.clear()
        if remote is not None:
            remote.close()
        if manager is not None and self._owns_manager:
            manager.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _device(self, given: Mapping[str, Any]) -> str:
        """Where the models of a run are, without making a manager."""
        if self.execution_mode(given) == REMOTE:
            return CPU
        manager = core_parameter(given, MODEL_MANAGER, self._model_manager)
        return self.settings.device if manager is None else str(getattr(manager, "device", CPU))

    def execution_mode(self, given: Mapping[str, Any]) -> str:
        """Where steps run their models: as asked for, else as a manager of the caller does, else as
        the settings say.
        """
        own = None if self._owns_manager else self._model_manager
        manager = core_parameter(given, MODEL_MANAGER, own)
        default = self.settings.step_execution_mode
        if manager is not None:
            default = getattr(manager, "execution_mode", "local")
        return str(core_parameter(given, STEP_EXECUTION_MODE, default))

    def _init_parameters(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        offered: dict[str, Any] = {"image_codec": self.image_codec}
        for name in _BLOCK_SETTINGS:
            offered[name] = getattr(self.settings, name)
        offered[STEP_EXECUTION_MODE] = self.execution_mode(given)
        if any(MODEL_MANAGER in step.spec.init_parameters for step in plan.steps) and not any(
            name in given for name in (MODEL_MANAGER, core_name(MODEL_MANAGER))
        ):
            own = None if self._owns_manager else self._model_manager
            remote = offered[STEP_EXECUTION_MODE] == REMOTE
            if remote and getattr(own, "execution_mode", None) != REMOTE:
                offered[MODEL_MANAGER] = self.remote_models
            else:
                offered[MODEL_MANAGER] = self.model_manager
        parameters = dict(given)
        for name, value in offered.items():
            # Both names: the qualified one wins over the plug-in's own default, which is "off";
            # the plain one reaches the blocks of other plug-ins.
            chosen = given.get(name, value)
            parameters.setdefault(core_name(name), chosen)
            parameters.setdefault(name, chosen)
        return parameters

    def _check_open(self) -> None:
        if self._closed:
            raise WorkflowEnvironmentConfigurationError(
                "This session is closed; make a new one with Session().", context="session"
            )


def definition_of(workflow: WorkflowSource | Workflow) -> Mapping[str, Any]:
    """The JSON object of a workflow given in any accepted form; errors as `load_definition`."""
    from workflows.workflow import Workflow

    if isinstance(workflow, Workflow):
        return workflow.definition
    definition: Mapping[str, Any] = load_definition(workflow).definition
    return definition


def _installed_blocks() -> BlockRegistry:
    plugins = discover_plugins()
    if not any(plugin.source == CORE_SOURCE for plugin in plugins):
        # A checkout on the path that is not installed has no entry point.
        from blocks.plugin import core_plugin

        plugins.insert(0, core_plugin())
    return BlockRegistry(plugins)


def _new_model_manager(settings: WeftlensSettings) -> ModelManager:
    from inference_models.errors import InferenceModelsError
    from inference_models.manager.manager import ModelManager
    from inference_models.shipped import shipped_models

    try:
        return ModelManager(
            model_directories=(*settings.model_directories, shipped_models()),
            max_bytes=settings.max_model_bytes,
            allow_paths=settings.allow_model_paths,
            device=settings.device,
            dispatcher=_dispatcher(settings),
        )
    except InferenceModelsError as error:
        raise WorkflowEnvironmentConfigurationError(
            f"The settings of this session do not allow models to load: {error}",
            context="session",
            inner_error=error,
        ) from error


def _dispatcher(settings: WeftlensSettings) -> DispatcherFactory | None:
    if settings.model_max_batch == 1:
        return None
    from inference_models.manager.batching import dynamic_batching

    return dynamic_batching(
        max_batch=settings.model_max_batch,
        max_delay_ms=settings.model_max_delay_ms,
        queue_size=settings.model_queue_size,
    )


def _image_codec(settings: WeftlensSettings) -> ImageCodec:
    fetch = None
    if settings.allow_image_urls:
        from workflows.image_urls import ImageUrlFetcher

        fetch = ImageUrlFetcher(settings.image_url_max_bytes, settings.image_url_timeout)
    return ImageCodec(
        allow_local_files=settings.allow_local_images,
        allow_urls=settings.allow_image_urls,
        fetch_url=fetch,
        max_pixels=settings.max_image_pixels,
    )
