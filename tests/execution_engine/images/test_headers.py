from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest

from execution_engine.images.headers import encoded_size


def encode(extension: str, height: int, width: int, flags: list[int] | None = None) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), np.uint8)
    ok, content = cv2.imencode(extension, pixels, flags or [])
    assert ok
    return content.tobytes()


class TestEncodedSize:
    @pytest.mark.parametrize("size", [(5, 7), (1, 1), (300, 257), (64, 1000)])
    @pytest.mark.parametrize(
        ("extension", "flags"),
        [
            (".png", []),
            (".jpg", []),
            (".jpg", [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]),
            (".webp", [cv2.IMWRITE_WEBP_QUALITY, 101]),
            (".webp", [cv2.IMWRITE_WEBP_QUALITY, 80]),
            (".bmp", []),
            (".tiff", []),
            (".gif", []),
            (".ppm", []),
        ],
    )
    def test_agrees_with_the_decoder(
        self, extension: str, flags: list[int], size: tuple[int, int]
    ) -> None:
        """The header says the size that decoding gives, in every format and odd sizes."""
        content = encode(extension, *size, flags)
        decoded = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        assert encoded_size(content) == decoded.shape[:2] == size

    def test_avif(self) -> None:
        """AVIF files state their size in an `ispe` box."""
        assert encoded_size(encode(".avif", 40, 60)) == (40, 60)

    def test_webp_with_extended_header(self) -> None:
        """The canvas of an extended WebP is 24-bit sizes less one."""
        content = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"
        content += (1999).to_bytes(3, "little") + (999).to_bytes(3, "little")
        assert encoded_size(content) == (1000, 2000)

    def test_bmp_stored_from_the_top(self) -> None:
        """A negative height only says in which order the rows are stored."""
        content = b"BM" + b"\x00" * 12 + struct.pack("<Iii", 40, 7, -5)
        assert encoded_size(content) == (5, 7)

    def test_pnm_comments(self) -> None:
        """Comments may stand between the numbers of a PNM header."""
        assert encoded_size(b"P5\n# made by hand\n7 # width\n5\n255\n") == (5, 7)

    @pytest.mark.parametrize(
        "content",
        [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n\x00", b"hello world", b"\x80\x04\x95", b"II*\x00"],
    )
    def test_unknown_or_cut_off(self, content: bytes) -> None:
        """Bytes that are no known format, or end within the header, have no size."""
        assert encoded_size(content) is None
