"""Turns results of a run into plain JSON trees that can be compared with recorded ones. Compares
nothing.

Leaves without a JSON form become one-member objects: `$image` (shape, mean and standard deviation a
channel, thumbnail), `$array`, `$bytes`, `$object`, `$error`. Ids made during the run become
`<uuid:N>`, numbered by first appearance.
"""

from __future__ import annotations

import base64
import datetime
import enum
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import cv2
import numpy as np

THUMBNAIL_SIDE = 48
LARGEST_LISTED_ARRAY = 64
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Tree = Any


def summarise_image(pixels: np.ndarray) -> dict[str, Any]:
    """Shape, statistics and a PNG thumbnail (base64, longest side 48 px) of (h, w) or (h, w, c)
    pixels.
    """
    height, width = pixels.shape[:2]
    values = pixels.reshape(height, width, -1).astype(np.float64)
    scale = min(1.0, THUMBNAIL_SIDE / max(height, width, 1))
    small = pixels
    if scale < 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    if small.dtype != np.uint8:
        small = np.clip(small, 0, 255).astype(np.uint8)
    _, png = cv2.imencode(".png", small)
    return {
        "shape": list(pixels.shape),
        "mean": [round(float(value), 3) for value in values.mean((0, 1))],
        "std": [round(float(value), 3) for value in values.std((0, 1))],
        "thumb": base64.b64encode(png.tobytes()).decode("ascii"),
    }


def summarise_array(array: np.ndarray) -> dict[str, Any]:
    """Shape, kind of number, and the numbers (64 at most) or their statistics."""
    summary: dict[str, Any] = {"shape": list(array.shape), "kind": array.dtype.kind}
    if array.dtype.kind in "biuf" and array.size:
        if array.size <= LARGEST_LISTED_ARRAY:
            summary["data"] = plain(array.tolist())
        else:
            values = array.astype(np.float64)
            for name in ("mean", "std", "min", "max"):
                summary[name] = float(getattr(values, name)())
    return {"$array": summary}


def plain(value: Any) -> Tree:
    """JSON tree of any value."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, np.ndarray):
        return summarise_array(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": len(value)}
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "numpy_image") and hasattr(value, "parent_metadata"):
        return {"$image": summarise_image(value.numpy_image)}
    return {"$object": type(value).__name__}


def merge(serialised: Any, live: Any) -> Tree:
    """Tree of a serialised result whose pictures are summarised from the live result of the same
    run.

    Where there is no live picture the JPEG text is decoded and the summary marked `lossy`.
    """
    if _is_serialised_image(serialised):
        pixels = live if isinstance(live, np.ndarray) else getattr(live, "numpy_image", None)
        if pixels is None:
            summary = {**summarise_image(_decoded(serialised["value"])), "lossy": True}
        else:
            summary = summarise_image(pixels)
        rest = {
            key: plain(item) for key, item in serialised.items() if key not in ("type", "value")
        }
        return {"$image": summary, **rest}
    if isinstance(serialised, dict):
        members = live if isinstance(live, dict) else {}
        return {str(key): merge(item, members.get(key)) for key, item in serialised.items()}
    if isinstance(serialised, (list, tuple)):
        twins: list[Any] = [None] * len(serialised)
        if isinstance(live, (list, tuple)) and len(live) == len(serialised):
            twins = list(live)
        return [merge(item, twin) for item, twin in zip(serialised, twins, strict=True)]
    return plain(serialised)


def mask_ids(tree: Tree, given: Collection[str] = ()) -> Tree:
    """The tree with every uuid that was not `given` replaced by `<uuid:N>`."""
    numbers: dict[str, int] = {}

    def masked(match: re.Match[str]) -> str:
        text = match[0]
        if text in given:
            return text
        return f"<uuid:{numbers.setdefault(text, len(numbers) + 1)}>"

    def walk(node: Tree, key: str | None = None) -> Tree:
        if isinstance(node, dict):
            return {name: walk(node[name], name) for name in sorted(node)}
        if isinstance(node, list):
            return [walk(item, key) for item in node]
        if isinstance(node, str) and key != "thumb":
            return UUID.sub(masked, node)
        return node

    return walk(tree)


def describe_error(error: BaseException) -> Tree:
    """`{"$error": ...}`: class, the blocks and properties it names, status code and (shortened)
    message.
    """
    named = [
        (getattr(entry, "block_id", None), getattr(entry, "property_name", None))
        for entry in getattr(error, "blocks_errors", None) or []
    ]
    if not named and getattr(error, "block_id", None):
        named = [(error.block_id, None)]  # type: ignore[attr-defined]
    described: dict[str, Any] = {
        "class": type(error).__name__,
        "blocks": [block for block, _ in named],
    }
    if any(name is not None for _, name in named):
        described["properties"] = [name for _, name in named]
    if getattr(error, "status_code", None):
        described["status_code"] = error.status_code  # type: ignore[attr-defined]
    described["message"] = str(getattr(error, "public_message", None) or error)[:300]
    return {"$error": described}


def _is_serialised_image(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "base64"
        and isinstance(value.get("value"), str)
    )


def _decoded(text: str) -> np.ndarray:
    encoded = np.frombuffer(base64.b64decode(text.split(",", 1)[-1]), np.uint8)
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED))
