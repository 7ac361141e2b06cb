"""Sessions: plans, engines, models, settings."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from execution_engine import BlockRegistry, ChromeTraceProfiler, Plugin
from execution_engine.block_api import OutputDefinition, WorkflowBlock, WorkflowBlockManifest
from execution_engine.errors import (
    RuntimeInputError,
    WorkflowEnvironmentConfigurationError,
    WorkflowSyntaxError,
)
from inference_models.manager import BatchingDispatcher
from inference_models.shipped import shipped_models
from workflows import Session, WeftlensSettings, Workflow
from workflows.session import definition_of


class ShowManifest(WorkflowBlockManifest):
    """A step without fields."""

    type: Literal["toy/show@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("seen")]


SHOW = {
    "version": "1.0",
    "inputs": [],
    "steps": [{"type": "toy/show@v1", "name": "show"}],
    "outputs": [{"type": "JsonField", "name": "seen", "selector": "$steps.show.seen"}],
}


def showing(*names: str, source: str = "toy", **initializers: Any) -> BlockRegistry:
    """A registry whose one block gives back the constructor arguments `names` it was made with."""

    class Show(WorkflowBlock):
        returns_futures = False

        def __init__(self, **given: Any) -> None:
            self.given = given

        @classmethod
        def get_init_parameters(cls) -> list[str]:
            return list(names)

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return ShowManifest

        def run(self) -> dict[str, Any]:
            return {"seen": self.given}

    return BlockRegistry([Plugin(source, blocks=(Show,), initializers=initializers)])


def shown(session: Session, **init_parameters: Any) -> dict[str, Any]:
    """What the block of `showing` was made with."""
    with session.engine(SHOW, init_parameters=init_parameters) as engine:
        seen: dict[str, Any] = engine.run({})[0]["seen"]
        return seen


class Manager:
    """Stands for a model manager."""

    def __init__(self, **given: Any) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class ManagerArguments(dict[str, Any]):
    """In place of a manager: what it was made with."""


class TestCompile:
    def test_equal_definitions_are_compiled_once(
        self, session: Session, blur_definition: dict[str, Any], workflow_file: Path
    ) -> None:
        """An object, its file, its text and a `Workflow` of it share one plan."""
        plan = session.compile(blur_definition)
        assert session.compile(workflow_file) is plan
        assert session.compile(str(workflow_file)) is plan
        assert session.compile(workflow_file.read_text(encoding="utf-8")) is plan
        assert session.compile(Workflow.load(workflow_file, session=session)) is plan
        assert (session.plans.misses, session.plans.hits) == (1, 4)

    def test_the_cache_has_the_size_of_the_settings(self, blur_definition: dict[str, Any]) -> None:
        """With room for one plan, the second definition drops the first."""
        with Session(WeftlensSettings(plan_cache_size=1)) as session:
            for number in (1, 2, 1):
                session.compile({**blur_definition, "note": number})
            assert session.plans.misses == 3

    def test_a_profiler_sees_the_compilation(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """The phase has the name that traces of this engine use."""
        profiler = ChromeTraceProfiler()
        session.compile(blur_definition, profiler)
        assert [event["name"] for event in profiler.export_trace()] == ["workflow_compilation"]

    def test_problems_are_raised(self, session: Session) -> None:
        """A faulty definition is refused with all its problems."""
        with pytest.raises(WorkflowSyntaxError) as caught:
            session.compile({"version": "1.0"})
        assert [problem.where for problem in caught.value.errors] == [
            "/inputs",
            "/steps",
            "/outputs",
        ]


class TestEngine:
    def test_state_lasts_as_long_as_the_engine(
        self, session: Session, remembering_definition: dict[str, Any]
    ) -> None:
        """What a step stores is found by the next run of one engine; a new engine starts fresh."""
        frame = np.zeros((4, 4, 3), np.uint8)
        with session.engine(remembering_definition) as engine:
            first = engine.run({"image": frame, "value": 5})
            second = engine.run({"image": frame, "value": 6})
        with session.engine(remembering_definition) as engine:
            fresh = engine.run({"image": frame, "value": 7})
        assert first == [{"before": False}]
        assert second == [{"before": 5}]
        assert fresh == [{"before": False}]

    def test_the_id_of_the_definition_is_kept(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """A definition's own id names the workflow; one that is no text does not."""
        with session.engine({**blur_definition, "id": "blur-1"}) as engine:
            assert engine.workflow_id == "blur-1"
        with session.engine({**blur_definition, "id": 3}) as engine:
            assert engine.workflow_id is None

    def test_blocks_of_the_core_get_the_settings(self) -> None:
        """What the settings permit reaches the core's blocks against its own default of "off"."""
        registry = showing(
            "allow_custom_python",
            "allowed_write_directory",
            source="workflows_core",
            allow_custom_python=False,
            allowed_write_directory=None,
        )
        settings = WeftlensSettings(allow_custom_python=True, allowed_write_directory=Path("/w"))
        with Session(settings, registry=registry) as session:
            assert shown(session) == {
                "allow_custom_python": True,
                "allowed_write_directory": Path("/w"),
            }

    def test_blocks_of_other_plugins_get_the_settings(self) -> None:
        """A plug-in without a value of its own gets that of the settings; its own value stays."""
        with Session(WeftlensSettings(), registry=showing("allow_custom_python")) as session:
            assert shown(session) == {"allow_custom_python": False}
        own = showing("allow_custom_python", allow_custom_python="own")
        with Session(WeftlensSettings(), registry=own) as session:
            assert shown(session) == {"allow_custom_python": "own"}

    @pytest.mark.parametrize("name", ["allow_custom_python", "workflows_core.allow_custom_python"])
    def test_given_parameters_win(self, name: str) -> None:
        """An init parameter of the caller wins over the settings under both names."""
        registry = showing("allow_custom_python", source="workflows_core", allow_custom_python=0)
        with Session(WeftlensSettings(), registry=registry) as session:
            assert shown(session, **{name: "given"}) == {"allow_custom_python": "given"}

    def test_the_model_manager_is_made_for_blocks_that_need_it(self) -> None:
        """A workflow without models makes no manager; one with models makes one, kept for all."""
        with Session(WeftlensSettings(), registry=showing()) as session:
            shown(session)
            assert session._model_manager is None
        with Session(WeftlensSettings(), registry=showing("model_manager")) as session:
            first = shown(session)["model_manager"]
            assert type(first).__name__ == "ModelManager"
            assert shown(session)["model_manager"] is first
            assert session.model_manager is first

    def test_a_given_manager_is_used_and_left_open(self) -> None:
        """The session closes only what it made."""
        manager: Any = Manager()
        registry = showing("model_manager")
        with Session(WeftlensSettings(), registry=registry, model_manager=manager) as session:
            assert shown(session) == {"model_manager": manager}
        assert not manager.closed

    def test_a_manager_among_the_parameters(self) -> None:
        """A manager given as init parameter spares the session making one."""
        with Session(WeftlensSettings(), registry=showing("model_manager")) as session:
            assert shown(session, model_manager="mine") == {"model_manager": "mine"}
            assert session._model_manager is None

    def test_settings_of_models_reach_the_manager(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Folders, limits and device are those of the settings; shipped models come last."""
        monkeypatch.setattr("inference_models.manager.manager.ModelManager", ManagerArguments)
        settings = WeftlensSettings(
            model_directories=(tmp_path,), max_model_bytes=5, allow_model_paths=False, device="cuda"
        )
        session = Session(settings)
        assert session.model_manager == {
            "model_directories": (tmp_path, shipped_models()),
            "max_bytes": 5,
            "allow_paths": False,
            "device": "cuda",
            "dispatcher": None,
        }

    def test_calls_of_models_are_joined_where_the_settings_say_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Batches are off by default; their size, delay and queue are those of the settings."""
        monkeypatch.setattr("inference_models.manager.manager.ModelManager", ManagerArguments)
        settings = WeftlensSettings(model_max_batch=4, model_max_delay_ms=0.5, model_queue_size=9)
        dispatcher = Session(settings).model_manager["dispatcher"]
        assert dispatcher.func is BatchingDispatcher
        assert dispatcher.keywords == {"max_batch": 4, "max_delay_ms": 0.5, "queue_size": 9}

    def test_local_images_can_be_forbidden(
        self, blur_definition: dict[str, Any], picture_file: Path
    ) -> None:
        """The settings decide whether a path is read."""
        settings = WeftlensSettings(allow_local_images=False)
        with (
            Session(settings) as session,
            session.engine(blur_definition) as engine,
            pytest.raises(RuntimeInputError, match="not permitted"),
        ):
            engine.run({"image": picture_file})

    def test_pixels_are_limited(self, blur_definition: dict[str, Any], picture_file: Path) -> None:
        """An image above `max_image_pixels` is refused before it is decoded."""
        with (
            Session(WeftlensSettings(max_image_pixels=100)) as session,
            session.engine(blur_definition) as engine,
            pytest.raises(RuntimeInputError, match="at most 100 px"),
        ):
            engine.run({"image": picture_file})

    def test_urls_are_off(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """An address is refused unless the settings allow addresses."""
        with (
            session.engine(blur_definition) as engine,
            pytest.raises(RuntimeInputError, match="does not permit loading images from URLs"),
        ):
            engine.run({"image": "http://example.org/a.png"})

    def test_allowed_urls_reach_public_addresses_only(
        self, blur_definition: dict[str, Any]
    ) -> None:
        """With addresses allowed, one of this machine is still refused."""
        with (
            Session(WeftlensSettings(allow_image_urls=True)) as session,
            session.engine(blur_definition) as engine,
            pytest.raises(RuntimeInputError, match="only public addresses are fetched"),
        ):
            engine.run({"image": "http://127.0.0.1/a.png"})


class TestClose:
    def test_nothing_works_afterwards(self, blur_definition: dict[str, Any]) -> None:
        """A closed session says so; closing twice does no harm."""
        session = Session(WeftlensSettings())
        session.close()
        session.close()
        assert session.closed
        for use in (
            lambda: session.compile(blur_definition),
            lambda: session.engine(blur_definition),
            lambda: session.model_manager,
        ):
            with pytest.raises(WorkflowEnvironmentConfigurationError, match="session is closed"):
                use()

    def test_its_own_models_are_unloaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The manager the session made is closed with it."""
        monkeypatch.setattr("inference_models.manager.manager.ModelManager", Manager)
        session = Session(WeftlensSettings())
        manager: Any = session.model_manager
        session.close()
        assert manager.closed


class TestSession:
    def test_settings_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without settings, the variables of the process count."""
        monkeypatch.setenv("WEFTLENS_PLAN_CACHE_SIZE", "3")
        with Session() as session:
            assert session.settings.plan_cache_size == 3

    def test_core_blocks_need_no_installation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a checkout without entry points the core blocks are there all the same."""
        monkeypatch.setattr("workflows.session.discover_plugins", list)
        with Session(WeftlensSettings()) as session:
            assert session.registry.spec("roboflow_core/image_blur@v1") is not None

    def test_several_threads_share_one_manager(self) -> None:
        """Threads that ask at the same time get the same manager."""
        with Session(WeftlensSettings()) as session:
            found: list[Any] = []
            threads = [
                threading.Thread(target=lambda: found.append(session.model_manager))
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({id(manager) for manager in found}) == 1

    def test_a_device_that_cannot_be_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fault of the model library becomes an error of the settings."""
        from inference_models.errors import EnvironmentConfigurationError

        def refuse(**given: Any) -> Any:
            raise EnvironmentConfigurationError("no such device: cuda:7")

        monkeypatch.setattr("inference_models.manager.manager.ModelManager", refuse)
        with (
            Session(WeftlensSettings(device="cuda:7")) as session,
            pytest.raises(WorkflowEnvironmentConfigurationError, match="no such device: cuda:7"),
        ):
            _ = session.model_manager


class TestDefinitionOf:
    def test_every_form(self, blur_definition: dict[str, Any], workflow_file: Path) -> None:
        """Object, path and `Workflow` give equal definitions."""
        assert definition_of(blur_definition) is blur_definition
        assert definition_of(workflow_file) == blur_definition
        assert definition_of(Workflow(blur_definition)) == blur_definition
