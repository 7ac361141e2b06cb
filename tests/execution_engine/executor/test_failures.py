"""Errors of the query language say which step they come from."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine.errors import EvaluationEngineError, UndeclaredSymbolError
from execution_engine.query_language.site import undeclared
from tests.execution_engine.toy_blocks import block, parameter, run, step, workflow


class TestQueryLanguageErrors:
    @pytest.mark.parametrize("batches", [(), ("x",)], ids=["one", "batch"])
    def test_step_is_named(self, batches: tuple[str, ...]) -> None:
        """The class stays; the message and two attributes name the step and its block."""

        def fail(x: Any) -> Any:
            raise EvaluationEngineError("Statement at <root>: no.", context="a | b")

        definition = workflow([parameter("x")], [step("t/ask@v1", "ask", x="$inputs.x")])
        with pytest.raises(EvaluationEngineError) as caught:
            run(definition, {"x": 1}, block("t/ask@v1", fail, batches_or_singles=batches))
        error = caught.value
        assert error.public_message == "Step 'ask' (t/ask@v1): Statement at <root>: no."
        assert str(error) == error.public_message
        assert (error.block_id, error.block_type) == ("ask", "t/ask@v1")
        assert error.context == "a | b"
        assert error.__notes__ == ["Step 'ask' takes x from $inputs.x."]


class TestUndeclared:
    def test_only_the_detection_is_given(self) -> None:
        """The detection at hand is not listed as if it had been given by hand."""
        error = undeclared("min_area", {"_": object()}, "<root>")
        assert isinstance(error, UndeclaredSymbolError)
        assert error.public_message == (
            "Parameter 'min_area' is used at <root> but was not given"
            " (no parameters were given besides the detection '_')."
        )

    def test_others_are_given(self) -> None:
        """The other names are listed without it."""
        error = undeclared("min_area", {"_": 1, "b": 2}, "<root>")
        assert "(given: b)" in error.public_message
