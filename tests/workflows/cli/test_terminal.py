"""Texts of the command line."""

from __future__ import annotations

from execution_engine.errors import RuntimeInputError, StepExecutionError
from workflows.cli.terminal import error_text


class TestErrorText:
    """`error_text`."""

    def test_step_failure_says_where_values_come_from(self) -> None:
        """A failed step is named with its type, its error, and the note on its sources."""
        error = StepExecutionError(
            "bad crop", inner_error=ValueError("bad crop"), block_id="crop", block_type="t/crop@v1"
        )
        error.add_note("Step 'crop' takes images from $inputs.image.")
        assert error_text("w.json", error) == (
            "w.json: step 'crop' (t/crop@v1) failed: ValueError: bad crop\n"
            "  Step 'crop' takes images from $inputs.image."
        )

    def test_other_errors_are_their_message(self) -> None:
        """Without a note the message stands alone."""
        assert error_text("w.json", RuntimeInputError("no image")) == "w.json: no image"
