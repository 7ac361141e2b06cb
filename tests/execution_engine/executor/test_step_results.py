"""What a block must return, and what its failures become."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import ExecutionEngine
from execution_engine.errors import (
    ExecutionEngineRuntimeError,
    InvalidBlockBehaviourError,
    RuntimeInputError,
    StepExecutionError,
    WorkflowEnvironmentConfigurationError,
)
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

EACH = workflow([batch_input("x")], [step("t/b@v1", "s", x="$inputs.x")], {"o": "$steps.s.out"})
ONCE = workflow([parameter("x", 1)], [step("t/b@v1", "s", x="$inputs.x")], {"o": "$steps.s.out"})


def returning(result: Any, **hooks: Any) -> Any:
    """A block that returns the same whatever it gets."""
    return block("t/b@v1", lambda x: result, **hooks)


class TestContract:
    @pytest.mark.parametrize("definition", [EACH, ONCE], ids=["each", "once"])
    @pytest.mark.parametrize(
        ("result", "error", "message"),
        [
            (
                None,
                InvalidBlockBehaviourError,
                "must return an object with its outputs out, got NoneType.",
            ),
            (
                [1, 2],
                InvalidBlockBehaviourError,
                "must return an object with its outputs out, got list.",
            ),
            ({}, ExecutionEngineRuntimeError, "declares the outputs out; its result lacks out."),
            (
                {"out": 1, "more": 2, 3: 4},
                ExecutionEngineRuntimeError,
                "declares the outputs out; its result has more, 3 too many.",
            ),
            (
                {"Out": 1},
                ExecutionEngineRuntimeError,
                "declares the outputs out; its result lacks out and has Out too many.",
            ),
        ],
    )
    def test_one_object(
        self, definition: Any, result: Any, error: type[Exception], message: str
    ) -> None:
        """A call returns one object with exactly the declared outputs."""
        with pytest.raises(error) as caught:
            run(definition, {"x": [1]} if definition is EACH else {}, returning(result))
        assert str(caught.value) == f"Step 's' (t/b@v1) {message}"

    def test_no_outputs(self) -> None:
        """A block without outputs returns an empty object."""
        definition = workflow([], [step("t/b@v1", "s", x=1)], {"o": "$steps.s.*"})
        assert run(definition, {}, returning({}, outputs=())) == [{"o": {}}]
        with pytest.raises(ExecutionEngineRuntimeError) as caught:
            run(definition, {}, returning({"a": 1}, outputs=()))
        assert str(caught.value) == (
            "Step 's' (t/b@v1) declares the outputs none; its result has a too many."
        )

    @pytest.mark.parametrize(
        ("result", "error", "message"),
        [
            (
                {"out": 1},
                InvalidBlockBehaviourError,
                "works on batches and must return a list, got dict.",
            ),
            ([], ExecutionEngineRuntimeError, "got 2 elements and returned 0 results."),
            (
                [{"out": 1}] * 3,
                ExecutionEngineRuntimeError,
                "got 2 elements and returned 3 results.",
            ),
            (
                [{"out": 1}, None],
                InvalidBlockBehaviourError,
                "must return an object with its outputs out, got NoneType.",
            ),
        ],
    )
    def test_batch(self, result: Any, error: type[Exception], message: str) -> None:
        """A batch call returns a list with one object an element."""
        with pytest.raises(error) as caught:
            run(EACH, {"x": [1, 2]}, returning(result, batches=("x",)))
        assert str(caught.value) == f"Step 's' (t/b@v1) {message}"

    @pytest.mark.parametrize(
        ("result", "error", "message"),
        [
            (
                {"out": 1},
                InvalidBlockBehaviourError,
                "makes several elements of one and must return a list of objects, got dict.",
            ),
            (
                [{"out": 1}, 5],
                InvalidBlockBehaviourError,
                "must return an object with its outputs out, got int.",
            ),
            ([{}], ExecutionEngineRuntimeError, "declares the outputs out; its result lacks out."),
        ],
    )
    @pytest.mark.parametrize("definition", [EACH, ONCE], ids=["each", "once"])
    def test_children(
        self, definition: Any, result: Any, error: type[Exception], message: str
    ) -> None:
        """A step that makes several elements of one returns a list of objects."""
        with pytest.raises(error) as caught:
            run(
                definition,
                {"x": [1]} if definition is EACH else {},
                returning(result, output_offset=1),
            )
        assert str(caught.value) == f"Step 's' (t/b@v1) {message}"

    def test_one_child_of_a_lone_step(self) -> None:
        """A list of one child is not taken for the list of a batch call."""
        assert run(ONCE, {}, returning([{"out": 5}], output_offset=1)) == [{"o": [5]}]
        assert run(ONCE, {}, returning([[{"out": 5}]], output_offset=1, batches=("x",))) == [
            {"o": [5]}
        ]
        assert run(ONCE, {}, returning([[]], output_offset=1, batches=("x",))) == [{"o": []}]

    def test_subclasses_of_dict_are_no_objects(self) -> None:
        """The result must be a plain dict: what else looks like one is refused with its type."""

        class Row(dict):  # type: ignore[type-arg]
            pass

        with pytest.raises(ExecutionEngineRuntimeError):
            run(ONCE, {}, returning(Row(other=1)))


class TestFailures:
    def test_any_error_becomes_a_step_execution_error(self) -> None:
        """Text, step, block, inner error and the line of the block's code are kept."""

        def work(x: Any) -> Any:
            raise KeyError("missing thing")

        with pytest.raises(StepExecutionError) as caught:
            run(EACH, {"x": [1]}, block("t/b@v1", work))
        error = caught.value
        assert str(error) == "'missing thing'"
        assert error.context == "workflow_execution | step_execution"
        assert (error.block_id, error.block_type) == ("s", "t/b@v1")
        assert isinstance(error.inner_error, KeyError)
        assert error.__cause__ is error.inner_error
        assert error.inner_error_type == "KeyError"
        trace = error.block_traceback
        assert trace is not None
        assert trace.code_snippet == 'raise KeyError("missing thing")'
        assert "test_step_results.py" in trace.traceback
        assert trace.error_line is not None

    @pytest.mark.parametrize("mode", ["each", "once", "batch"])
    def test_in_every_mode(self, mode: str) -> None:
        """Element-wise, lone and batch calls fail alike; an error without text gives its class."""

        def work(x: Any) -> Any:
            raise ValueError

        faulty = block("t/b@v1", work, batches=("x",) if mode == "batch" else ())
        with pytest.raises(StepExecutionError) as caught:
            run(ONCE if mode == "once" else EACH, {"x": [1, 2]}, faulty)
        assert str(caught.value) == "ValueError"

    def test_sources_are_noted(self) -> None:
        """A note on the error says where the step takes its values from; a step of literals has
        none.
        """

        def work(x: Any, y: Any) -> Any:
            raise ValueError("bad")

        faulty = block("t/b@v1", work)
        definitions = (
            workflow([batch_input("x")], [step("t/b@v1", "s", x="$inputs.x", y="$$5")]),
            workflow([], [step("t/b@v1", "s", x=1, y=2)]),
        )
        notes = []
        for definition in definitions:
            with pytest.raises(StepExecutionError) as caught:
                run(definition, {"x": 1}, faulty)
            notes.append(getattr(caught.value, "__notes__", []))
        assert notes == [["Step 's' takes x from $inputs.x."], []]

    def test_errors_of_the_engine_pass_unchanged(self) -> None:
        """A `WorkflowError` from a block is not wrapped, in any mode."""
        own = RuntimeInputError("mine")

        def work(x: Any) -> Any:
            raise own

        for definition, batches in ((EACH, ()), (ONCE, ()), (EACH, ("x",))):
            with pytest.raises(RuntimeInputError) as caught:
                run(definition, {"x": [1]}, block("t/b@v1", work, batches=batches))
            assert caught.value is own

    def test_interrupts_pass(self) -> None:
        """What is no `Exception` (such as an interrupt) is not wrapped."""

        def work(x: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(EACH, {"x": [1]}, block("t/b@v1", work))


class TestErrorHandler:
    def _engine(self, handler: Any) -> ExecutionEngine:
        def work(x: Any) -> Any:
            raise ValueError("bad")

        return ExecutionEngine.init(
            EACH, registry=toy_registry(block("t/b@v1", work)), step_error_handler=handler
        )

    def test_sees_name_and_error(self) -> None:
        """A handler that returns leaves the wrapping to the engine."""
        seen: list[Any] = []
        with pytest.raises(StepExecutionError):
            self._engine(lambda name, error: seen.append((name, repr(error)))).run({"x": 1})
        assert seen == [("s", "ValueError('bad')")]

    def test_may_raise_its_own(self) -> None:
        """What a handler raises leaves the engine."""

        class TooMany(Exception):
            pass

        def handler(name: str, error: Exception) -> None:
            raise TooMany(name) from error

        with pytest.raises(TooMany, match=r"^s$"):
            self._engine(handler).run({"x": 1})

    @pytest.mark.parametrize("handler", ["legacy", None])
    def test_names(self, handler: Any) -> None:
        """`legacy` is the default."""
        with pytest.raises(StepExecutionError) as caught:
            self._engine(handler).run({"x": 1})
        assert str(caught.value) == "bad"

    def test_unknown_name(self) -> None:
        """Another name is an error of the host."""
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            self._engine("modern")
        assert str(caught.value) == (
            "step_error_handler must be a function or one of legacy, got 'modern'."
        )
