"""Hints on references that are almost right."""

from __future__ import annotations

import pytest

from execution_engine.compiler.validation_messages import reference_hint

DEEP = (
    "a reference reaches no further than an input or an output of a step; take inner values out "
    "with a property definition step"
)
LETTERS = "names in references are made of letters, digits, '_' and '-'"


class TestReferenceHint:
    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("$input.kernel", "did you mean '$inputs.kernel'?"),
            ("inputs.kernel", "did you mean '$inputs.kernel'?"),
            ("$Inputs.kernel", "did you mean '$inputs.kernel'?"),
            ("$inputs/kernel", "did you mean '$inputs.kernel'?"),
            ("$step.blur.image", "did you mean '$steps.blur.image'?"),
            ("steps.blur.*", "did you mean '$steps.blur.*'?"),
            (
                "$steps.blur",
                "add the name of one of the step's outputs: '$steps.blur.<output>'",
            ),
            ("$inputs.image.width", DEEP),
            ("$steps.blur.image.width", DEEP),
            ("$inputs.my image", LETTERS),
            ("$steps.blur.größe", LETTERS),
            ("$outputs.x", "did you mean '$inputs.x'?"),
            ("$inputs.", None),
            ("photo.jpg", None),
            ("hello", None),
            ("", None),
        ],
    )
    def test_table(self, text: str, hint: str | None) -> None:
        """What was meant is told from the text, or nothing is said."""
        assert reference_hint(text) == hint
