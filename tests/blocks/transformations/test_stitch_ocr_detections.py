"""`stitch_ocr_detections@v1` and `@v2`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.transformations.stitch_ocr_detections.v1 import (
    StitchOCRDetectionsBlockV1,
    StitchOCRDetectionsManifestV1,
)
from blocks.transformations.stitch_ocr_detections.v2 import StitchOCRDetectionsBlockV2
from blocks.transformations.stitch_ocr_detections.words import word_gap
from execution_engine.block_api import Batch
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import some

ALGORITHMS = ["tolerance", "otsu", "collimate"]
DIRECTIONS = [
    "left_to_right", "right_to_left", "vertical_top_to_bottom", "vertical_bottom_to_top",
]  # fmt: skip


def row(text: str, left: float, top: float, width: float = 10, height: float = 10) -> Any:
    """A piece of text and its box."""
    return text, [left, top, left + width, top + height]


def line(text: str, top: float = 0, step: float = 20, left: float = 10, **size: float) -> list[Any]:
    """A piece for each letter."""
    return [row(letter, left + step * place, top, **size) for place, letter in enumerate(text)]


def rows_of(pieces: list[Any]) -> sv.Detections:
    return some([box for _, box in pieces], names=[text for text, _ in pieces])


def read(
    pieces: list[Any],
    direction: str = "left_to_right",
    algorithm: str | None = None,
    tolerance: Any = 10,
    delimiter: Any = "",
    multiplier: Any = 1.0,
    collimate_tolerance: Any = 10,
) -> str:
    """The text, by version 1 when no algorithm is named."""
    batch = Batch([rows_of(pieces)])
    if algorithm is None:
        results = StitchOCRDetectionsBlockV1().run(batch, direction, tolerance, delimiter)
    else:
        results = StitchOCRDetectionsBlockV2().run(
            batch, algorithm, direction, tolerance, delimiter, multiplier, collimate_tolerance
        )
    (result,) = results
    text: str = result["ocr_text"]
    return text


@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS])
class TestEveryWay:
    def test_rows(self, algorithm: str | None) -> None:
        """Rows from above, each from the left, whatever the order of the detections."""
        pieces = [*line("HI"), *line("BYE", top=40)]
        assert read(pieces, algorithm=algorithm) == "HI\nBYE"
        assert read(pieces[::-1], algorithm=algorithm) == "HI\nBYE"

    def test_from_the_right(self, algorithm: str | None) -> None:
        """Rows from the right."""
        pieces = [*line("ابحرم"), *line("BA", top=40)]
        assert read(pieces, "right_to_left", algorithm) == "مرحبا\nAB"

    def test_columns(self, algorithm: str | None) -> None:
        """Columns from the left, each from the top."""
        pieces = [row("上", 40, 10), row("下", 40, 30), row("左", 0, 10), row("右", 0, 30)]
        assert read(pieces, "vertical_top_to_bottom", algorithm) == "左右 上下"

    def test_columns_from_below(self, algorithm: str | None) -> None:
        """Columns from the right, each from below."""
        pieces = [row("a", 40, 30), row("b", 40, 10), row("c", 0, 30), row("d", 0, 10)]
        assert read(pieces, "vertical_bottom_to_top", algorithm) == "ab cd"

    def test_delimiter(self, algorithm: str | None) -> None:
        """It stands between the pieces of a line, not around line breaks."""
        pieces = [*line("ABC"), *line("DE", top=40)]
        assert read(pieces, algorithm=algorithm, delimiter="-") == "A-B-C\nD-E"

    @pytest.mark.parametrize("direction", [*DIRECTIONS, "auto"])
    def test_few(self, direction: str, algorithm: str | None) -> None:
        """Nothing is an empty text, one piece is itself, also when it has no size."""
        assert read([], direction, algorithm) == ""
        assert read([row("Ä 1", 5, 5)], direction, algorithm) == "Ä 1"
        assert read([row("i", 5, 5, 0, 0), row("i", 5, 5, 0, 0)], direction, algorithm) == "ii"

    def test_auto(self, algorithm: str | None) -> None:
        """Wide boxes are in rows, others in columns, for each set on its own."""
        wide = [row("A", 0, 0, 30), row("B", 40, 0, 30)]
        tall = [row("A", 0, 0, 10, 30), row("B", 0, 40, 10, 30), row("C", 40, 0, 10, 30)]
        assert read(wide, "auto", algorithm) == "AB"
        assert read(tall, "auto", algorithm) == "AB C"

    def test_without_names(self, algorithm: str | None) -> None:
        """Detections without class names say their class ids."""
        rows = sv.Detections(np.array([[0, 0, 9, 9.0]]), class_id=np.array([7]))
        block = StitchOCRDetectionsBlockV2()
        got = block.run(Batch([rows]), algorithm or "tolerance", "left_to_right", 9, "", 1, 9)
        assert got == [{"ocr_text": "7"}]

    @given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=12))
    def test_nothing_is_lost(self, algorithm: str | None, places: list[tuple[int, int]]) -> None:
        """Every piece is in the text once."""
        pieces = [row(chr(65 + place), *at) for place, at in enumerate(places)]
        text = read(pieces, "left_to_right", algorithm)
        letters = text.replace("\n", "").replace(" ", "")
        assert sorted(letters) == [name for name, _ in pieces]


class TestTolerance:
    @pytest.mark.parametrize(
        ("tolerance", "text"), [(1, "A\nB\nC\nD"), (2, "AB\nCD"), (19, "AB\nCD"), (22, "ACBD")]
    )
    def test_grouping(self, tolerance: int, text: str) -> None:
        """A line reaches from its first beginning as far as the tolerance."""
        pieces = [row("A", 10, 0), row("B", 30, 2), row("C", 10, 20), row("D", 30, 22)]
        for algorithm in (None, "tolerance"):
            assert read(pieces, algorithm=algorithm, tolerance=tolerance) == text

    @pytest.mark.parametrize("top", range(12))
    def test_anywhere(self, top: int) -> None:
        """What lies within the tolerance is one line wherever it lies in the image."""
        assert read([row("A", 0, top), row("B", 20, top + 2)], tolerance=10) == "AB"

    def test_brute_force(self) -> None:
        """As a loop over all pieces groups them."""
        rng = np.random.default_rng(1)
        for _ in range(50):
            tops = rng.integers(0, 60, 8)
            pieces = [row(str(i), 20 * i, int(top)) for i, top in enumerate(tops)]
            left, expected = set(range(8)), []
            while left:
                first = min(tops[i] for i in left)
                group = sorted(i for i in left if tops[i] <= first + 7)
                left -= set(group)
                expected.append("".join(map(str, group)))
            assert read(pieces, tolerance=7) == "\n".join(expected)


class TestOtsu:
    WORDS = [*line("HI", step=12, left=0), *line("BYE", step=12, left=80)]

    def test_words(self) -> None:
        """A gap that is much wider than the others divides words."""
        assert read(self.WORDS, algorithm="otsu") == "HI BYE"
        assert read(self.WORDS, algorithm="otsu", delimiter="_") == "H_I_B_Y_E"

    def test_one_word(self) -> None:
        """Even gaps divide nothing."""
        assert read(line("HELLO", step=12), algorithm="otsu") == "HELLO"

    def test_gaps_of_all_lines(self) -> None:
        """One threshold for the whole text, so that a line of one gap is divided, too."""
        pieces = [*self.WORDS, row("A", 0, 60), row("B", 60, 60)]
        assert read(pieces, algorithm="otsu") == "HI BYE\nA B"

    def test_columns(self) -> None:
        """In columns gaps are vertical."""
        pieces = [row(text, box[1], box[0]) for text, box in self.WORDS]
        assert read(pieces, "vertical_top_to_bottom", "otsu") == "HI BYE"

    def test_any_size(self) -> None:
        """Gaps are measured in widths of letters."""
        larger = [row(t, b[0] * 9, b[1] * 9, 90, 90) for t, b in self.WORDS]
        assert read(larger, algorithm="otsu") == "HI BYE"

    @pytest.mark.parametrize(("multiplier", "text"), [(0, "H I B Y E"), (9, "HIBYE")])
    def test_multiplier(self, multiplier: float, text: str) -> None:
        """Low values divide more, high ones less."""
        assert read(self.WORDS, algorithm="otsu", multiplier=multiplier) == text

    @pytest.mark.parametrize(
        ("gaps", "expected"),
        [
            ([0.05, 0.1, 0.08, 0.12, 1.5, 1.4, 1.6], (0.12 + 1.4) / 2),
            ([0.05, 0.1, 0.08, 0.12, 0.07, 0.11], None),
            ([-0.9, 0.1, 0.12], None),  # letters that overlap are no words
            ([1.0, 1.0, 1.0], None),
            ([0.1], None),
            ([], None),
        ],
    )
    def test_word_gap(self, gaps: list[float], expected: float | None) -> None:
        """Half way between the widest gap of letters and the narrowest of words, by hand."""
        assert word_gap(np.array(gaps)) == (None if expected is None else pytest.approx(expected))

    @given(st.lists(st.integers(0, 40), min_size=2, max_size=30))
    def test_brute_force(self, gaps: list[int]) -> None:
        """The threshold has the largest variance between groups of all thresholds."""
        values = np.array(gaps, np.float64)
        found = word_gap(values)
        if found is None:
            return

        def between(threshold: float) -> float:
            low, high = values[values <= threshold], values[values > threshold]
            return len(low) * len(high) * (high.mean() - low.mean()) ** 2 if len(high) else 0.0

        assert between(found) == pytest.approx(max(map(between, sorted(values)[:-1])))


class TestCollimate:
    SKEWED = [row("S", 10, 0), row("K", 30, 8), row("E", 50, 16), row("W", 70, 24)]

    def test_skewed(self) -> None:
        """A line may go down by more than its height."""
        assert read(self.SKEWED, algorithm="collimate", collimate_tolerance=5) == "SKEW"
        assert read(self.SKEWED, algorithm="collimate", collimate_tolerance=3) == "S\nK\nE\nW"
        assert read(self.SKEWED, algorithm="tolerance") == "SK\nEW"

    def test_two_skewed_lines(self) -> None:
        """Each goes its own way."""
        below = [row(t.lower(), box[0], box[1] + 30) for t, box in self.SKEWED]
        pieces = [*below, *self.SKEWED]
        assert read(pieces, algorithm="collimate", collimate_tolerance=5) == "SKEW\nskew"

    def test_skewed_columns(self) -> None:
        """The same for columns, from below."""
        pieces = [row(t, box[1], -box[0]) for t, box in self.SKEWED]
        assert read(pieces, "vertical_bottom_to_top", "collimate", collimate_tolerance=5) == "SKEW"


class TestFields:
    def test_batch(self) -> None:
        """A text for each set of detections."""
        batch = Batch([rows_of(line("AB")), rows_of([]), rows_of(line("C"))])
        got = StitchOCRDetectionsBlockV1().run(batch, "left_to_right", 10, "")
        assert got == [{"ocr_text": "AB"}, {"ocr_text": ""}, {"ocr_text": "C"}]

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"tolerance": 0}, "Field `tolerance` must be a whole number from 1 to"),
            ({"tolerance": "5"}, "Field `tolerance` must be a whole number from 1 to"),
            ({"delimiter": 5}, "Field `delimiter` must be a text, got 5."),
            ({"direction": "up"}, "Field `reading_direction` must be one of `left_to_right`"),
            (
                {"algorithm": "x"},
                "Field `stitching_algorithm` must be tolerance, otsu or",
            ),
            ({"multiplier": -1}, "Field `otsu_threshold_multiplier` must be a number from 0 to"),
            ({"collimate_tolerance": -1}, "Field `collimate_tolerance` must be a whole number"),
        ],
    )
    def test_refused(self, changed: dict[str, Any], message: str) -> None:
        """Values that come from elsewhere are checked."""
        with pytest.raises(InvalidFieldValueError) as error:
            read(line("AB"), **{"algorithm": "otsu", **changed})
        assert str(error.value).startswith(message)

    def test_tolerance_of_the_manifest(self) -> None:
        """0 px are refused at once."""
        with pytest.raises(ValidationError, match="tolerance"):
            StitchOCRDetectionsManifestV1(
                type="roboflow_core/stitch_ocr_detections@v1",
                name="s",
                predictions="$steps.ocr.predictions",
                reading_direction="auto",
                tolerance=0,
            )

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_thousands(self, algorithm: str) -> None:
        """A page of 2500 letters is read."""
        pieces = [piece for top in range(50) for piece in line("x" * 50, top=20 * top, step=12)]
        assert read(pieces, algorithm=algorithm, collimate_tolerance=0) == "\n".join(
            ["x" * 50] * 50
        )
