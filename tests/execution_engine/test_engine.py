"""`ExecutionEngine`: what a host can set, and what it gets."""

from __future__ import annotations

import base64
import inspect
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import execution_engine
from execution_engine import ENGINE_VERSION, ChromeTraceProfiler, ExecutionEngine, PlanCache
from execution_engine.block_api import Selector
from execution_engine.errors import (
    ExecutionEngineNotImplementedError,
    RuntimeInputError,
    WorkflowEnvironmentConfigurationError,
    WorkflowSyntaxError,
)
from execution_engine.images.codec import ImageCodec
from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

ECHO = workflow([batch_input("x")], [step("pass", "p", x="$inputs.x")], {"o": "$steps.p.out"})


class TestInit:
    def test_signature_of_the_wider_ecosystem(self) -> None:
        """Arguments that hosts know have their names, order and defaults; our own are
        keyword-only.
        """
        parameters = inspect.signature(ExecutionEngine.init).parameters
        assert [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY] == [
            "workflow_definition",
            "init_parameters",
            "max_concurrent_steps",
            "prevent_local_images_loading",
            "workflow_id",
            "profiler",
            "executor",
            "step_error_handler",
            "dependencies_pre_init",
        ]
        run_parameters = inspect.signature(ExecutionEngine.run).parameters
        assert [name for name, p in run_parameters.items() if p.kind is not p.KEYWORD_ONLY] == [
            "self",
            "runtime_parameters",
            "fps",
            "_is_preview",
            "serialize_results",
            "defer_stream_pipeline_flush",
            "resolve_output_futures",
        ]

    def test_public_names(self) -> None:
        """Everything in `__all__` is there."""
        assert all(hasattr(execution_engine, name) for name in execution_engine.__all__)
        assert len(set(execution_engine.__all__)) == len(execution_engine.__all__)

    def test_discovers_blocks_when_no_registry_is_given(self) -> None:
        """Without a registry the installed plug-ins are used."""
        with pytest.raises(WorkflowSyntaxError, match="unknown type 'toy/pass@v1'"):
            ExecutionEngine.init(ECHO)
        with ExecutionEngine.init(workflow([batch_input("x")], [], {"o": "$inputs.x"})) as engine:
            assert engine.run({"x": 1}) == [{"o": 1}]

    def test_plan_cache_brings_its_registry(self) -> None:
        """With a cache of plans, its registry is used."""
        cache = PlanCache(toy_registry())
        with ExecutionEngine.init(ECHO, plan_cache=cache) as engine:
            assert engine.run({"x": 1}) == [{"o": 1}]

    @pytest.mark.parametrize(
        ("own", "given", "expected"),
        [("a", "b", "a"), (None, "b", "b"), (5, "b", "b"), (None, None, None)],
    )
    def test_workflow_id(self, own: Any, given: Any, expected: Any) -> None:
        """The definition's own id wins over the host's."""
        definition = {**ECHO, **({} if own is None else {"id": own})}
        engine = ExecutionEngine.init(definition, workflow_id=given, registry=toy_registry())
        assert engine.workflow_id == expected

    def test_versions(self) -> None:
        """The engine says which version it serves: generation 1, at least 1.17."""
        assert ExecutionEngine.get_available_versions() == [ENGINE_VERSION]
        major, minor, _ = map(int, ENGINE_VERSION.split("."))
        assert major == 1
        assert minor >= 17

    def test_init_parameters_are_not_changed(self) -> None:
        """The host's dictionary stays as it is."""
        given = {"a": 1}
        ExecutionEngine.init(ECHO, given, registry=toy_registry())
        assert given == {"a": 1}

    def test_context_manager(self) -> None:
        """Leaving the `with` block closes the engine."""
        with ExecutionEngine.init(ECHO, registry=toy_registry()) as engine:
            pass
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="closed"):
            engine.run({"x": 1})


