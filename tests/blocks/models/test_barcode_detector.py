"""`barcode_detector`: codes drawn from the tables of the standards are read again."""

from __future__ import annotations

import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest

from blocks.models.barcode_detector.family import read_barcodes
from blocks.models.barcode_detector.symbologies import code_128_text, read_widths
from blocks.models.barcode_detector.v1 import BarcodeDetectorBlockV1
from blocks.models.read_codes import ReadCode, distinct_codes, overlap
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

ASSETS = Path(__file__).parents[2] / "conformance" / "assets"

# Modules of the digits in the left half, odd parity, 1 for a bar.
ODD = ("0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011",
       "0110111", "0001011")  # fmt: skip
PARITIES = ("OOOOOO", "OOEOEE", "OOEEOE", "OOEEEO", "OEOOEE", "OEEOOE", "OEEEOO", "OEOEOE",
            "OEOEEO", "OEEOEO")  # fmt: skip
RIGHT = ["".join("10"[int(module)] for module in digit) for digit in ODD]
EVEN = [digit[::-1] for digit in RIGHT]
MODULE, QUIET, HEIGHT = 3, 10, 90


def with_check(digits: str) -> str:
    """The digits and their check digit."""
    total = sum(int(d) * (3, 1)[place % 2] for place, d in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def ean_13(text: str) -> str:
    """Modules of 13 digits."""
    left = "".join(
        (ODD if parity == "O" else EVEN)[int(digit)]
        for parity, digit in zip(PARITIES[int(text[0])], text[1:7], strict=True)
    )
    return f"101{left}01010{''.join(RIGHT[int(digit)] for digit in text[7:])}101"


def ean_8(text: str) -> str:
    """Modules of 8 digits."""
    left, right = "".join(ODD[int(d)] for d in text[:4]), "".join(RIGHT[int(d)] for d in text[4:])
    return f"101{left}01010{right}101"


# Bars and gaps, n narrow and w wide.
CODE_39 = {
    "*": "nwnnwnwnn", "A": "wnnnnwnnw", "B": "nnwnnwnnw", "1": "wnnwnnnnw", "7": "nnnwnnwnw",
    "0": "nnnwwnwnn", "-": "nwnnnnwnw", " ": "nwwnnnwnn", "$": "nwnwnwnnn", "/": "nwnwnnnwn",
    "+": "nwnnnwnwn", "%": "nnnwnwnwn", ".": "wwnnnnwnn", "Z": "nwwnwnnnn",
}  # fmt: skip


def code_39(text: str, wide: int = 3) -> str:
    """Modules of a text between two guards."""
    characters = []
    for character in f"*{text}*":
        elements = enumerate(CODE_39[character])
        characters.append(
            "".join(("0" if at % 2 else "1") * (wide if e == "w" else 1) for at, e in elements)
        )
    return "0".join(characters)


def drawn(modules: str, module: int = MODULE, height: int = HEIGHT) -> np.ndarray:
    """(h, w) uint8: the bars in the middle of a white picture."""
    line = np.array([255 * (bit == "0") for bit in modules], np.uint8).repeat(module)
    bars = np.tile(np.pad(line, QUIET * module, constant_values=255), (height, 1))
    return np.pad(bars, ((40, 40), (0, 0)), constant_values=255)


def turned(pixels: np.ndarray, degrees: float) -> np.ndarray:
    """The picture turned about its middle, on a larger one."""
    side = int(np.hypot(*pixels.shape)) + 20
    middle = pixels.shape[1] / 2, pixels.shape[0] / 2
    matrix = cv2.getRotationMatrix2D(middle, degrees, 1)
    matrix[:, 2] += side / 2 - np.array(middle)
    return cv2.warpAffine(pixels, matrix, (side, side), borderValue=(230,))


def texts(pixels: np.ndarray) -> list[str]:
    """What is read."""
    return [code.text for code in read_barcodes(pixels)]


class TestReadBarcodes:
    @pytest.mark.parametrize("first", range(10))
    def test_ean_13(self, first: int) -> None:
        """Every first digit, which only the parities say, and all digits in both halves."""
        text = with_check(f"{first}0213456987{first}5"[:12])
        expected = text[1:] if first == 0 else text
        assert texts(drawn(ean_13(text))) == [expected]

    @pytest.mark.parametrize("text", ["9638507", "0000000", "1234567", "5512345"])
    def test_ean_8(self, text: str) -> None:
        """Eight digits."""
        assert texts(drawn(ean_8(with_check(text)))) == [with_check(text)]

    @pytest.mark.parametrize("wide", [2, 3])
    @pytest.mark.parametrize("text", ["ABBA-17", "0 $/+%.Z", "1" * 30])
    def test_code_39(self, text: str, wide: int) -> None:
        """Letters, digits and signs, with wide bars of two and of three modules."""
        assert texts(drawn(code_39(text, wide), 2)) == [text]

    @pytest.mark.parametrize(("name", "text"), [("code128", "CORPUS-128"),
                                                ("ean13", "4006381333931")])  # fmt: skip
    @pytest.mark.parametrize("degrees", range(0, 360, 15))
    def test_directions(self, name: str, text: str, degrees: int) -> None:
        """A code that others drew is read once in whatever direction it lies."""
        pixels = cv2.imread(str(ASSETS / f"{name}.png"), cv2.IMREAD_GRAYSCALE)
        assert pixels is not None
        assert texts(turned(pixels, degrees)) == [text]

    @pytest.mark.parametrize("module", [1, 2, 3, 5])
    @pytest.mark.parametrize("height", [15, 120])
    def test_blur_and_noise(self, module: int, height: int) -> None:
        """Blur of half a bar, little contrast and noise are no hindrance."""
        text = with_check("978030640615")
        pixels = cv2.GaussianBlur(drawn(ean_13(text), module, height), (0, 0), module / 2) * 0.6
        noisy = pixels + np.random.default_rng(1).normal(30, 6, pixels.shape)
        assert texts(np.clip(noisy, 0, 255).astype(np.uint8)) == [text]

    def test_uneven_light(self) -> None:
        """A shadow that runs across the code."""
        text = with_check("400638133393")
        pixels = drawn(ean_13(text))
        light = np.linspace(0.25, 1, pixels.shape[1])
        assert texts((pixels * light).astype(np.uint8)) == [text]

    def test_box(self) -> None:
        """The box goes from the first bar to the last and from top to bottom, within a line."""
        pixels = drawn(ean_13(with_check("400638133393")))
        (code,) = read_barcodes(pixels)
        dark = np.argwhere(pixels == 0)
        (top, left), (bottom, right) = dark.min(axis=0), dark.max(axis=0) + 1
        assert np.allclose(code[1:], (left, top, right, bottom), atol=3)

    def test_up_to_the_edge(self) -> None:
        """A picture of nothing but the bars is read, and its box is all of it."""
        pixels = drawn(ean_13(with_check("400638133393")))
        dark = np.argwhere(pixels == 0)
        (top, left), (bottom, right) = dark.min(axis=0), dark.max(axis=0) + 1
        bars = np.ascontiguousarray(pixels[top:bottom, left:right])
        (code,) = read_barcodes(bars)
        assert np.allclose(code[1:], (0, 0, bars.shape[1], bars.shape[0]), atol=2)

    def test_several(self) -> None:
        """Codes of all kinds, two of them alike, each once and from top to bottom."""
        eight, long = with_check("9638507"), with_check("400638133393")
        parts = [drawn(ean_8(eight)), drawn(ean_13(long)), drawn(code_39("ABBA")),
                 drawn(ean_13(long))]  # fmt: skip
        width = max(part.shape[1] for part in parts)
        picture = np.concatenate(
            [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=255) for p in parts]
        )
        found = read_barcodes(picture)
        assert [code.text for code in found] == [eight, long, "ABBA", long]
        assert not any(overlap(a, b) for a, b in itertools.pairwise(found))

    def test_wrong_check_digit(self) -> None:
        """A code whose check digit is wrong is not read."""
        text = with_check("400638133393")
        wrong = f"{text[:-1]}{(int(text[-1]) + 1) % 10}"
        assert texts(drawn(ean_13(wrong))) == []

    @pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 2), (3, 3), (60, 80, 3)])
    @pytest.mark.parametrize("level", [0, 128, 255])
    def test_nothing(self, shape: tuple[int, ...], level: int) -> None:
        """Pictures of one tone hold no code, however small."""
        assert texts(np.full(shape, level, np.uint8)) == []

    @pytest.mark.parametrize("seed", range(3))
    def test_texture(self, seed: int) -> None:
        """No code is seen in random pixels or random bars."""
        random = np.random.default_rng(seed)
        bars = np.tile(random.integers(0, 2, 800).astype(np.uint8) * 255, (60, 1))
        assert texts(bars) == []
        assert texts(random.integers(0, 256, (200, 300), dtype=np.uint8)) == []


