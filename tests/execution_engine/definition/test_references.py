"""The grammar of references, and what is near a misspelt name."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine.definition.references import (
    Reference,
    did_you_mean,
    is_reference,
    nearest,
    parse_reference,
    unescape,
)


class TestParseReference:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("$inputs.image", ("input", "image", None)),
            ("$inputs.a-b_C9", ("input", "a-b_C9", None)),
            ("$steps.s", ("step", "s", None)),
            ("$steps.s.out", ("step_output", "s", "out")),
            ("$steps.s-1.out-2", ("step_output", "s-1", "out-2")),
            ("$steps.s.*", ("step_output", "s", "*")),
        ],
    )
    def test_good(self, text: str, parts: tuple[Any, ...]) -> None:
        """Inputs, steps, outputs and all outputs of a step are told apart."""
        assert parse_reference(text) == Reference(*parts, text)

    @pytest.mark.parametrize(
        "text",
        [
            "", "$", "$inputs", "$inputs.", "$inputs.a.b", "$inputs.a b", "$inputs.*", "$steps",
            "$steps.", "$steps.s.", "$steps.s.a.b", "$steps.s.**", "$steps.*", "$steps.s.o ",
            " $inputs.a", "inputs.a", "$Inputs.a", "$inputsXa", "$outputs.a", "$inputs.a\n",
            "$inputs.ä",
        ],
    )  # fmt: skip
    def test_bad(self, text: str) -> None:
        """Anything else is no reference."""
        assert parse_reference(text) is None


class TestIsReference:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("$inputs.x", True),
            ("$", True),
            ("$anything", True),
            ("$$x", False),
            ("x$", False),
            ("", False),
            (5, False),
            (["$x"], False),
        ],
    )
    def test_rows(self, value: Any, expected: bool) -> None:
        """Text that begins with one dollar sign is to be read as a reference."""
        assert is_reference(value) is expected


class TestUnescape:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [("$$x", "$x"), ("$$$x", "$$x"), ("$x", "$x"), ("x", "x"), (5, 5), (None, None)],
    )
    def test_rows(self, value: Any, expected: Any) -> None:
        """One dollar sign of a leading pair is taken off."""
        assert unescape(value) == expected


class TestNearest:
    def test_best_first_and_limited(self) -> None:
        """The likest names come first, no more than asked for."""
        names = ["image", "images", "imago", "zebra"]
        assert nearest("imag", names, 2)[0] in ("image", "imago")
        assert len(nearest("imag", names, 2)) == 2
        assert nearest("qqq", names) == []

    def test_case_does_not_matter(self) -> None:
        """Another case is near even where no letter matches exactly."""
        assert nearest("IMAGE", ["image"]) == ["image"]

    def test_no_candidate_twice(self) -> None:
        """A name that is near in both ways is given once."""
        assert nearest("image", ["image", "IMAGE"], 3) == ["image", "IMAGE"]

    @pytest.mark.parametrize(
        ("word", "names", "near"),
        [
            ("number", ["contours", "number_contours"], ["number_contours"]),
            ("Image", ["InferenceImage", "WorkflowImage"], ["WorkflowImage"]),
            ("output_image_of_step", ["mask", "image"], ["image"]),
            ("in", ["inputs"], []),
        ],
    )
    def test_part_of_a_name(self, word: str, names: list[str], near: list[str]) -> None:
        """A name that holds the word, or is part of it, is near; the most alike is first."""
        assert nearest(word, names) == near

    def test_hint(self) -> None:
        """The hint names the nearest, or there is none."""
        assert did_you_mean("imag", ["image"]) == "did you mean 'image'?"
        assert did_you_mean("imag", ["zebra"]) is None
