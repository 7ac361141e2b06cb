"""`classification_label_visualization@v1`: which classes are written, where, in which colours."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.visualizations.classification_label_visualization.v1 import Label, read_labels
from tests.blocks.visualizations.scenes import classification, run

SIZE = (200, 300, 3)
SINGLE = {
    "image": {"width": 300, "height": 200},
    "predictions": [
        {"class": "dog", "class_id": 1, "confidence": 0.8},
        {"class": "cat", "class_id": 0, "confidence": 0.2},
    ],
    "top": "dog",
    "confidence": 0.8,
}
RED, GREEN = (0, 0, 255), (0, 255, 0)
COLOURS = {"color_palette": "CUSTOM", "custom_colors": ["#ff0000", "#00ff00"]}


def write(predictions: Any = None, **fields: Any) -> np.ndarray:
    inputs = {"predictions": classification() if predictions is None else predictions}
    black = np.zeros(SIZE, np.uint8)
    return run("classification_label_v1", None, black, inputs=inputs, **COLOURS, **fields)


def box(result: np.ndarray, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of what has a colour."""
    x, y, width, height = cv2.boundingRect((result == colour).all(axis=2).view(np.uint8))
    return x, y, x + width, y + height


class TestReadLabels:
    def test_single_label(self) -> None:
        """The class on top with its confidence."""
        assert read_labels(SINGLE) == [Label("dog", 0.8, 1)]

    def test_multi_label(self) -> None:
        """All predicted classes, in order."""
        assert read_labels(classification()) == [Label("cat", 0.9, 0), Label("dog", 0.6, 1)]

    @pytest.mark.parametrize(
        "predictions",
        [
            SINGLE | {"top": ""},
            SINGLE | {"top": None},
            classification() | {"predicted_classes": []},
        ],
    )
    def test_undecided(self, predictions: Any) -> None:
        """No class, no label, and the image stays as it is."""
        assert read_labels(predictions) == []
        assert not write(predictions).any()

    @pytest.mark.parametrize(
        ("predictions", "message"),
        [
            ([], "`predictions` must be the result of a classifier, got list"),
            ({"top": "cat"}, "`predictions` must be the result of a classifier"),
            (SINGLE | {"top": "bird"}, "gives the class 'bird' no confidence"),
            (classification() | {"predicted_classes": ["bird"]}, "class 'bird' no confidence"),
        ],
    )
    def test_refused(self, predictions: Any, message: str) -> None:
        """What is no result of a classifier is named."""
        with pytest.raises(ValueError, match=message):
            read_labels(predictions)


class TestClassificationLabel:
    def test_one_below_the_other(self) -> None:
        """Several classes are stacked in order, each in its colour."""
        result = write(text_scale=0.5)
        first, second = box(result, RED), box(result, GREEN)
        assert first[:2] == (0, 0)
        assert (second[0], second[1]) == (0, first[3])

    @pytest.mark.parametrize(
        ("position", "edges"),
        [
            ("TOP_LEFT", {0: 0, 1: 0}),
            ("TOP_RIGHT", {1: 0, 2: 300}),
            ("BOTTOM_LEFT", {0: 0, 3: 200}),
            ("BOTTOM_RIGHT", {2: 300, 3: 200}),
            ("TOP_CENTER", {1: 0}),
            ("CENTER_RIGHT", {2: 300}),
            ("CENTER", {}),
        ],
    )
    def test_position(self, position: str, edges: dict[int, int]) -> None:
        """The label lies inside the image, at its place."""
        found = box(write(SINGLE, text_position=position), GREEN)
        assert {index: found[index] for index in edges} == edges
        assert found[0] >= 0
        assert found[2] <= 300

    def test_centre(self) -> None:
        """In the middle, as much is free on both sides."""
        left, top, right, bottom = box(write(SINGLE, text_position="CENTER"), GREEN)
        assert abs(left - (300 - right)) <= 1
        assert abs(top - (200 - bottom)) <= 1

    def test_texts(self) -> None:
        """Each text has its own look; name and number take the most room."""
        widths = [
            box(write(SINGLE, text=text), GREEN)[2]
            for text in ("Class", "Confidence", "Class and Confidence")
        ]
        assert widths[2] > widths[0]
        assert widths[2] > widths[1]

    def test_colour_by_place(self) -> None:
        """INDEX gives the first class the first colour."""
        result = write(SINGLE, color_axis="INDEX")
        assert (result == RED).all(axis=2).any()
        assert not (result == GREEN).all(axis=2).any()

    def test_no_tracks(self) -> None:
        """Classes of an image have no tracks."""
        with pytest.raises(ValueError, match=r"TRACK colours by tracker id.*use CLASS or INDEX"):
            write(color_axis="TRACK")
