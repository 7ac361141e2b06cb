"""Colours written as text."""

from __future__ import annotations

import pytest
import supervision as sv

from blocks.visualizations.colour_text import NAMED_COLOURS, colour_of, parse_colour


class TestParseColour:
    @pytest.mark.parametrize(
        ("text", "bgr"),
        [
            ("#FF8000", (0, 128, 255)),
            ("#ff8000", (0, 128, 255)),
            ("#f80", (0, 136, 255)),
            ("#ff8000cc", (0, 128, 255)),
            ("#f80c", (0, 136, 255)),
            ("rgb(1, 2, 3)", (3, 2, 1)),
            ("RGB(1,2,3)", (3, 2, 1)),
            ("bgr(1, 2, 3)", (1, 2, 3)),
            (" white ", (255, 255, 255)),
            ("Red", (0, 0, 255)),
        ],
    )
    def test_table(self, text: str, bgr: tuple[int, int, int]) -> None:
        """Every way to write a colour gives blue, green, red."""
        assert parse_colour(text) == bgr

    @pytest.mark.parametrize("name", sorted(set(NAMED_COLOURS) - {"GRAY"}))
    def test_names_agree_with_supervision(self, name: str) -> None:
        """Named colours are those that other drawing blocks take from supervision."""
        assert parse_colour(name) == getattr(sv.Color, name).as_bgr()

    @pytest.mark.parametrize(
        "text", ["", "nope", "#12345", "rgb(1, 2)", "rgb(1, 2, 256)", "#gggggg"]
    )
    def test_refused(self, text: str) -> None:
        """What is no colour is an error with the text."""
        with pytest.raises(ValueError, match="is no colour; expected") as caught:
            parse_colour(text)
        assert repr(text) in str(caught.value)


class TestColourOf:
    def test_colour(self) -> None:
        """A colour as text is read."""
        assert colour_of("color", "#ff8000") == (0, 128, 255)

    @pytest.mark.parametrize("value", [None, 7, ["RED"]])
    def test_no_text(self, value: object) -> None:
        """What is no text is named with its field."""
        with pytest.raises(ValueError, match="Field `color` must be a colour as text, got"):
            colour_of("color", value)

    def test_no_colour(self) -> None:
        """Text that is no colour is named with its field."""
        with pytest.raises(ValueError, match=r"Field `color`: 'reddish' is no colour; expected"):
            colour_of("color", "reddish")
