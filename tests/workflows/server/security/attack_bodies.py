"""Bodies that attack a server: workflows, images and texts, made as small as they can be."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import cv2
import numpy as np


def png(width: int = 8, height: int = 6) -> str:
    """A real PNG as base64 text."""
    pixels = np.random.default_rng(3).integers(0, 256, (height, width, 3), np.uint8)
    return base64.b64encode(cv2.imencode(".png", pixels)[1].tobytes()).decode()


def flat_png(width: int, height: int) -> str:
    """A real PNG of one colour: few bytes, many pixels."""
    encoded = cv2.imencode(".png", np.zeros((height, width, 3), np.uint8))[1]
    return base64.b64encode(encoded.tobytes()).decode()


def png_bomb(width: int = 20_000, height: int = 20_000) -> str:
    """A PNG of a few hundred bytes whose header promises many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    content += chunk(b"IDAT", zlib.compress(b"\0" * 10_000)) + chunk(b"IEND", b"")
    return base64.b64encode(content).decode()


def jpeg_bomb() -> str:
    """A JPEG of a few bytes that states 65500 x 65500 px."""
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 65_500, 65_500) + b"\x03" + b"\0" * 9
    return base64.b64encode(b"\xff\xd8" + frame + b"\xff\xd9").decode()


def gif_bomb() -> str:
    """A GIF header of 65535 x 65535 px."""
    return base64.b64encode(b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + b"\0" * 20).decode()


def tiff_bomb() -> str:
    """A TIFF directory that states 2**31 x 2**31 px."""
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, 1 << 31) for tag in (256, 257))
    content = b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", 2) + entries + b"\0" * 4
    return base64.b64encode(content).decode()


def image_input(name: str = "image") -> dict[str, Any]:
    """The declaration of an image."""
    return {"type": "WorkflowImage", "name": name}


def parameter(name: str, **more: Any) -> dict[str, Any]:
    """The declaration of a parameter."""
    return {"type": "WorkflowParameter", "name": name, **more}


def workflow(
    inputs: list[Any], steps: list[Any], outputs: dict[str, str] | None = None
) -> dict[str, Any]:
    """A definition."""
    fields = [
        {"type": "JsonField", "name": name, "selector": selector}
        for name, selector in (outputs or {}).items()
    ]
    return {"version": "1.0", "inputs": inputs, "steps": steps, "outputs": fields}


def step(block: str, name: str = "s", **fields: Any) -> dict[str, Any]:
    """A step of one of our blocks."""
    return {"type": f"roboflow_core/{block}", "name": name, **fields}


def run(specification: Any, **inputs: Any) -> dict[str, Any]:
    """The body of a run."""
    return {"specification": specification, "inputs": inputs}


def run_block(block: str, image: Any = None, outputs: Any = None, **fields: Any) -> dict[str, Any]:
    """A run of one block on an image, its numbers given as parameters that no schema has seen."""
    literal = {name: value for name, value in fields.items() if not _is_number(value)}
    numbers = {name: value for name, value in fields.items() if _is_number(value)}
    references = {name: f"$inputs.{name}" for name in numbers}
    definition = workflow(
        [image_input(), *(parameter(name) for name in numbers)],
        [step(block, image="$inputs.image", **literal, **references)],
        outputs or {"out": "$steps.s.*"},
    )
    return run(definition, image={"type": "base64", "value": image or png()}, **numbers)


def run_on(value: Any) -> dict[str, Any]:
    """A run that only reads an image."""
    definition = workflow(
        [image_input()],
        [step("image_blur@v1", image="$inputs.image")],
        {"out": "$steps.s.image"},
    )
    return run(definition, image=value)


def run_operations(operations: list[Any], value: Any) -> dict[str, Any]:
    """A run of operations of the query language on a value."""
    definition = workflow(
        [parameter("value")],
        [step("property_definition@v1", data="$inputs.value", operations=operations)],
        {"out": "$steps.s.output"},
    )
    return run(definition, value=value)


def run_model(model_id: str) -> dict[str, Any]:
    """A run of a model."""
    definition = workflow(
        [image_input()],
        [step("roboflow_object_detection_model@v2", images="$inputs.image", model_id=model_id)],
        {"out": "$steps.s.predictions"},
    )
    return run(definition, image={"type": "base64", "value": png()})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
