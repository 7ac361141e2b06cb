"""`rich_label_visualization`: letters of many scripts, sizes and lines."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, get_args

import matplotlib.font_manager
import numpy as np
import pytest
import supervision as sv
from PIL import ImageFont

from blocks.visualizations.rich_label_visualization.fonts import FontFamily, font_file
from blocks.visualizations.rich_label_visualization.v1 import automatic_font_size
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.visualizations.scenes import objects, picture, rle_objects, run

NAME = "rich_label_v1"


@pytest.fixture(autouse=True)
def no_fonts_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fonts differ between machines: here there are none."""

    def nothing(*_: Any, **__: Any) -> str:
        raise ValueError("there is none")

    monkeypatch.setattr(matplotlib.font_manager, "findfont", nothing)


def one(name: str = "cat") -> sv.Detections:
    """One detection with a class name, low in the picture."""
    return sv.Detections(
        np.array([[40.0, 80, 90, 110]]),
        class_id=np.array([0]),
        data={"class_name": np.array([name], dtype=object)},
    )


def plain(height: int = 120, width: int = 160) -> np.ndarray:
    """A grey picture."""
    return np.full((height, width, 3), 90, np.uint8)


def label_box(pixels: np.ndarray) -> tuple[int, int, int, int]:
    """x0, y0, x1, y1 of what differs from the grey picture; the ends do not belong to it."""
    places = np.argwhere((pixels != 90).any(axis=2))
    (top, left), (bottom, right) = places.min(axis=0), places.max(axis=0) + 1
    return int(left), int(top), int(right), int(bottom)