class TestImageSources:
    DEFINITION = workflow([{"type": "WorkflowImage", "name": "image"}], [], {"o": "$inputs.image"})

    def test_policy_of_the_host(self, tmp_path: Path) -> None:
        """The init parameter `image_codec` says what is permitted; the engine can forbid local
        files on top.
        """
        path = tmp_path / "a.png"
        cv2.imwrite(str(path), np.full((3, 5, 3), 7, np.uint8))
        inputs = {"image": {"type": "file", "value": str(path)}}
        for name in ("image_codec", "workflows_core.image_codec"):
            policy = {name: ImageCodec(allow_local_files=True)}
            with ExecutionEngine.init(self.DEFINITION, policy, registry=toy_registry()) as engine:
                assert engine.run(inputs)[0]["o"].size == (3, 5)
            with (
                ExecutionEngine.init(
                    self.DEFINITION,
                    policy,
                    prevent_local_images_loading=True,
                    registry=toy_registry(),
                ) as engine,
                pytest.raises(RuntimeInputError, match="local files is not permitted"),
            ):
                engine.run(inputs)

    @pytest.mark.parametrize(
        "value", ["http://example.com/a.jpg", "/etc/hostname", "not base64!", "", b"\x00", 5, None]
    )
    def test_default_refuses(self, value: Any) -> None:
        """Without a policy neither URLs nor files are read, and what is no image is refused."""
        with pytest.raises(RuntimeInputError):
            run(self.DEFINITION, {"image": value})

    def test_text_of_an_untouched_image_is_reused(self) -> None:
        """An image that came as base64 and was never changed goes out as the same text."""
        encoded = base64.b64encode(cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1]).decode()
        rows = run(self.DEFINITION, {"image": encoded}, serialize_results=True)
        assert rows[0]["o"]["value"] == encoded


class Manager:
    """A model manager that notes what is to be loaded."""

    def __init__(self, fail: bool = False) -> None:
        self.loaded: list[str] = []
        self.fail = fail

    def warm_up(self, model_id: str) -> None:
        """Notes the id."""
        if self.fail:
            raise OSError("no such model")
        self.loaded.append(model_id)


def model_block(closed: list[str] | None = None) -> Any:
    """A block with a model id."""
    return block(
        "t/model@v1",
        lambda model_id, x=0: {"out": model_id},
        fields={"model_id": Selector(kind=[ROBOFLOW_MODEL_ID_KIND]) | str},
        close=None if closed is None else lambda self: closed.append(self._workflow_step_name),
    )


class TestPreload:
    NAMES = ("roboflow_platform_model",)
    DEFINITION = workflow(
        [parameter("m", kind=["roboflow_model_id"]), parameter("other"), batch_input("x")],
        [
            step("t/model@v1", "a", model_id="some/1"),
            step("t/model@v1", "b", model_id="$inputs.m"),
            step("pass", "c", x="$inputs.other"),
        ],
        {"b": "$steps.b.out"},
    )

    def _engine(
        self, manager: Any, names: Any = NAMES, closed: list[str] | None = None
    ) -> ExecutionEngine:
        return ExecutionEngine.init(
            self.DEFINITION,
            {} if manager is None else {"model_manager": manager},
            dependencies_pre_init=names,
            registry=toy_registry(model_block(closed)),
        )

    def test_written_ids_now_and_parameters_at_the_first_run(self) -> None:
        """Models that are written down load at once, those that are parameters with their first
        value.
        """
        manager = Manager()
        engine = self._engine(manager)
        assert manager.loaded == ["some/1"]
        engine.run({"m": "other/2", "x": 1, "other": "no/3"})
        engine.run({"m": "late/4", "x": 1})
        assert manager.loaded == ["some/1", "other/2"]

    def test_parameter_without_a_value(self) -> None:
        """A parameter that is not text loads nothing."""
        manager = Manager()
        with pytest.raises(RuntimeInputError):
            self._engine(manager).run({"x": 1})
        assert manager.loaded == ["some/1"]

    def test_needs_a_manager(self) -> None:
        """Without a manager there is nothing to load with; blocks made so far are closed."""
        closed: list[str] = []
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            self._engine(None, closed=closed)
        assert str(caught.value) == (
            "dependencies_pre_init needs the init parameter 'model_manager' to load models with."
        )
        assert closed == ["a", "b"]

    def test_unknown_dependency(self) -> None:
        """Only models can be loaded beforehand."""
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            self._engine(Manager(), ["coffee", "roboflow_platform_model", "tea"])
        assert str(caught.value) == (
            "dependencies_pre_init knows roboflow_platform_model, got coffee, tea."
        )

    def test_model_that_cannot_be_loaded(self) -> None:
        """The failure is raised and the blocks are closed."""
        closed: list[str] = []
        with pytest.raises(OSError, match="no such model"):
            self._engine(Manager(fail=True), closed=closed)
        assert closed == ["a", "b"]

    def test_nothing_asked_nothing_loaded(self) -> None:
        """Without the option the manager is left alone."""
        manager = Manager()
        self._engine(manager, None).run({"m": "other/2", "x": 1})
        assert manager.loaded == []


