"""`Session`: owns what outlives a run: blocks, compiled plans, loaded models, settings. It runs
nothing; `running` and the engines it makes do.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from execution_engine.compiler.compiler import PlanCache
from execution_engine.engine import ExecutionEngine
from execution_engine.errors import WorkflowEnvironmentConfigurationError
from execution_engine.images.codec import ImageCodec
from execution_engine.plan import Plan
from execution_engine.profiling import WORKFLOW_COMPILATION, WorkflowsProfiler
from execution_engine.registry.discovery import discover_plugins
from execution_engine.registry.registry import BlockRegistry
from workflows.loading import WorkflowSource, load_definition

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager
    from workflows.settings import WeftlensSettings
    from workflows.workflow import Workflow

CORE_SOURCE = "workflows_core"
MODEL_MANAGER = "model_manager"
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
        model_manager: models to use, which the session then does not close; one of its own, made
            when a block first needs it, when None.

    Raises:
        WorkflowEnvironmentConfigurationError: the environment has a setting that cannot be used.
        PluginLoadingError, PluginInterfaceError: an installed plug-in cannot be used.
    """

    def __init__(
        self,
        settings: WeftlensSettings | None = None,
        *,
        registry: BlockRegistry | None = None,
        model_manager: ModelManager | None = None,
    ) -> None:
        if settings is None:
            from workflows.settings import read_settings

            settings = read_settings()
        self.settings = settings
        self.registry = _installed_blocks() if registry is None else registry
        self.plans = PlanCache(self.registry, settings.plan_cache_size)
        self.image_codec = _image_codec(settings)
        self._model_manager = model_manager
        self._owns_manager = model_manager is None
        self._lock = threading.Lock()
        self._closed = False

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
            return self._model_manager

    def compile(
        self, workflow: WorkflowSource | Workflow, profiler: WorkflowsProfiler | None = None
    ) -> Plan:
        """The plan of a workflow; equal definitions are compiled once.

        Raises:
            WorkflowCompilerError: the definition has problems, all of them in `.errors`.
            NotSupportedExecutionEngineError: it asks for another engine version.
        """
        self._check_open()
        definition = definition_of(workflow)
        if profiler is None:
            return self.plans.get(definition)
        with profiler.profile_execution_phase(
            WORKFLOW_COMPILATION, ("execution_engine_operation",)
        ):
            return self.plans.get(definition)

    def engine(
        self,
        workflow: WorkflowSource | Workflow,
        *,
        max_concurrent_steps: int = 1,
        init_parameters: Mapping[str, Any] | None = None,
        profiler: WorkflowsProfiler | None = None,
    ) -> ExecutionEngine:
        """A workflow with block instances of its own, for many runs that share their state.

        Use it for video: trackers and counters live from here to `engine.close()`.

        Args:
            workflow: an object, JSON text, the path of a file, or a `Workflow`.
            max_concurrent_steps: how many independent steps may run at the same time.
            init_parameters: constructor arguments of blocks, as `source.name` or `name`; they win
                over the settings.
            profiler: records phases of compilation and runs.

        Raises:
            WorkflowCompilerError: the definition has problems, all of them in `.errors`.
            NotSupportedExecutionEngineError: it asks for another engine version.
            BlockInitParameterNotProvidedError: a block needs an argument that nobody gives.
        """
        plan = self.compile(workflow, profiler)
        own_id = plan.definition.raw.get("id")
        return ExecutionEngine(
            plan,
            self.registry,
            self._init_parameters(plan, init_parameters or {}),
            max_concurrent_steps=max_concurrent_steps,
            workflow_id=own_id if isinstance(own_id, str) else None,
            profiler=profiler,
        )

    def close(self) -> None:
        """Drops the plans and unloads the models the session made; it cannot be used afterwards."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            manager, self._model_manager = self._model_manager, None
        self.plans.clear()
        if manager is not None and self._owns_manager:
            manager.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _init_parameters(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        offered: dict[str, Any] = {"image_codec": self.image_codec}
        for name in _BLOCK_SETTINGS:
            offered[name] = getattr(self.settings, name)
        if any(MODEL_MANAGER in step.spec.init_parameters for step in plan.steps) and not any(
            name in given for name in (MODEL_MANAGER, f"{CORE_SOURCE}.{MODEL_MANAGER}")
        ):
            offered[MODEL_MANAGER] = self.model_manager
        parameters = dict(given)
        for name, value in offered.items():
            # Both names: the qualified one wins over the plug-in's own default, which is "off";
            # the plain one reaches the blocks of other plug-ins.
            chosen = given.get(name, value)
            parameters.setdefault(f"{CORE_SOURCE}.{name}", chosen)
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
        )
    except InferenceModelsError as error:
        raise WorkflowEnvironmentConfigurationError(
            f"The settings of this session do not allow models to load: {error}",
            context="session",
            inner_error=error,
        ) from error


def _image_codec(settings: WeftlensSettings) -> ImageCodec:
    fetch = None
    if settings.allow_image_urls:
        from workflows.image_sources import ImageUrlFetcher

        fetch = ImageUrlFetcher(settings.image_url_max_bytes, settings.image_url_timeout)
    return ImageCodec(
        allow_local_files=settings.allow_local_images,
        allow_urls=settings.allow_image_urls,
        fetch_url=fetch,
        max_pixels=settings.max_image_pixels,
    )
