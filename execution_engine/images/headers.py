"""The size of an encoded image from its header, to apply a limit before pixels exist.

Decodes nothing.
"""

from __future__ import annotations

import re
import struct

READABLE_FORMATS = "JPEG, PNG, WebP, BMP, GIF, TIFF, AVIF, PNM"

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Start-of-frame markers of JPEG: C4, C8 and CC lie in the same range and mean other things.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_BODY = frozenset(range(0xD0, 0xDA)) | {0x01}
_AVIF_SEARCH_BYTES = 1 << 16
_PNM_HEADER = re.compile(rb"P[1-6](?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)\s")


def encoded_size(content: bytes) -> tuple[int, int] | None:
    """(height, width) in px that the header of an encoded image states.

    Args:
        content: the encoded image in one of `READABLE_FORMATS`.

    Returns:
        None when the bytes start like none of these formats or the header is cut off.
    """
    try:
        if content.startswith(_PNG_SIGNATURE):
            width, height = struct.unpack_from(">II", content, 16)
            return height, width
        if content.startswith(b"\xff\xd8"):
            return _jpeg_size(content)
        if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
            return _webp_size(content)
        if content.startswith(b"GIF8"):
            width, height = struct.unpack_from("<HH", content, 6)
            return height, width
        if content.startswith(b"BM"):
            return _bmp_size(content)
        if content[:4] in (b"II*\x00", b"MM\x00*"):
            return _tiff_size(content)
        if content[4:12] in (b"ftypavif", b"ftypavis"):
            return _avif_size(content)
        found = _PNM_HEADER.match(content[:4096])
        if found:
            return int(found.group(2)), int(found.group(1))
    except (struct.error, IndexError):
        return None
    return None


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    position = 2
    while True:
        while content[position] != 0xFF:
            position += 1
        while content[position] == 0xFF:
            position += 1
        marker = content[position]
        position += 1
        if marker in _JPEG_WITHOUT_BODY:
            if marker == 0xD9:
                return None
            continue
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, position + 3)
            return height, width
        position += struct.unpack_from(">H", content, position)[0]


def _webp_size(content: bytes) -> tuple[int, int] | None:
    chunk = content[12:16]
    if chunk == b"VP8X":
        width = int.from_bytes(content[24:27], "little") + 1
        height = int.from_bytes(content[27:30], "little") + 1
        return height, width
    if chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return ((bits >> 14) & 0x3FFF) + 1, (bits & 0x3FFF) + 1
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", content, 26)
        return height & 0x3FFF, width & 0x3FFF
    return None


def _bmp_size(content: bytes) -> tuple[int, int]:
    (header_size,) = struct.unpack_from("<I", content, 14)
    if header_size == 12:
        width, height = struct.unpack_from("<HH", content, 18)
        return height, width
    width, height = struct.unpack_from("<ii", content, 18)
    # A negative height means that rows are stored from the top.
    return abs(height), abs(width)


def _tiff_size(content: bytes) -> tuple[int, int] | None:
    order = "<" if content.startswith(b"II") else ">"
    (directory,) = struct.unpack_from(f"{order}I", content, 4)
    (entries,) = struct.unpack_from(f"{order}H", content, directory)
    sizes: dict[int, int] = {}
    for entry in range(entries):
        at = directory + 2 + 12 * entry
        tag, field_type = struct.unpack_from(f"{order}HH", content, at)
        if tag in (256, 257):
            sizes[tag] = struct.unpack_from(
                f"{order}{'H' if field_type == 3 else 'I'}", content, at + 8
            )[0]
    if len(sizes) < 2:
        return None
    return sizes[257], sizes[256]


def _avif_size(content: bytes) -> tuple[int, int] | None:
    # A grid image has one `ispe` box for its tiles and one for the whole: the whole is the largest.
    head, sizes, at = content[:_AVIF_SEARCH_BYTES], [], 0
    while (at := head.find(b"ispe", at)) >= 0:
        width, height = struct.unpack_from(">II", head, at + 8)
        sizes.append((height, width))
        at += 4
    return max(sizes, key=lambda size: size[0] * size[1]) if sizes else None
