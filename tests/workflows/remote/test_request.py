"""Inputs as JSON: by what the workflow declares, without loss, with clear refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import supervision as sv

from execution_engine.errors import RuntimeInputError
from workflows import Session
from workflows.remote.images import ImageWriter
from workflows.remote.request import InputWriter
from workflows.remote.signature import InputShape

SHAPES = {"image": InputShape(("image",)), "value": InputShape(())}


@pytest.fixture
def writer(session: Session) -> InputWriter:
    """A writer with the core codecs."""
    return InputWriter(ImageWriter(session.image_codec), session.registry.codecs)


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class TestWrite:
    def test_lists_and_nested_lists_of_images(
        self, writer: InputWriter, picture: np.ndarray
    ) -> None:
        """Nesting stays; an element that is empty stays empty."""
        [[first, second], [nothing]] = writer.write(
            {"image": [[picture, picture], [None]]}, SHAPES
        )["image"]
        assert first == second
        assert first["type"] == "base64"
        assert nothing is None

    def test_text_of_a_parameter_is_text(self, writer: InputWriter, picture_file: Any) -> None:
        """The name of a file in a parameter is not read."""
        assert writer.write({"value": str(picture_file)}, SHAPES) == {"value": str(picture_file)}

    def test_numbers_of_numpy_and_containers_become_json(self, writer: InputWriter) -> None:
        """What a local run takes is sent."""
        given = {"value": {"a": np.float32(0.5), "b": (1, np.int64(2)), "c": np.arange(3)}}
        assert writer.write(given, SHAPES) == {"value": {"a": 0.5, "b": [1, 2], "c": [0, 1, 2]}}

    def test_predictions_keep_every_pixel_of_their_masks(self, writer: InputWriter) -> None:
        """Masks go out as codes, not as outlines."""
        mask = np.zeros((1, 9, 9), bool)
        mask[0, 1:8, 1:8] = True
        mask[0, 3:5, 3:5] = False  # an outline would fill the hole
        detections = sv.Detections(
            xyxy=np.array([[1, 1, 8, 8]], np.float32),
            mask=mask,
            confidence=np.array([0.5], np.float32),
            class_id=np.array([0]),
            data={"class_name": np.array(["ring"]), "image_dimensions": np.array([[9, 9]])},
        )
        [row] = writer.write({"value": detections}, SHAPES)["value"]["predictions"]
        from pycocotools import mask as coco

        code = {"size": row["rle_mask"]["size"], "counts": row["rle_mask"]["counts"].encode()}
        np.testing.assert_array_equal(coco.decode(code).astype(bool), mask[0])

    def test_undeclared_inputs_are_sent_too(self, writer: InputWriter) -> None:
        """The server says what it makes of them."""
        assert writer.write({"other": 1}, SHAPES) == {"other": 1}

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (math.nan, "'value' is nan, which JSON cannot say"),
            ([1.0, {"x": math.inf}], r"'value\.\[1\]\.x' is inf"),
            (2**70, "more than 64 bits"),
            (object(), "a value of type object has no JSON form"),
            (np.array([1.0, math.nan]), r"'value' holds numbers that JSON cannot say"),
            ({"x": np.array([[math.inf]])}, r"'value\.x' holds numbers"),
            (np.array([2**70], object), "more than 64 bits"),
            (["\ud800"], r"'value\.\[0\]' is text with half a character"),
            (_endless(), "nested too deep, or holds itself"),
        ],
    )
    def test_refuses_what_json_cannot_say(
        self, writer: InputWriter, value: Any, words: str
    ) -> None:
        """The input is named."""
        with pytest.raises(RuntimeInputError, match=words) as caught:
            writer.write({"value": value}, SHAPES)
        assert "Input 'value' cannot be sent" in str(caught.value)

    def test_refuses_inputs_that_are_no_object(self, writer: InputWriter) -> None:
        """As a local run does."""
        with pytest.raises(RuntimeInputError, match="an object of values by name"):
            writer.write([1], SHAPES)  # type: ignore[arg-type]
