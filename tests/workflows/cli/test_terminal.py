"""Texts of the command line."""

from __future__ import annotations

import pytest

from execution_engine.errors import RuntimeInputError, StepExecutionError
from inference_models.errors import ModelNotFoundError
from inference_models.manager.resolution import ModelResolver
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

    def test_missing_model_says_how_to_name_folders(self) -> None:
        """A model that was looked for in folders brings the setting that names them; a path that
        is wrong does not.
        """
        with pytest.raises(ModelNotFoundError) as caught:
            ModelResolver().resolve("person/1")
        error = StepExecutionError(str(caught.value), inner_error=caught.value)
        assert error_text("w.json", error).endswith(
            "\n  Name the folders of models in the environment: "
            "WEFTLENS_MODEL_DIRECTORIES='[\"models\"]'; the model person/1 lies in "
            "models/person/1."
        )
        other = ModelNotFoundError("no model at /x: no such file or folder")
        assert "WEFTLENS" not in error_text("w", StepExecutionError(str(other), inner_error=other))

    def test_other_errors_are_their_message(self) -> None:
        """Without a note the message stands alone."""
        assert error_text("w.json", RuntimeInputError("no image")) == "w.json: no image"