class TestReadWidths:
    def test_no_edges(self) -> None:
        """A picture without bars."""
        assert list(read_widths(np.empty(0))) == []

    def test_no_quiet_zone(self) -> None:
        """Bars right beside a code make it a part of something else."""
        modules = ean_13(with_check("400638133393"))
        for text in (modules, f"10{modules}", f"{modules}01"):
            line = np.array([0, *map(int, text), 0])
            edges = np.flatnonzero(np.diff(line)).astype(np.float64)
            assert len(list(read_widths(edges))) == (text == modules)


class TestCode128Text:
    """Values by hand from the table: A is 33, start A 103, B 104, C 105."""

    @pytest.mark.parametrize(
        ("values", "text"),
        [
            ([104, 33, 34], "AB"),
            ([105, 12, 34, 0], "123400"),
            ([104, 65, 99, 12, 100, 66], "a12b"),
            ([103, 33, 65, 64, 101], None),
            ([103, 33, 73, 100, 73], "A\ti"),
            ([104, 65, 98, 73, 66], "a\tb"),
            ([103, 98, 65, 33], "aA"),
            ([105, 102, 12, 102, 34], "12\x1d34"),
            ([104, 97, 33], None),
            ([105, 103, 12], None),
        ],
    )
    def test_code_sets(self, values: list[int], text: str | None) -> None:
        """Letters, pairs of digits, control characters, shifts and changes of set."""
        check = (values[0] + sum(i * v for i, v in enumerate(values[1:], 1))) % 103
        assert code_128_text([*values, check]) == text

    @pytest.mark.parametrize("values", [[104, 33, 34, 0], [33, 34, 35], [104, 104], []])
    def test_wrong(self, values: list[int]) -> None:
        """A wrong check character, no start, nothing in between."""
        assert code_128_text(values) is None


