"""The table from errors to answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from execution_engine import errors as engine
from inference_models import errors as models
from workflows.server.errors import INTERNAL_MESSAGE, error_answer, status_of_model_error
from workflows.server.faults import DeadlineExceededError, InvalidRequestError, QueueFullError

_PROBLEM = engine.Problem(
    "unknown_block_type", "no such block", "/steps/0/type", block_id="s", block_type="x/y@v1"
)


def _compiler(cls: type[engine.WorkflowCompilerError]) -> engine.WorkflowCompilerError:
    return cls("wrong", errors=[_PROBLEM])


class TestErrorAnswer:
    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (_compiler(engine.WorkflowSyntaxError), 400),
            (_compiler(engine.InvalidReferenceTargetError), 400),
            (_compiler(engine.ExecutionGraphStructureError), 400),
            (_compiler(engine.StepInputDimensionalityError), 400),
            (_compiler(engine.StepInputLineageError), 400),
            (_compiler(engine.ReferenceTypeError), 400),
            (_compiler(engine.DuplicatedNameError), 400),
            (_compiler(engine.ControlFlowDefinitionError), 400),
            (_compiler(engine.DynamicBlockError), 400),
            (_compiler(engine.BlockInitParameterNotProvidedError), 500),
            (_compiler(engine.PluginLoadingError), 500),
            (engine.NotSupportedExecutionEngineError("version"), 400),
            (engine.WorkflowExecutionEngineVersionError("version"), 400),
            (engine.RuntimeInputError("input"), 400),
            (engine.WorkflowImageLoadError("image"), 400),
            (engine.InvalidInputTypeError("type"), 400),
            (engine.OperationTypeNotRecognisedError("operation"), 400),
            (engine.OperationError("operation"), 400),
            (engine.StepExecutionError("step", block_id="s", block_type="t"), 500),
            (engine.StepExecutionError("v", inner_error=engine.InvalidFieldValueError("v")), 400),
            (engine.StepExecutionError("f", inner_error=engine.ForbiddenByHostError("f")), 403),
            (engine.DynamicBlockCodeError("code", block_type_name="t"), 400),
            (engine.ClientCausedStepExecutionError("gone", status_code=404, block_id="s"), 404),
            (engine.RuntimeLimitsCausedStepExecutionError("limit", status_code=413), 413),
            (engine.RunDeadlineExceededError("late"), 504),
            (engine.RunTooLargeError("large"), 400),
            (engine.RunCancelledError("gone"), 503),
            (engine.AssumptionError("bug"), 500),
            (engine.WorkflowEnvironmentConfigurationError("host"), 500),
            (models.ModelNotFoundError("none"), 404),
            (models.InvalidParameterError("value"), 400),
            (models.ModelBusyError("busy", 2.3), 429),
            (models.ModelDeadlineExceededError("late"), 504),
            (models.CorruptedModelPackageError("broken"), 500),
            (models.DirectLocalStorageAccessError("path"), 403),
            (InvalidRequestError("body"), 400),
            (QueueFullError("full", {"Retry-After": "3"}), 429),
            (DeadlineExceededError("late", "blur"), 504),
            (ZeroDivisionError("secret detail"), 500),
        ],
    )
    def test_has_one_form(self, error: Exception, status: int) -> None:
        """Every error has its status and the same members."""
        answer = error_answer(error, "id-1")
        assert answer.status == status
        assert {"message", "error_type", "context", "blocks_errors", "request_id"} <= set(
            answer.body
        )
        assert answer.body["request_id"] == "id-1"

    def test_lists_every_problem_of_a_definition(self) -> None:
        """Faults of a definition come with the step and the place in the JSON."""
        body = error_answer(_compiler(engine.WorkflowSyntaxError), "i").body
        assert body["blocks_errors"][0]["block_id"] == "s"
        assert body["errors"][0]["where"] == "/steps/0/type"

    def test_tells_nothing_of_what_it_does_not_know(self) -> None:
        """The text of an unexpected error stays in the log."""
        body = error_answer(ZeroDivisionError("secret detail"), "i").body
        assert body["message"] == INTERNAL_MESSAGE
        assert body["error_type"] == "InternalServerError"
        assert "secret detail" not in str(body)

    def test_leaves_out_a_cause_that_is_not_there(self) -> None:
        """No member says null or "None" where there was no cause."""
        body = error_answer(engine.RuntimeInputError("x"), "i").body
        assert "inner_error_type" not in body
        caused = engine.RuntimeInputError("x", inner_error=KeyError("k"))
        body = error_answer(caused, "i").body
        assert (body["inner_error_type"], body["inner_error_message"]) == ("KeyError", "'k'")

    def test_stars_secrets_and_hides_folders(self) -> None:
        """Neither an API key nor the place of the models goes out."""
        error = models.ModelNotFoundError("no model: looked in /srv/models with key abcdef-123456")
        body = error_answer(
            error, "i", secrets=["abcdef-123456"], hidden_paths=[Path("/srv/models")]
        ).body
        assert "abcdef-123456" not in body["message"]
        assert "/srv/models" not in body["message"]

    def test_says_when_to_come_back(self) -> None:
        """Headers of refusals go along; a busy model's wait too, also from inside a step."""
        assert error_answer(QueueFullError("x", {"Retry-After": "3"}), "i").headers == {
            "Retry-After": "3"
        }
        busy = models.ModelBusyError("busy", 2.3)
        assert error_answer(busy, "i").headers == {"Retry-After": "3"}
        step = engine.ClientCausedStepExecutionError("x", status_code=429, inner_error=busy)
        assert error_answer(step, "i").headers == {"Retry-After": "3"}

    def test_marks_the_code_of_the_user(self) -> None:
        """An error in custom Python has one entry with its traceback."""
        error = engine.DynamicBlockCodeError(
            "Error in line 2", block_type_name="mine", error_line=2, traceback="line 2"
        )
        (entry,) = error_answer(error, "i").body["blocks_errors"]
        assert entry["property_name"] == "Python code"
        assert entry["block_traceback"]["traceback"] == "line 2"


class TestStatusOfModelError:
    def test_knows_only_errors_about_models(self) -> None:
        """Other errors have none."""
        assert status_of_model_error(ValueError("x")) is None
        assert status_of_model_error(models.ModelLoadingError("x")) == 500

    def test_follows_inheritance(self) -> None:
        """A class without an entry takes that of its base."""
        error: Any = models.InvalidMaskDecodeArgument("x")
        assert status_of_model_error(error) == 400
