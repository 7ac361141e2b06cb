from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.columns import column, copy_of, select, with_columns
from blocks.kinds.detections.compact import compact_from_dense
from execution_engine.images import WorkflowImageData

Make = Callable[..., sv.Detections]


class TestColumn:
    BOXES = np.array([[1, 2, 5, 10], [0, 0, 3, 4]], np.float32)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("xyxy", [[1, 2, 5, 10], [0, 0, 3, 4]]),
            ("x_min", [1, 0]),
            ("y_min", [2, 0]),
            ("x_max", [5, 3]),
            ("y_max", [10, 4]),
            ("size", [32, 12]),
            ("center", [[3, 6], [1.5, 2]]),
            ("top_left", [[1, 2], [0, 0]]),
            ("top_right", [[5, 2], [3, 0]]),
            ("bottom_left", [[1, 10], [0, 4]]),
            ("bottom_right", [[5, 10], [3, 4]]),
            ("confidence", [0.5, 0.25]),
            ("class_id", [7, 8]),
            ("tracker_id", [1, 2]),
            ("class_name", ["a", "b"]),
        ],
    )
    def test_values(self, name: str, expected: list[Any]) -> None:
        """Each property is one entry a row."""
        detections = sv.Detections(
            self.BOXES,
            confidence=np.array([0.5, 0.25], np.float32),
            class_id=np.array([7, 8]),
            tracker_id=np.array([1, 2]),
            data={"class_name": np.array(["a", "b"])},
        )
        assert np.asarray(column(detections, name)).tolist() == expected

    @pytest.mark.parametrize("name", ["confidence", "class_id", "tracker_id", "width", "nonsense"])
    def test_not_there(self, name: str) -> None:
        """A property the detections lack is a `KeyError` that names it."""
        with pytest.raises(KeyError, match=name):
            column(sv.Detections(self.BOXES), name)


class TestSelect:
    @pytest.mark.parametrize("rows", [np.array([False, True, True]), np.array([1, 2])])
    def test_rows(self, make: Make, rows: np.ndarray, ellipse_masks: Any) -> None:
        """A boolean mask and positions pick rows of every column, masks too."""
        masks = ellipse_masks(3, 20, 30)
        polygon = np.fromiter([[1], None, [3]], object, 3)
        for mask in (masks, compact_from_dense(masks)):
            result = select(make(3, mask=mask, polygon=polygon), rows)
            assert result.data["class_name"].tolist() == ["class-1", "class-2"]
            assert result.data["polygon"].tolist() == [None, [3]]
            assert np.array_equal(np.asarray(result.mask), masks[1:])

    def test_order_of_positions(self, make: Make) -> None:
        """Positions give the order, also twice the same row."""
        names = select(make(3), np.array([2, 0, 2])).data["class_name"].tolist()
        assert names == ["class-2", "class-0", "class-2"]

    @pytest.mark.parametrize("rows", [np.zeros(3, bool), np.array([], int), np.array([])])
    def test_no_row_left(self, make: Make, root_image: WorkflowImageData, rows: Any) -> None:
        """When nothing is left the columns stay and the image is known from the metadata."""
        detections = make(3, root_image)
        result = select(detections, rows)
        assert len(result) == 0
        assert result.data.keys() == detections.data.keys()
        assert result.data["image_dimensions"].shape == (0, 2)
        assert result.metadata["image_dimensions"] == [60, 90]
        assert result.metadata["parent_id"] == "image"
        assert not detections.metadata

    def test_of_no_rows(self, make: Make, root_image: WorkflowImageData) -> None:
        """Selecting from nothing keeps columns and metadata."""
        empty = make(0, root_image)
        result = select(empty, np.zeros(0, bool))
        assert result.metadata == empty.metadata
        assert result is not empty


class TestWithColumns:
    def test_replaced_and_added(self, make: Make) -> None:
        """Fields and data columns are replaced or added, the rest is shared, nothing in place."""
        detections = make(2)
        result = with_columns(
            detections,
            {"xyxy": detections.xyxy + 1, "class_name": np.array(["x", "y"]), "score": [1, 2]},
        )
        assert np.array_equal(result.xyxy, detections.xyxy + 1)
        assert result.data["class_name"].tolist() == ["x", "y"]
        assert result.data["score"] == [1, 2]
        assert result.confidence is detections.confidence
        assert detections.data["class_name"].tolist() == ["class-0", "class-1"]
        assert "score" not in detections.data

    def test_wrong_length(self, make: Make) -> None:
        """A column of another length is refused."""
        with pytest.raises(ValueError, match="score"):
            with_columns(make(2), {"score": np.zeros(3)})


class TestCopyOf:
    @pytest.mark.parametrize("compact", [True, False])
    def test_nothing_is_shared(
        self, make: Make, root_image: WorkflowImageData, compact: bool, ellipse_masks: Any
    ) -> None:
        """Writing to every array of a copy leaves the original as it was."""
        masks = ellipse_masks(2, 20, 30)
        mask = compact_from_dense(masks) if compact else masks.copy()
        polygon = np.fromiter([np.ones((3, 2)), {"a": [1]}], object, 2)
        detections = make(2, root_image, mask=mask, polygon=polygon)
        result = copy_of(detections)
        assert np.array_equal(np.asarray(result.mask), masks)
        result.xyxy[:] = result.confidence[:] = result.class_id[:] = 9
        for values in result.data.values():
            if values.dtype != object:
                values[:] = values[::-1]
        result.data["polygon"][0][:] = 7
        result.data["polygon"][1]["a"].append(2)
        if compact:
            result.mask._offsets[:] = result.mask._rles[0][:] = 0
        else:
            result.mask[:] = False
        fresh = make(2, root_image)
        assert np.array_equal(detections.xyxy, fresh.xyxy)
        assert np.array_equal(detections.data["class_name"], fresh.data["class_name"])
        assert detections.data["polygon"][0].tolist() == [[1, 1]] * 3
        assert detections.data["polygon"][1] == {"a": [1]}
        assert np.array_equal(np.asarray(detections.mask), masks)