class TestStreamPipeline:
    def test_nothing_is_held_back(self) -> None:
        """Blocks that answer at once have nothing to drain."""
        with ExecutionEngine.init(ECHO, registry=toy_registry()) as engine:
            assert engine.flush_stream_pipeline({"x": 1}) == []
            assert engine.run({"x": 1}, defer_stream_pipeline_flush=True) == [{"o": 1}]

    @pytest.mark.parametrize("pipelined", [True, False])
    def test_pipelined_block_of_a_plugin(self, pipelined: bool) -> None:
        """A block that answers for earlier frames cannot be drained, and that is said."""
        made = block("t/piped@v1", lambda x: {"out": x})
        made.is_stream_pipelined = lambda self: pipelined  # type: ignore[attr-defined]
        definition = workflow([], [step("t/piped@v1", "p", x=1)])
        with ExecutionEngine.init(definition, registry=toy_registry(made)) as engine:
            if not pipelined:
                assert engine.flush_stream_pipeline({}) == []
                return
            with pytest.raises(ExecutionEngineNotImplementedError) as caught:
                engine.flush_stream_pipeline({})
        assert str(caught.value) == (
            "Step 'p' (t/piped@v1) answers for earlier frames; draining such steps is not "
            "supported."
        )


class TestProfiling:
    def _trace(self, workers: int = 1, runs: int = 1, fail: bool = False) -> list[dict[str, Any]]:
        profiler = ChromeTraceProfiler()
        definition = workflow(
            [batch_input("x"), parameter("p", 1)],
            [
                step("add", "a", a="$inputs.x", b="$inputs.p"),
                step("t/inv@v1", "i", x="$steps.a.out"),
                step("pass", "q", x="$inputs.x"),
            ],
            {"o": "$steps.i.out"},
        )
        engine = ExecutionEngine.init(
            definition,
            max_concurrent_steps=workers,
            profiler=profiler,
            registry=toy_registry(block("t/inv@v1", lambda x: {"out": 1 / x})),
            workflow_id="abc",
        )
        for _ in range(runs):
            if fail:
                with pytest.raises(Exception, match="division by zero"):
                    engine.run({"x": -1})
            else:
                engine.run({"x": 3}, _is_preview=True)
        return profiler.export_trace()

    @pytest.mark.parametrize("workers", [1, 3])
    def test_trace_is_valid_chrome_json(self, workers: int) -> None:
        """Every event has what trace viewers need, times grow, and begins match ends."""
        trace = json.loads(json.dumps(self._trace(workers, runs=2)))
        for event in trace:
            assert event["ph"] in "BEXI"
            assert isinstance(event["name"], str)
            assert isinstance(event["pid"], int)
            assert isinstance(event["tid"], int)
            assert isinstance(event["ts"], (int, float))
            assert ("dur" in event) == (event["ph"] == "X")
            assert event.get("dur", 0) >= 0
        times = [event["ts"] for event in trace]
        assert times == sorted(times)
        open_runs: list[str] = []
        for event in trace:
            if event["ph"] == "B":
                open_runs.append(event["args"]["workflow_run_id"])
            elif event["ph"] == "E":
                assert open_runs.pop() == event["args"]["workflow_run_id"]
        assert open_runs == []

    def test_phases(self) -> None:
        """Compilation, initialisation, inputs, checks, each step and the response are there once a
        run.
        """
        trace = self._trace()
        names = [event["name"] for event in trace if event["ph"] == "X"]
        assert sorted(names) == [
            "outputs_construction",
            "runtime_input_validation",
            *["step_execution"] * 3,
            "steps_initialisation",
            "workflow_compilation",
            "workflow_execution",
            "workflow_input_assembly",
        ]
        steps = [event["args"] for event in trace if event["name"] == "step_execution"]
        assert [item["step"] for item in steps] == ["a", "i", "q"]
        assert steps[0]["type"] == "toy/add@v1"
        (settings,) = [event["args"] for event in trace if event["name"] == "run_settings"]
        assert settings == {
            "workflow_id": "abc",
            "is_preview": True,
            "stream_flush_deferred": False,
        }

    def test_checks_of_parameters(self) -> None:
        """Checking parameters is a phase of its own where there is something to check."""
        profiler = ChromeTraceProfiler()
        sized = block("t/sized@v1", lambda n: {"out": n}, fields={"n": Selector() | int})
        definition = workflow([parameter("p", 1)], [step("t/sized@v1", "s", n="$inputs.p")])
        ExecutionEngine.init(definition, profiler=profiler, registry=toy_registry(sized)).run({})
        assert "runtime_input_validation" in [event["name"] for event in profiler.export_trace()]

    def test_failed_run_is_closed(self) -> None:
        """The trace of a failed run ends like any other."""
        trace = self._trace(fail=True)
        assert [event["ph"] for event in trace if event["name"] == "workflow_run"] == ["B", "E"]
        assert "step_execution" in [event["name"] for event in trace]

    def test_result_is_the_same(self) -> None:
        """Profiling changes no result."""
        with ExecutionEngine.init(
            ECHO, registry=toy_registry(), profiler=ChromeTraceProfiler()
        ) as engine:
            assert engine.run({"x": [1, 2]}) == [{"o": 1}, {"o": 2}]
