"""`qr_code_detector`: codes that OpenCV or others made are read again."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from blocks.models.qr_code_detector.family import read_qr_codes, text_of
from blocks.models.qr_code_detector.v1 import QRCodeDetectorBlockV1
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowImageData

ASSETS = Path(__file__).parents[2] / "conformance" / "assets"
ADDRESS = "https://example.org/item/42"


def drawn(text: str, module: int = 6, mode: int = cv2.QRCODE_ENCODER_MODE_AUTO) -> np.ndarray:
    """(h, h) uint8: a code with a white margin of six modules."""
    parameters = cv2.QRCodeEncoder.Params()
    parameters.mode = mode
    parameters.correction_level = cv2.QRCODE_ENCODER_CORRECT_LEVEL_M
    code = cv2.QRCodeEncoder.create(parameters).encode(text)
    return np.pad(code, 4, constant_values=255).repeat(module, axis=0).repeat(module, axis=1)


class TestReadQRCodes:
    @pytest.mark.parametrize(
        "text", ["a", "12345678", "HELLO", ADDRESS, "Straße 日本 😀", "x" * 800]
    )
    def test_texts(self, text: str) -> None:
        """Any text comes back as it was."""
        assert [code.text for code in read_qr_codes(drawn(text))] == [text]

    @pytest.mark.parametrize("degrees", [0, 20, 45, 90, 170, 200, 300])
    def test_turned(self, degrees: int) -> None:
        """A turned code is read once, and its box is upright and not turned inside out."""
        pixels = drawn(ADDRESS)
        side = pixels.shape[0]
        matrix = cv2.getRotationMatrix2D((side / 2, side / 2), degrees, 1)
        matrix[:, 2] += side / 4
        picture = cv2.warpAffine(pixels, matrix, (side * 3 // 2,) * 2, borderValue=(200,))
        (code,) = read_qr_codes(picture)
        inner = side - 2 * 6 * 6
        extent = inner * (abs(np.cos(np.deg2rad(degrees))) + abs(np.sin(np.deg2rad(degrees))))
        middle = side * 3 / 4
        expected = (
            middle - extent / 2,
            middle - extent / 2,
            middle + extent / 2,
            middle + extent / 2,
        )
        assert code.text == ADDRESS
        assert np.allclose(code[1:], expected, atol=6)

    def test_two_alike(self) -> None:
        """Two codes of one text side by side are two codes, from left to right."""
        first, second = read_qr_codes(np.concatenate([drawn("same"), drawn("same")], axis=1))
        assert (first.text, second.text) == ("same", "same")
        assert first.x1 < second.x0

    def test_drawn_by_others(self) -> None:
        """Two codes of another encoder."""
        pixels = cv2.imread(str(ASSETS / "qr_two.png"))
        assert pixels is not None
        found = read_qr_codes(pixels)
        assert {code.text for code in found} == {"corpus:alpha", ADDRESS}

    def test_spoiled(self) -> None:
        """A code that is seen but cannot be read is left out."""
        pixels = drawn(ADDRESS, 8)
        middle = slice(pixels.shape[0] // 3, 2 * pixels.shape[0] // 3)
        pixels[middle, middle] = 255
        assert read_qr_codes(pixels) == []

    @pytest.mark.parametrize("shape", [(1, 1), (1, 90), (21, 21), (60, 80, 3)])
    @pytest.mark.parametrize("level", [0, 128, 255])
    def test_nothing(self, shape: tuple[int, ...], level: int) -> None:
        """Pictures of one tone hold no code, however small."""
        assert read_qr_codes(np.full(shape, level, np.uint8)) == []


class TestTextOf:
    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"abc", "abc"),
            ("grün 日本".encode(), "grün 日本"),
            ("grün".encode("latin-1"), "grün"),
            ("日本語テスト".encode("shift_jis"), "日本語テスト"),
            (b"\xe9t\xe9", "été"),
            (b"\x81\x20\x81\x20", "\x81 \x81 "),
        ],
    )
    def test_encodings(self, data: bytes, text: str) -> None:
        """UTF-8, then kanji, then ISO-8859-1, which takes anything."""
        assert text_of(data) == text


class TestQRCodeDetectorBlockV1:
    def test_batch(self) -> None:
        """One set of detections an image, with the texts and the lineage; also without codes."""
        pictures = [drawn(ADDRESS), np.full((50, 60, 3), 200, np.uint8)]
        images = [
            WorkflowImageData(ImageParentMetadata(f"image.[{number}]"), numpy_image=pixels)
            for number, pixels in enumerate(pictures)
        ]
        first, second = QRCodeDetectorBlockV1().run(Batch(images))
        found, none = first["predictions"], second["predictions"]
        assert found.data["data"].tolist() == [ADDRESS]
        assert found.data["class_name"].tolist() == ["qr_code"]
        assert found.data["parent_id"].tolist() == ["image.[0]"]
        assert found.data["prediction_type"].tolist() == ["qrcode-detection"]
        assert (found.class_id.tolist(), found.confidence.tolist()) == ([0], [1.0])
        assert len(none) == 0
        assert none.metadata["image_dimensions"] == [50, 60]
