"""Making the block instances of an engine, and closing them."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import BlockRegistry, ExecutionEngine, Plugin
from execution_engine.block_api.workflow_memory import WorkflowMemory
from execution_engine.errors import (
    BlockInitParameterNotProvidedError,
    BlockInterfaceError,
    WorkflowDefinitionError,
    WorkflowEnvironmentConfigurationError,
)
from tests.execution_engine.toy_blocks import block, run, step, toy_registry, workflow


def _store(self: Any, p: Any) -> None:
    self.p = p


def asking(name: str = "t/ask@v1", init: Any = _store) -> Any:
    """A block with a constructor argument `p` that hands it over as its output."""
    made = block(name, lambda x=0: {"out": None}, init=init)
    made.run = lambda self, x=0: {"out": getattr(self, "p", None)}  # type: ignore[method-assign]
    return made


ASK = workflow([], [step("t/ask@v1", "a")], {"o": "$steps.a.out"})


class TestInitParameters:
    """The value of a constructor argument: given or registered, under the plug-in's name or
    bare.
    """

    @pytest.mark.parametrize(
        ("given", "registered", "expected"),
        [
            ({"toys.p": 1, "p": 2}, {"p": 3}, 1),
            ({"p": 2}, {"p": 3}, 3),
            ({"p": 2}, {}, 2),
            ({}, {"p": 3}, 3),
            ({}, {"p": lambda: 4}, 4),
            ({"toys.p": None}, {"p": 3}, None),
            ({"other.p": 9, "p": 2}, {}, 2),
        ],
    )
    def test_order(self, given: Any, registered: Any, expected: Any) -> None:
        """`plugin.p` as given, `p` as the plug-in registers it (called when it can be), then `p` as
        given.
        """
        registry = BlockRegistry([Plugin("toys", blocks=(asking(),), initializers=registered)])
        assert run(ASK, registry=registry, init_parameters=given) == [{"o": expected}]

    def test_of_another_plugin(self) -> None:
        """Last comes what any other plug-in registers."""
        registry = BlockRegistry(
            [Plugin("toys", blocks=(asking(),)), Plugin("other", initializers={"p": lambda: 7})]
        )
        assert run(ASK, registry=registry) == [{"o": 7}]
        assert run(ASK, registry=registry, init_parameters={"p": 2}) == [{"o": 2}]

    def test_missing(self) -> None:
        """A missing value is an error that names step, block, parameter and what was given."""
        with pytest.raises(BlockInitParameterNotProvidedError) as caught:
            run(ASK, {}, asking(), init_parameters={"q": 1})
        assert str(caught.value) == (
            "Step 'a' (t/ask@v1) needs the init parameter 'toys.p'; given: kind_codecs, "
            "workflow_memory, q."
        )
        assert caught.value.context == "workflow_compilation | steps_initialisation"

    @pytest.mark.parametrize("name", ["kind_codecs", "workflow_memory"])
    def test_offered_by_the_engine(self, name: str) -> None:
        """The engine itself offers the codecs and a memory shared by the steps of one engine."""
        namespace: dict[str, Any] = {}
        exec(f"def init(self, {name}): self.p = {name}", namespace)
        registry = toy_registry(asking(init=namespace["init"]))
        value = run(ASK, registry=registry)[0]["o"]
        if name == "kind_codecs":
            assert value is registry.codecs
        else:
            assert isinstance(value, WorkflowMemory)

    def test_constructor_that_does_not_take_them(self) -> None:
        """A constructor that refuses its arguments is a fault of the block, named with step and
        arguments.
        """
        odd = asking(init=lambda self, p: None)
        odd.get_init_parameters = classmethod(lambda cls: ["q"])
        with pytest.raises(BlockInterfaceError) as caught:
            run(ASK, {}, odd, init_parameters={"q": 1})
        assert str(caught.value).startswith("Step 'a': ")
        assert "cannot be made with the init parameters q: " in str(caught.value)
        assert isinstance(caught.value.inner_error, TypeError)

    def test_constructor_that_raises(self) -> None:
        """Whatever else a constructor raises gets the name of the step."""

        def init(self: Any, p: Any) -> None:
            raise OSError("no such device")

        with pytest.raises(BlockInterfaceError) as caught:
            run(ASK, {}, asking(init=init), init_parameters={"p": 1})
        message = str(caught.value)
        assert message.startswith("Step 'a': ")
        assert message.endswith(" cannot be made: OSError: no such device")
        assert isinstance(caught.value.inner_error, OSError)

    def test_error_of_the_constructor_passes(self) -> None:
        """A `WorkflowError` of a constructor is raised as it is."""
        own = WorkflowEnvironmentConfigurationError("not set up")

        def init(self: Any, p: Any) -> None:
            raise own

        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            run(ASK, {}, asking(init=init), init_parameters={"p": 1})
        assert caught.value is own

    def test_instances_know_their_step(self) -> None:
        """Name, type and selector of the step are on the instance."""
        made = block("t/who@v1", lambda x=0: {"out": None})
        made.run = lambda self, x=0: {  # type: ignore[method-assign]
            "out": (
                self._workflow_step_name,
                self._workflow_step_type,
                self._workflow_step_selector,
            )  # type: ignore[attr-defined]
        }
        rows = run(workflow([], [step("t/who@v1", "me")], {"o": "$steps.me.out"}), {}, made)
        assert rows == [{"o": ("me", "t/who@v1", "$steps.me")}]


class TestState:
    def test_lasts_over_runs_of_one_engine(self) -> None:
        """What a block keeps on itself is there at the next run and gone in a new engine."""
        counter = block("t/count@v1", lambda x=0: {"out": None})

        def count(self: Any, x: Any = 0) -> dict[str, Any]:
            self.n = getattr(self, "n", 0) + 1
            return {"out": self.n}

        counter.run = count  # type: ignore[method-assign]
        definition = workflow(
            [],
            [step("t/count@v1", "a"), step("t/count@v1", "b")],
            {"a": "$steps.a.out", "b": "$steps.b.out"},
        )
        registry = toy_registry(counter)
        for _ in range(2):
            with ExecutionEngine.init(definition, registry=registry) as engine:
                assert [engine.run({}) for _ in range(2)] == [
                    [{"a": 1, "b": 1}],
                    [{"a": 2, "b": 2}],
                ]


class TestClose:
    def test_every_block_is_closed_once(self) -> None:
        """Closing twice closes each block once."""
        closed: list[str] = []
        watched = block(
            "t/c@v1",
            lambda x=0: {"out": 1},
            close=lambda self: closed.append(self._workflow_step_name),
        )
        definition = workflow([], [step("t/c@v1", "a"), step("t/c@v1", "b")])
        engine = ExecutionEngine.init(definition, registry=toy_registry(watched))
        engine.close()
        engine.close()
        assert closed == ["a", "b"]

    def test_closed_engine_is_not_run(self) -> None:
        """Running a closed engine says so."""
        engine = ExecutionEngine.init(
            workflow([], [step("constant", "c", value=1)]), registry=toy_registry()
        )
        engine.close()
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            engine.run({})
        assert str(caught.value) == (
            "This engine is closed; make a new one with ExecutionEngine.init(...)."
        )

    def test_all_are_closed_when_one_fails(self) -> None:
        """The first error of closing is raised after every block was closed."""
        closed: list[str] = []

        def close(self: Any) -> None:
            closed.append(self._workflow_step_name)
            raise ValueError(self._workflow_step_name)

        watched = block("t/c@v1", lambda x=0: {"out": 1}, close=close)
        definition = workflow([], [step("t/c@v1", "a"), step("t/c@v1", "b")])
        with pytest.raises(ValueError, match=r"^a$"):
            ExecutionEngine.init(definition, registry=toy_registry(watched)).close()
        assert closed == ["a", "b"]

    def test_failure_part_way_closes_what_was_made(self) -> None:
        """When a later block cannot be made, the earlier ones are closed and the failure is
        raised.
        """
        closed: list[str] = []
        watched = block(
            "t/c@v1",
            lambda x=0: {"out": 1},
            close=lambda self: closed.append(self._workflow_step_name),
        )
        definition = workflow([], [step("t/c@v1", "a"), step("t/ask@v1", "b"), step("t/c@v1", "c")])
        with pytest.raises(BlockInitParameterNotProvidedError):
            run(definition, {}, watched, asking())
        assert closed == ["a"]

    def test_failure_of_closing_does_not_hide_the_first(self) -> None:
        """When closing fails as well, the first failure is raised with a note of the second."""

        def close(self: Any) -> None:
            raise ValueError("stuck")

        watched = block("t/c@v1", lambda x=0: {"out": 1}, close=close)
        definition = workflow([], [step("t/c@v1", "a"), step("t/ask@v1", "b")])
        with pytest.raises(BlockInitParameterNotProvidedError) as caught:
            run(definition, {}, watched, asking())
        assert caught.value.__notes__ == ["Closing the blocks made before failed too: stuck"]

    def test_nothing_is_made_of_a_faulty_definition(self) -> None:
        """Blocks are made only after every check."""
        made: list[Any] = []

        def init(self: Any, p: Any) -> None:
            made.append(p)

        definition = workflow([], [step("t/ask@v1", "a"), step("t/ask@v1", "a")])
        with pytest.raises(WorkflowDefinitionError):
            run(definition, {}, asking(init=init), init_parameters={"p": 1})
        assert made == []