class TestFontFile:
    @pytest.mark.parametrize("family", get_args(FontFamily))
    def test_substitute(self, family: str) -> None:
        """Every family has a font, with letters of equal width where its own have that."""
        font = ImageFont.truetype(font_file("font_family", family), 40)
        mono = any(word in family for word in ("Mono", "Code", "Courier", "Anonymous", "Incons"))
        assert (font.getlength("iiii") == font.getlength("WWWW")) == mono

    def test_installed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The installed font of the family comes first."""
        path = tmp_path / "lato.ttf"
        path.write_bytes(b"")

        def find(properties: Any, fallback_to_default: bool) -> str:
            assert not fallback_to_default
            assert properties.get_family() == ["Lato"]
            return str(path)

        monkeypatch.setattr(matplotlib.font_manager, "findfont", find)
        assert font_file("font_family", "Lato") == path
        path.unlink()
        assert font_file("font_family", "Lato").name == "DejaVuSans.ttf"

    def test_said(self, caplog: pytest.LogCaptureFixture) -> None:
        """The log says which font stands for which."""
        with caplog.at_level(logging.INFO, "weftlens.fonts"):
            font_file("font_family", "Fira Code")
        assert caplog.messages == [
            "The font Fira Code is not installed; text is written in DejaVuSansMono."
        ]

    @pytest.mark.parametrize("family", ["Comic Sans", "", 5, None, "../lato"])
    def test_not_known(self, family: Any) -> None:
        """Other families are refused."""
        with pytest.raises(InvalidFieldValueError, match="`font_family` must be one of"):
            font_file("font_family", family)


class TestAutomaticFontSize:
    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            ((1080, 1920), 32),
            ((2160, 3840), 65),
            ((640, 480), 14),
            ((1, 1), 10),
            ((10**5,) * 2, 1000),
        ],
    )
    def test_sizes(self, size: tuple[int, int], expected: int) -> None:
        """Letters grow with the shorter side and stay legible."""
        assert automatic_font_size(size) == expected


class TestRichLabels:
    def test_as_supervision(self) -> None:
        """The drawing is that of supervision with the same settings."""
        pixels = run(NAME, objects(), text="Class and Confidence", text_color="BLACK", font_size=11,
                     text_padding=3, border_radius=4, text_position="BOTTOM_RIGHT")  # fmt: skip
        annotator = sv.RichLabelAnnotator(
            text_color=sv.Color.BLACK, font_size=11, text_padding=3, border_radius=4,
            text_position=sv.Position.BOTTOM_RIGHT,
            font_path=str(font_file("font_family", "Geist Mono")),
        )  # fmt: skip
        labels = ["cat 0.90", "dog 0.75", "bird 0.50"]
        expected = annotator.annotate(picture().copy(), objects(), labels=labels)
        assert (pixels == expected).all()

    @pytest.mark.parametrize("name", ["Straße", "кошка", "γάτα", "قطة", "ñandú", "Ąę"])
    def test_scripts(self, name: str) -> None:
        """Letters beyond English are drawn as themselves and not all as one box."""
        drawn, boxes = (
            run(NAME, one(name), plain()),
            run(NAME, one("\U000f0000" * len(name)), plain()),
        )
        assert drawn.shape == boxes.shape
        assert (drawn != boxes).any()
        letters = [run(NAME, one(letter), plain()) for letter in set(name)]
        assert len({letter.tobytes() for letter in letters}) == len(letters)

    @pytest.mark.parametrize(
        "name", ["", " ", "\n", "a\nb", "\0", "\ud800", "\u0301", "😀", "a\u200fb", "x" * 5000]
    )
    @pytest.mark.parametrize("max_line_length", [None, 1, 3])
    def test_odd_names(self, name: str, max_line_length: int | None) -> None:
        """Names of any characters and length are drawn."""
        assert run(NAME, one(name), max_line_length=max_line_length).shape == (120, 160, 3)

    def test_lines(self) -> None:
        """A long label goes on in a new line: narrower and higher."""
        text = "a very long name"
        flat = label_box(run(NAME, one(text), plain(400, 400), text_position="BOTTOM_LEFT"))
        high = label_box(
            run(NAME, one(text), plain(400, 400), text_position="BOTTOM_LEFT", max_line_length=6)
        )
        assert high[2] - high[0] < 0.6 * (flat[2] - flat[0])
        assert high[3] - high[1] > 2 * (flat[3] - flat[1])

    def test_padding(self) -> None:
        """Each px of padding adds a px on every side of the text."""
        sizes = []
        for padding in (0, 7):
            box = label_box(run(NAME, one(), plain(), text_padding=padding, text_position="CENTER"))
            sizes.append((box[2] - box[0], box[3] - box[1]))
        assert sizes[1] == (sizes[0][0] + 14, sizes[0][1] + 14)

    def test_font_size(self) -> None:
        """Twice the size is about twice the height; Automatic does not ask for the size."""

        def height(**fields: Any) -> int:
            box = label_box(
                run(
                    NAME,
                    one("M"),
                    plain(600, 600),
                    text_padding=0,
                    text_position="CENTER",
                    **fields,
                )
            )
            return box[3] - box[1]

        assert height(font_size=40) == pytest.approx(2 * height(font_size=20), abs=2)
        automatic = height(text_size_mode="Automatic", font_size=99)
        assert automatic == height(font_size=automatic_font_size((600, 600)))

    def test_colours(self) -> None:
        """The box has the colour of the class, the letters theirs."""
        pixels = run(NAME, one(), plain(), color_palette="CUSTOM", custom_colors=["#0000ff"],
                     text_color="#00ff00")  # fmt: skip
        found = {tuple(colour) for colour in np.unique(pixels.reshape(-1, 3), axis=0).tolist()}
        assert {(255, 0, 0), (0, 255, 0)} <= found

    def test_centre_of_mass(self) -> None:
        """Labels stand at masks, which RLEs give as well; without masks that is an error."""
        drawn = run(NAME, rle_objects(), text_position="CENTER_OF_MASS", text="Area")
        assert (drawn != picture()).any()
        with pytest.raises(InvalidFieldValueError, match="CENTER_OF_MASS is a place of masks"):
            run(NAME, objects(), text_position="CENTER_OF_MASS")

    @pytest.mark.parametrize(
        ("field", "value"),
        [("font_size", 0), ("font_size", 1001), ("font_size", 12.5), ("max_line_length", 0),
         ("text_padding", -1), ("border_radius", 40000), ("text_size_mode", "Auto"),
         ("text", "Speed"), ("text_color", "no"), ("font_family", "Comic Sans")],
    )  # fmt: skip
    def test_wrong_values(self, field: str, value: Any) -> None:
        """Values that come through references are checked, and the field is named."""
        with pytest.raises(InvalidFieldValueError, match=f"`{field}`"):
            run(NAME, inputs={field: value})

    def test_too_large(self) -> None:
        """A long label in huge letters would fill the memory: it is refused."""
        with pytest.raises(
            InvalidFieldValueError, match=r"`font_size`: a label of 5000 char.* 189 px"
        ):
            run(NAME, one("x" * 5000), font_size=1000)
