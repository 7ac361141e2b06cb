"""`qr_code_generator`: what it draws can be read again."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.models.qr_code_detector.family import read_qr_codes
from blocks.transformations.qr_code_generator.family import (
    CORRECTION_LEVELS,
    MODULE_SIZE,
    draw_modules,
    qr_modules,
)
from blocks.transformations.qr_code_generator.v1 import (
    QRCodeGeneratorBlockV1,
    QRCodeGeneratorManifest,
)
from execution_engine.errors import InvalidFieldValueError

LOW, MEDIUM, QUARTILE, HIGH = CORRECTION_LEVELS
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
FINDER = np.ones((7, 7), bool)
FINDER[1:6, 1:6] = False
FINDER[2:5, 2:5] = True
# How the standard says the level in the first two modules of the format, under the mask 10.
FORMAT_BITS = {LOW: (0, 1), MEDIUM: (0, 0), QUARTILE: (1, 1), HIGH: (1, 0)}


def run(**fields: Any) -> Any:
    """Pixels that the block gives for the fields of a step."""
    step = QRCodeGeneratorManifest.model_validate(
        {"type": "roboflow_core/qr_code_generator@v1", "name": "s", **fields}
    )
    return QRCodeGeneratorBlockV1().run(**step.model_dump(exclude={"type", "name"}))["qr_code"]


class TestQRModules:
    @pytest.mark.parametrize("level", CORRECTION_LEVELS)
    def test_structure(self, level: str) -> None:
        """Marks in three corners, timing lines between them, and the level in the format."""
        modules = qr_modules("https://example.org", level)
        count = len(modules)
        assert modules.shape == (count, count)
        assert (count - 17) % 4 == 0
        for corner in (modules[:7, :7], modules[:7, -7:], modules[-7:, :7]):
            assert (corner == FINDER).all()
        assert (modules[6, 8:-8] == (np.arange(count - 16) % 2 == 0)).all()
        assert tuple((modules[8, :2] ^ [True, False]).astype(int)) == FORMAT_BITS[level]

    @pytest.mark.parametrize(
        ("level", "text", "side"),
        [(LOW, "x" * 17, 21), (LOW, "x" * 18, 25), (MEDIUM, "x" * 14, 21), (QUARTILE, "x" * 11, 21),
         (HIGH, "x" * 7, 21), (HIGH, "x" * 8, 25), (LOW, "1" * 41, 21), (LOW, "A" * 25, 21),
         (LOW, "x" * 2953, 177), (HIGH, "x" * 1273, 177), (LOW, "1" * 7089, 177)],
    )  # fmt: skip
    def test_capacity(self, level: str, text: str, side: int) -> None:
        """The smallest size is taken, with the capacities of the standard's table."""
        assert len(qr_modules(text, level)) == side

    @pytest.mark.parametrize(
        ("level", "text"),
        [(LOW, "x" * 2954), (HIGH, "x" * 1274), (LOW, "1" * 7090), (MEDIUM, "ä" * 10**6)],
    )
    def test_too_long(self, level: str, text: str) -> None:
        """A text that no code holds is an error that says how long it is."""
        with pytest.raises(InvalidFieldValueError, match=f"got {len(text.encode())} bytes"):
            qr_modules(text, level)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (5, "Field `text` must be text, got 5."),
            (None, "Field `text` must be text, got None."),
            ("a\0b", r"must hold no NUL .* got '\\x00' at place 1"),
            ("a\ud800", r"got '\\ud800' at place 1"),
        ],
    )
    def test_no_text(self, text: Any, message: str) -> None:
        """What cannot be stored is an error and is not changed without a word."""
        with pytest.raises(InvalidFieldValueError, match=message):
            qr_modules(text, MEDIUM)

    def test_no_level(self) -> None:
        """A level that there is not."""
        with pytest.raises(InvalidFieldValueError, match="error_correct"):
            qr_modules("a", "None")

    @settings(max_examples=40, deadline=None)
    @given(
        st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
            min_size=1,
            max_size=60,
        ),
        st.sampled_from(list(CORRECTION_LEVELS)),
    )
    def test_round_trip(self, text: str, level: str) -> None:
        """Any text is read again from the picture."""
        pixels = draw_modules(qr_modules(text, level), 4, BLACK, WHITE)
        decoded, _, _ = cv2.QRCodeDetectorAruco().detectAndDecodeBytes(pixels)
        assert decoded.decode() == text


class TestDrawModules:
    @pytest.mark.parametrize("border", [0, 1, 4, 7])
    def test_size_and_colours(self, border: int) -> None:
        """Each module is a square of its colour, with the border around all."""
        modules = np.random.default_rng(2).integers(0, 2, (5, 5)).astype(bool)
        fill, back = (10, 20, 30), (200, 210, 220)
        pixels = draw_modules(modules, border, fill, back)
        side = (5 + 2 * border) * MODULE_SIZE
        assert pixels.shape == (side, side, 3)
        for y in range(side):
            row = y // MODULE_SIZE - border
            inside = 0 <= row < 5
            for x in range(0, side, 3):
                column = x // MODULE_SIZE - border
                dark = inside and 0 <= column < 5 and modules[row, column]
                assert tuple(pixels[y, x]) == (fill if dark else back)

    @pytest.mark.parametrize("border", [-1, 501, 1.5, "4", None, float("nan")])
    def test_border(self, border: Any) -> None:
        """A border that is no width."""
        with pytest.raises(InvalidFieldValueError, match="`border` must be a whole number"):
            draw_modules(np.ones((3, 3), bool), border, BLACK, WHITE)


class TestQRCodeGeneratorBlockV1:
    def test_default(self) -> None:
        """Black on white with a margin of four modules; our own detector reads it."""
        image = run(text="https://example.org/ä")
        pixels = image.numpy_image
        assert {tuple(colour) for colour in np.unique(pixels.reshape(-1, 3), axis=0)} == {
            BLACK,
            WHITE,
        }
        assert (pixels[:40] == 255).all()
        assert (pixels[40:50, 40:110] == 0).all()
        assert [code.text for code in read_qr_codes(pixels)] == ["https://example.org/ä"]

    def test_colours(self) -> None:
        """Colours are given as text, results in BGR."""
        pixels = run(text="a", fill_color="#102030", back_color="rgb(250, 240, 230)").numpy_image
        assert pixels[0, 0].tolist() == [230, 240, 250]
        assert pixels[40, 40].tolist() == [0x30, 0x20, 0x10]

    def test_names(self) -> None:
        """Two pictures are two images, each its own parent."""
        one, other = run(text="a"), run(text="a")
        assert one.parent_metadata.parent_id != other.parent_metadata.parent_id
        assert one.parent_metadata == one.workflow_root_ancestor_metadata

    @pytest.mark.parametrize("field", ["fill_color", "back_color"])
    def test_no_colour(self, field: str) -> None:
        """A colour that is none is an error that names the field."""
        with pytest.raises(InvalidFieldValueError, match=f"Field `{field}`: 'no' is no colour"):
            run(text="a", **{field: "no"})