class TestDistinctCodes:
    def test_parts_are_joined(self) -> None:
        """Overlapping readings of one text are one code, also when a third one links them."""
        parts = [
            ReadCode("a", 0, 0, 10, 10),
            ReadCode("a", 18, 0, 30, 10),
            ReadCode("a", 8, 2, 20, 12),
        ]
        assert distinct_codes(parts, (50, 50)) == [ReadCode("a", 0, 0, 30, 12)]

    def test_places(self) -> None:
        """One text in two places is two codes; of two texts in one place the first stays."""
        codes = [ReadCode("a", 0, 20, 10, 30), ReadCode("a", 0, 0, 10, 10),
                 ReadCode("b", 1, 0, 10, 10), ReadCode("c", 8, 8, 40, 60)]  # fmt: skip
        assert distinct_codes(codes, (50, 50)) == [
            ReadCode("a", 0, 0, 10, 10), ReadCode("c", 8, 8, 40, 50), ReadCode("a", 0, 20, 10, 30),
        ]  # fmt: skip


class TestBarcodeDetectorBlockV1:
    def test_batch(self) -> None:
        """One set of detections an image, with the texts and the lineage; also without codes."""
        text = with_check("400638133393")
        pictures = [drawn(ean_13(text)), np.full((50, 60, 3), 200, np.uint8)]
        images = [
            WorkflowImageData(ImageParentMetadata(f"image.[{number}]"), numpy_image=pixels)
            for number, pixels in enumerate(pictures)
        ]
        first, second = BarcodeDetectorBlockV1().run(Batch(images))
        found, none = first["predictions"], second["predictions"]
        assert found.data["data"].tolist() == [text]
        assert found.data["class_name"].tolist() == ["barcode"]
        assert found.data["parent_id"].tolist() == ["image.[0]"]
        assert found.data["prediction_type"].tolist() == ["barcode-detection"]
        assert (found.class_id.tolist(), found.confidence.tolist()) == ([0], [1.0])
        assert len(none) == 0
        assert none.metadata["image_dimensions"] == [50, 60]
        assert "data" in none.data

    def test_no_image(self) -> None:
        """What is no picture is refused."""
        with pytest.raises(InvalidFieldValueError, match="shape"):
            read_barcodes(np.zeros((3, 3, 2), np.uint8))
