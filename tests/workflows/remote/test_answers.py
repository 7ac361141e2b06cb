"""Answers of workflow routes: outputs, and errors as the exceptions of a local run."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import errors as engine
from execution_engine.errors import BlockTraceback, Problem, WorkflowError
from workflows.remote.answers import error_of, outputs_of
from workflows.remote.connection import Answer
from workflows.remote.errors import (
    ServerAnswerError,
    ServerRefusedError,
    ServerTimeoutError,
)

SERVER = "http://server:9001"
# As a server of the wider ecosystem answers: no `errors`, and "None" as text.
FOREIGN_SYNTAX_ERROR = {
    "message": "Could not parse the workflow definition.",
    "error_type": "WorkflowSyntaxError",
    "context": "workflow_compilation | workflow_definition_parsing",
    "inner_error_type": "ValidationError",
    "inner_error_message": "1 validation error",
    "blocks_errors": [
        {
            "block_id": "blur",
            "block_type": "roboflow_core/image_blur@v1",
            "block_details": None,
            "property_name": "kernel_size",
            "property_details": "must be positive",
        }
    ],
}
STEP_ERROR = {
    "message": "division by zero",
    "error_type": "StepExecutionError",
    "context": "workflow_execution | step_execution",
    "inner_error_type": "ZeroDivisionError",
    "inner_error_message": "division by zero",
    "blocks_errors": [
        {
            "block_id": "ratio",
            "block_type": "acme/ratio@v1",
            "block_details": "division by zero",
            "block_traceback": {"traceback": "Traceback ...", "error_line": 3},
        }
    ],
}


def error(content: Any, status: int = 400) -> WorkflowError:
    return error_of(Answer(status, content, not isinstance(content, str)), SERVER)


class TestOutputsOf:
    def test_gives_the_rows(self) -> None:
        """Other members of the answer are not looked at."""
        rows = [{"a": 1}, {"a": None}]
        assert outputs_of(Answer(200, {"outputs": rows, "profiler_trace": []}), SERVER) == rows

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (Answer(200, {"result": []}), "without `outputs`"),
            (Answer(200, {"outputs": [1]}), "without `outputs`"),
            (Answer(200, [1]), "no JSON object: \\[1\\]"),
            (Answer(200, "<html>", is_json=False), "Is this the address of a workflow server"),
        ],
    )
    def test_refuses_other_answers(self, answer: Answer, words: str) -> None:
        """The text says what came."""
        with pytest.raises(ServerAnswerError, match=words):
            outputs_of(answer, SERVER)


class TestErrorOf:
    def test_compile_errors_have_their_class_and_every_problem(self) -> None:
        """Our servers send `errors`, which come back as they were."""
        problem = Problem("unknown_block_type", "no", "/steps/1/type", "try", "s", "t/x@v1", None)
        raised = error(
            {
                "message": "no",
                "error_type": "BlockNotInBuildError",
                "context": "workflow_compilation",
                "errors": [problem.to_dict()],
                "blocks_errors": [],
            }
        )
        assert type(raised) is engine.BlockNotInBuildError
        assert raised.errors == (problem,)
        assert raised.context == "workflow_compilation"
        assert raised.__notes__ == [f"Raised by the server {SERVER}."]

    def test_errors_of_steps_stand_in_where_there_are_no_problems(self) -> None:
        """Other servers send `blocks_errors` alone."""
        raised = error(FOREIGN_SYNTAX_ERROR)
        assert type(raised) is engine.WorkflowSyntaxError
        assert str(raised) == "Could not parse the workflow definition."
        assert raised.inner_error_type == "ValidationError"
        [block] = raised.blocks_errors
        assert (block.block_id, block.property_name, block.property_details) == (
            "blur",
            "kernel_size",
            "must be positive",
        )

    def test_step_errors_know_step_type_and_traceback(self) -> None:
        """The cause keeps its name."""
        raised = error(STEP_ERROR, 500)
        assert isinstance(raised, engine.StepExecutionError)
        assert (raised.block_id, raised.block_type) == ("ratio", "acme/ratio@v1")
        assert raised.block_traceback == BlockTraceback("Traceback ...", 3)
        assert raised.inner_error_type == "ZeroDivisionError"
        assert str(raised.inner_error) == "division by zero"

    def test_errors_with_a_status_keep_it(self) -> None:
        """Limits of other services come with theirs."""
        raised = error({**STEP_ERROR, "error_type": "RuntimeLimitsCausedStepExecutionError"}, 402)
        assert isinstance(raised, engine.RuntimeLimitsCausedStepExecutionError)
        assert raised.status_code == 402

    def test_errors_of_custom_code_keep_its_place(self) -> None:
        """Line and snippet are those of the user's code."""
        trace = {"traceback": "T", "error_line": 2, "code_snippet": "1 / 0", "stdout": "hi"}
        blocks = [{"block_id": "mine", "block_type": "Mine", "block_traceback": trace}]
        raised = error(
            {**STEP_ERROR, "error_type": "DynamicBlockCodeError", "blocks_errors": blocks}
        )
        assert isinstance(raised, engine.DynamicBlockCodeError)
        assert (raised.error_line, raised.code_snippet, raised.stdout) == (2, "1 / 0", "hi")
        assert (raised.block_id, raised.block_type_name) == ("mine", "Mine")

    @pytest.mark.parametrize("none", [None, "None", ""])
    def test_no_cause_is_no_cause(self, none: str | None) -> None:
        """Also where a server writes it as text."""
        raised = error(
            {"message": "m", "error_type": "RuntimeInputError", "inner_error_type": none}
        )
        assert type(raised) is engine.RuntimeInputError
        assert raised.inner_error is None

    def test_every_class_of_the_engine_can_be_rebuilt(self) -> None:
        """By the name it has on the wire."""
        names = [
            name
            for name, value in vars(engine).items()
            if isinstance(value, type) and issubclass(value, WorkflowError)
        ]
        assert len(names) > 30
        for name in names:
            raised = error({"message": "m", "error_type": name, "blocks_errors": []})
            assert type(raised).__name__ == name
            assert str(raised) == "m"

    @pytest.mark.parametrize(
        ("status", "content", "text"),
        [
            (
                401,
                {"message": "The API key is not valid.", "error_type": "UnauthorisedError"},
                f"The server {SERVER} wants an API key (give it as api_key): The API key is not "
                "valid (UnauthorisedError).",
            ),
            (
                404,
                {"detail": "Not Found"},
                f"The server {SERVER} has no such route or workflow: Not Found.",
            ),
            (500, "<h1>Oops</h1>", f"The server {SERVER} answered with status 500: <h1>Oops</h1>."),
            (429, {}, f"The server {SERVER} is too busy."),
            (418, None, f"The server {SERVER} answered with status 418."),
        ],
    )
    def test_what_is_no_error_of_the_engine_names_the_server(
        self, status: int, content: Any, text: str
    ) -> None:
        """With its status, in words, and what the server said."""
        raised = error(content, status)
        assert isinstance(raised, ServerRefusedError)
        assert str(raised) == text
        assert raised.status_code == status

    @pytest.mark.parametrize("status", [408, 504])
    def test_a_server_that_was_too_slow_is_a_timeout(self, status: int) -> None:
        """As one that does not answer at all."""
        raised = error({"message": "late", "error_type": "DeadlineExceededError"}, status)
        assert isinstance(raised, ServerTimeoutError)
        assert "late" in str(raised)

    @pytest.mark.parametrize(
        "content",
        [
            {"message": "m", "error_type": "os.system"},
            {"message": 7, "error_type": "WorkflowError"},
            {"message": "m", "error_type": ["WorkflowError"]},
            {"message": "m", "error_type": "Problem"},
            {"message": "m", "error_type": "Sequence"},
        ],
    )
    def test_only_names_of_our_errors_become_classes(self, content: Any) -> None:
        """Whatever else an answer names stays text."""
        assert isinstance(error(content), ServerRefusedError)

    @pytest.mark.parametrize("strange", [5, "x", {"a": 1}, True])
    def test_strange_errors_of_blocks_do_no_harm(self, strange: Any) -> None:
        """What is no list names no block."""
        raised = error(
            {"message": "m", "error_type": "StepExecutionError", "blocks_errors": strange}
        )
        assert isinstance(raised, engine.StepExecutionError)
        assert raised.block_id is None

    def test_strange_members_do_no_harm(self) -> None:
        """Members of the wrong type are left out."""
        raised = error(
            {
                "message": "m",
                "error_type": "WorkflowSyntaxError",
                "errors": [1, {"code": 5}],
                "blocks_errors": ["x"],
                "inner_error_type": 5,
            }
        )
        assert isinstance(raised, engine.WorkflowSyntaxError)
        assert [problem.code for problem in raised.errors] == ["5"]
