"""Reads the metadata of an ONNX file without loading its graph or any ONNX library."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from inference_models.errors import CorruptedModelPackageError

# Field numbers of ModelProto and StringStringEntryProto in onnx.proto.
_METADATA_PROPS = 14
_KEY = 1
_VALUE = 2

# Wire types of protocol buffers.
_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5
_MAX_METADATA_ENTRY = 16 * 1024 * 1024


def read_onnx_metadata(path: Path) -> dict[str, str]:
    """The custom metadata of an ONNX file; the graph is skipped over, so the cost does not grow
    with the weights.

    Raises:
        CorruptedModelPackageError: the file is no protocol buffer of a model.
    """
    size = path.stat().st_size
    entries: dict[str, str] = {}
    with path.open("rb") as file:
        try:
            while file.tell() < size:
                field, wire_type = divmod(_read_varint(file), 8)
                if wire_type == _VARINT:
                    _read_varint(file)
                elif wire_type in (_FIXED64, _FIXED32):
                    file.seek(8 if wire_type == _FIXED64 else 4, 1)
                elif wire_type == _LENGTH_DELIMITED:
                    length = _read_varint(file)
                    if file.tell() + length > size:
                        raise ValueError(f"field {field} ends past the end of the file")
                    if field == _METADATA_PROPS and length <= _MAX_METADATA_ENTRY:
                        key, value = _read_entry(file, length)
                        entries[key] = value
                    else:
                        file.seek(length, 1)
                else:
                    raise ValueError(f"wire type {wire_type} at byte {file.tell()}")
        except (ValueError, EOFError) as error:
            raise CorruptedModelPackageError(f"{path} is not an ONNX file: {error}") from error
    return entries


def _read_entry(file: BinaryIO, length: int) -> tuple[str, str]:
    end = file.tell() + length
    key = value = ""
    while file.tell() < end:
        field, wire_type = divmod(_read_varint(file), 8)
        if wire_type != _LENGTH_DELIMITED:
            raise ValueError(f"wire type {wire_type} in a metadata entry")
        length = _read_varint(file)
        if file.tell() + length > end:
            raise ValueError("a text in the metadata is longer than its entry")
        text = file.read(length).decode("utf-8")
        if field == _KEY:
            key = text
        elif field == _VALUE:
            value = text
    return key, value


def _read_varint(file: BinaryIO) -> int:
    result = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise EOFError("the file ends in the middle of a number")
        result |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return result
    raise ValueError("a number is longer than ten bytes")
