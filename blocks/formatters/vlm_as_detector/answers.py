"""Boxes in what vision-language models answer, each model in its own form. Knows no manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from blocks.formatters.confidences import UnreadableAnswerError, confidence_of
from blocks.formatters.vlm_as_detector.uploads import claude_upload, openai_upload
from blocks.parameters import FARTHEST_PLACE

LABELS = ("label", "description", "class_name", "class")
CORNERS = ("x_min", "y_min", "x_max", "y_max")

Size = tuple[int, int]
"""(height, width), px."""
Corners = tuple[float, float, float, float]
"""x_min, y_min, x_max, y_max, px of the image."""


class FoundObject(NamedTuple):
    """One object that a model found.

    Attributes:
        corners: of its box.
        name: its class.
        confidence: 0..1.
    """

    corners: Corners
    name: str
    confidence: float


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How a model writes the objects it found.

    Attributes:
        corners: box of an entry on an image of a size.
        skips_broken: entries that cannot be read are passed over, unless all of them are such.
        has_confidence: whether the model is asked for confidences; others say nothing, or guess.
        nameless: class of an entry without one, None where that makes the entry broken.
    """

    corners: Callable[[Mapping[str, Any], Size], Corners]
    skips_broken: bool = False
    has_confidence: bool = True
    nameless: str | None = None


def read_objects(document: Any, form: AnswerForm, size: Size) -> list[FoundObject]:
    """The objects of an answer.

    Args:
        document: the JSON of the answer: a list of entries, an object with such a list under
            `detections`, or one entry.
        form: how the model writes entries.
        size: (height, width) of the image, px.

    Raises:
        UnreadableAnswerError: the answer has another form.
    """
    found, entries = [], _entries(document)
    for entry in entries:
        try:
            found.append(_read_entry(entry, form, size))
        except UnreadableAnswerError:
            if not form.skips_broken:
                raise
    if entries and not found:
        raise UnreadableAnswerError("none of the entries holds a box")
    return found


def number_of(value: Any) -> float:
    """A coordinate of an answer as a float.

    Raises:
        UnreadableAnswerError: it is no number, or none that a place in an image can have.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and abs(value) <= FARTHEST_PLACE:
        return float(value)
    raise UnreadableAnswerError("a coordinate is no number or far outside any image")


def _entries(document: Any) -> list[Any]:
    if isinstance(document, Mapping):
        listed = document.get("detections")
        if isinstance(listed, list):
            return listed
        if all(corner in document for corner in CORNERS) or _box(document) is not None:
            return [document]
    elif isinstance(document, list):
        return document
    raise UnreadableAnswerError("there is no list of objects")


def _read_entry(entry: Any, form: AnswerForm, size: Size) -> FoundObject:
    if not isinstance(entry, Mapping):
        raise UnreadableAnswerError("an entry is no object")
    said = [name for label in LABELS if isinstance(name := entry.get(label), str) and name]
    name = said[0] if said else form.nameless
    if name is None:
        raise UnreadableAnswerError("an entry has no class")
    confidence = confidence_of(entry.get("confidence")) if form.has_confidence else 1.0
    return FoundObject(form.corners(entry, size), name, confidence)


def _box(entry: Mapping[str, Any]) -> Any:
    return entry.get("box_2d", entry.get("bbox_2d"))


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or len(values) != len(CORNERS):
        raise UnreadableAnswerError("a box has not four numbers")
    return [number_of(value) for value in values]


def _named_corners(entry: Mapping[str, Any]) -> list[float]:
    return [number_of(entry.get(corner)) for corner in CORNERS]


def _scaled(box: list[float], extent: Size, size: Size, within: bool) -> Corners:
    """A box brought from a grid of (height, width) `extent` to an image of `size`.

    Args:
        box: x_min, y_min, x_max, y_max on the grid.
        within: whether corners outside the grid are moved to its border.
    """
    corners = []
    for value, most, pixels in zip(box, extent[::-1] * 2, size[::-1] * 2, strict=True):
        inside = min(max(value, 0.0), float(most)) if within else value
        corners.append(float(round(inside / most * pixels)))
    left, top, right, bottom = corners
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _shares(entry: Mapping[str, Any], size: Size) -> Corners:
    """Corners by name as shares of the image's sides, which may reach beyond it."""
    return _scaled(_named_corners(entry), (1, 1), size, within=False)


def _gemini(entry: Mapping[str, Any], size: Size) -> Corners:
    """`box_2d` with y before x in thousandths, or shares."""
    if "box_2d" not in entry:
        return _shares(entry, size)
    top, left, bottom, right = _numbers(entry["box_2d"])
    return _scaled([left, top, right, bottom], (1000, 1000), size, within=False)


def _on_upload(
    entry: Mapping[str, Any], size: Size, upload: Callable[[Size], Size] | Size
) -> Corners:
    """`box_2d` with x before y on a grid of (height, width), or shares."""
    if "box_2d" not in entry:
        return _shares(entry, size)
    extent = upload(size) if callable(upload) else upload
    return _scaled(_numbers(entry["box_2d"]), extent, size, within=True)


def _thousandths(entry: Mapping[str, Any], size: Size) -> Corners:
    """`box_2d` or `bbox_2d` with x before y in thousandths."""
    return _scaled(_numbers(_box(entry)), (1000, 1000), size, within=True)


def _glm_flash(entry: Mapping[str, Any], size: Size) -> Corners:
    """`bbox_2d` with x before y, or `box_2d` with y before x, in thousandths."""
    if "bbox_2d" in entry:
        return _scaled(_numbers(entry["bbox_2d"]), (1000, 1000), size, within=True)
    top, left, bottom, right = _numbers(entry.get("box_2d"))
    return _scaled([left, top, right, bottom], (1000, 1000), size, within=True)


def _named_thousandths(entry: Mapping[str, Any], size: Size) -> Corners:
    """Corners by name in thousandths."""
    return _scaled(_named_corners(entry), (1000, 1000), size, within=True)


_LENIENT = partial(AnswerForm, skips_broken=True, has_confidence=False, nameless="unknown")

ANSWER_FORMS: Mapping[str, AnswerForm] = {
    "openai": AnswerForm(partial(_on_upload, upload=openai_upload)),
    "google-gemini": AnswerForm(_gemini),
    "anthropic-claude": AnswerForm(partial(_on_upload, upload=claude_upload)),
    "spacexai": AnswerForm(partial(_on_upload, upload=(100, 100))),
    "qwen": _LENIENT(_thousandths),
    "muse": _LENIENT(_named_thousandths),
    "zai": _LENIENT(_thousandths),
    "zai-flash": _LENIENT(_glm_flash),
}
"""Forms by `model_type`."""
