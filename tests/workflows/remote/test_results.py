"""Answers back into objects: by kind and depth where they are known, with care where not."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import supervision as sv

from execution_engine.block_api import WorkflowImageData
from execution_engine.images.metadata import ImageParentMetadata
from execution_engine.images.serialise import serialise_image
from workflows import Session
from workflows.remote.errors import ServerAnswerError
from workflows.remote.results import ResultReader
from workflows.remote.signature import OutputShape, Signature

BOXES = {
    "image": {"width": 20, "height": 10},
    "predictions": [
        {
            "x": 5.0, "y": 5.0, "width": 4.0, "height": 2.0, "confidence": 0.5, "class": "nut",
            "class_id": 0, "detection_id": "a",
        }
    ],
}  # fmt: skip


@pytest.fixture
def reader(session: Session) -> ResultReader:
    """A reader with the core codecs and a small limit on images."""
    return ResultReader(session.registry.codecs, 1000, "http://server")


@pytest.fixture
def image_json() -> dict[str, Any]:
    """A small image as a server sends it."""
    pixels = np.zeros((4, 6, 3), np.uint8)
    return serialise_image(WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels))


def read(reader: ResultReader, value: Any, kinds: Any, depth: int | None = 0) -> Any:
    [row] = reader.read([{"out": value}], Signature(outputs={"out": OutputShape(kinds, depth)}))
    return row["out"]


class TestRead:
    def test_kinds_become_their_types(
        self, reader: ResultReader, image_json: dict[str, Any]
    ) -> None:
        """Images, predictions, dates, points and bytes are what a local run gives."""
        assert isinstance(read(reader, image_json, ("image",)), WorkflowImageData)
        boxes = read(reader, BOXES, ("object_detection_prediction",))
        assert isinstance(boxes, sv.Detections)
        assert boxes.xyxy.tolist() == [[3, 4, 7, 6]]
        assert read(reader, "2026-01-02T03:04:05", ("timestamp",)) == datetime(2026, 1, 2, 3, 4, 5)
        assert read(reader, [3, 4], ("point",)) == (3, 4)
        assert read(reader, "AAE=", ("bytes",)) == b"\x00\x01"
        assert read(reader, 3, ("integer",)) == 3

    def test_the_first_kind_that_reads_wins(self, reader: ResultReader) -> None:
        """As the first kind that writes does on the server."""
        kinds = ("image", "object_detection_prediction")
        assert isinstance(read(reader, BOXES, kinds), sv.Detections)

    def test_empty_elements_stay_empty(self, reader: ResultReader) -> None:
        """At every depth."""
        assert read(reader, None, ("image",)) is None
        assert read(reader, [[None], []], ("image",), 2) == [[None], []]

    def test_depth_tells_lists_of_values_from_values_that_are_lists(
        self, reader: ResultReader
    ) -> None:
        """A list of two points is no zone and no point."""
        assert read(reader, [[1, 2], [3, 4]], ("point",), 1) == [(1, 2), (3, 4)]
        array = read(reader, [[1, 2], [3, 4]], ("numpy_array",), 0)
        assert array.shape == (2, 2)

    def test_without_a_known_depth_what_is_no_value_is_a_list_of_some(
        self, reader: ResultReader, image_json: dict[str, Any]
    ) -> None:
        """For workflows that only the server knows."""
        nested = read(reader, [[image_json], []], ("image",), None)
        assert isinstance(nested[0][0], WorkflowImageData)
        assert nested[1] == []
        assert read(reader, [1, 2], ("list_of_values",), None) == [1, 2]

    def test_all_outputs_of_a_step_by_their_own_kinds(
        self, reader: ResultReader, image_json: dict[str, Any]
    ) -> None:
        """At depth 0 and deeper."""
        kinds = {"picture": ("image",), "count": ("integer",)}
        value = {"picture": image_json, "count": 3}
        assert isinstance(read(reader, value, kinds)["picture"], WorkflowImageData)
        assert isinstance(read(reader, [value], kinds, 1)[0]["picture"], WorkflowImageData)

    def test_values_of_no_declared_kind_stay_json_but_for_images(
        self, reader: ResultReader, image_json: dict[str, Any]
    ) -> None:
        """Contours have no reader, `*` has none by nature."""
        assert read(reader, [[[1, 2]]], ("contours",)) == [[[1, 2]]]
        mixed = read(reader, {"deep": [image_json, 1]}, ("*",))
        assert isinstance(mixed["deep"][0], WorkflowImageData)
        assert mixed["deep"][1] == 1

    def test_outputs_that_nobody_declared_are_kept(self, reader: ResultReader) -> None:
        """A server may know more than this side."""
        assert reader.read([{"new": [1]}], Signature()) == [{"new": [1]}]

    def test_a_value_of_another_kind_is_named(self, reader: ResultReader) -> None:
        """The text names output, server and the way out."""
        with pytest.raises(ServerAnswerError) as caught:
            read(reader, "five", ("integer",))
        assert str(caught.value) == (
            "The output 'out' of the server http://server does not read as any of its kinds (as "
            "integer: `out` must be an integer, got str 'five'). `serialize=True` gives it as it "
            "came."
        )

    def test_no_answer_makes_this_side_read_a_file(
        self, reader: ResultReader, picture_file: Path
    ) -> None:
        """A server that answers with a path gets an error."""
        for image in ({"type": "file", "value": str(picture_file)}, str(picture_file)):
            with pytest.raises(ServerAnswerError, match="does not read"):
                read(reader, image, ("image",))

    def test_images_over_the_limit_are_refused(self, reader: ResultReader) -> None:
        """The limit on pixels holds for answers, too."""
        pixels = np.zeros((40, 40, 3), np.uint8)
        big = serialise_image(WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels))
        with pytest.raises(ServerAnswerError, match="at most 1000 px"):
            read(reader, big, ("image",))
