"""Rows of objects: construction, choice, joining, schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.masks import InstanceMasks, MaskError
from inference_models.predictions import (
    Detections,
    InstanceDetections,
    KeyPoints,
    OrientedDetections,
    PredictionError,
)

SIZE = (60, 80)
NAMES = ("cat", "dog")


def boxes(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    corners = np.sort(rng.uniform(0, 60, (count, 2, 2)), axis=1)
    return {
        "xyxy": corners.reshape(count, 4),
        "confidence": np.linspace(0.9, 0.1, count),
        "class_id": np.arange(count) % 2,
        "image_size": SIZE,
        "class_names": NAMES,
    }


def detections(count: int = 3) -> Detections:
    return Detections(**boxes(count), data={"score": np.arange(count)})


def instances(count: int = 3, mask_size: tuple[int, int] = SIZE) -> InstanceDetections:
    dense = np.zeros((count, *mask_size), np.bool_)
    for index in range(count):
        dense[index, index : index + 4, 2 * index : 2 * index + 5] = True
    masks = InstanceMasks.from_dense(dense, image_size=SIZE)
    return InstanceDetections(**boxes(count), masks=masks)


def oriented(count: int = 3) -> OrientedDetections:
    columns = boxes(count)
    del columns["xyxy"]
    xywhr = np.random.default_rng(1).uniform(5, 40, (count, 5)).astype(np.float32)
    return OrientedDetections.from_xywhr(xywhr, **columns)


def keypoints(count: int = 3, slots: int = 4) -> KeyPoints:
    rng = np.random.default_rng(2)
    return KeyPoints(
        **boxes(count),
        xy=rng.uniform(1, 50, (count, slots, 2)),
        keypoint_confidence=rng.uniform(0, 1, (count, slots)),
        visible=np.ones((count, slots)),
    )


EVERY = [detections, instances, oriented, keypoints]


class TestConstruction:
    def test_types(self) -> None:
        """Columns take their fixed types whatever was given."""
        made = detections()
        assert made.xyxy.dtype == made.confidence.dtype == np.float32
        assert made.class_id.dtype == np.int32
        assert made.tracker_id is None

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"xyxy": np.zeros((3, 5))}, r"Detections\.xyxy must be \(n, 4\), got shape \(3, 5\)"),
            ({"confidence": [0.5]}, r"Detections\.confidence must have 3 rows like xyxy, got 1"),
            ({"class_id": [[1], [1], [1]]}, r"Detections\.class_id must be \(n,\), got shape"),
            ({"data": {"a": [1]}}, r"Detections\.data\['a'\] must have 3 rows, got 1"),
            ({"image_size": (0, 4)}, "image_size must be"),
        ],
    )
    def test_refused(self, change: dict[str, Any], message: str) -> None:
        """Columns of other shapes or lengths are refused by name."""
        with pytest.raises((PredictionError, MaskError), match=message):
            Detections(**{**boxes(3), **change})

    def test_one_mask_a_row(self) -> None:
        """Masks must be as many as rows, and of the same image."""
        made = instances()
        with pytest.raises(PredictionError, match="3 rows need as many masks, got 2"):
            made.replace(masks=made.masks[:2])
        with pytest.raises(PredictionError, match=r"masks of a \(60, 80\) image cannot belong to"):
            made.replace(image_size=(61, 80))

    def test_slots_agree(self) -> None:
        """Positions, confidences and visibilities must have as many points an object."""
        with pytest.raises(PredictionError, match="disagree on points an object"):
            keypoints().replace(visible=np.ones((3, 5)))

    def test_frozen(self) -> None:
        """A prediction cannot be changed, only replaced."""
        with pytest.raises(AttributeError):
            detections().confidence = None  # type: ignore[misc,assignment]


class TestEmpty:
    @pytest.mark.parametrize("make", EVERY)
    def test_same_schema(self, make: Any) -> None:
        """A result without objects has the columns and types of one with objects."""
        full = make()
        kwargs = {"slots": 4} if make is keypoints else {}
        none = type(full).empty(SIZE, class_names=NAMES, **kwargs)
        assert len(none) == 0
        full_columns, columns = full.columns(), none.columns()
        for name in full.data:
            del full_columns[name]
        assert list(columns) == list(full_columns)
        for name, column in columns.items():
            assert column.dtype == full_columns[name].dtype
            assert column.shape[1:] == full_columns[name].shape[1:]

    def test_mask_grid(self) -> None:
        """Without objects the masks' grid is still named."""
        none = InstanceDetections.empty(SIZE, (15, 20))
        assert none.mask_size == (15, 20)
        assert none.masks.image_size == none.image_size == SIZE

    @pytest.mark.parametrize("make", EVERY)
    def test_selecting_nothing(self, make: Any) -> None:
        """Choosing no row keeps every column, those of `data` too."""
        full = make()
        none = full[np.zeros(3, np.bool_)]
        assert len(none) == 0
        assert {k: v.dtype for k, v in none.columns().items()} == {
            k: v.dtype for k, v in full.columns().items()
        }


class TestSelect:
    @pytest.mark.parametrize("make", EVERY)
    @pytest.mark.parametrize(
        "rows", [slice(1, None), [2, 0], np.array([True, False, True]), np.array([-1])]
    )
    def test_all_columns_follow(self, make: Any, rows: Any) -> None:
        """Every column, and the masks, are chosen alike."""
        full = make()
        part = full[rows]
        for name, column in part.columns().items():
            np.testing.assert_array_equal(column, np.asarray(full.columns()[name])[rows])
        if make is instances:
            np.testing.assert_array_equal(part.masks.to_dense(), full.masks.to_dense()[rows])

    def test_iteration(self) -> None:
        """Iterating gives predictions of one row."""
        rows = list(instances())
        assert [len(row) for row in rows] == [1, 1, 1]
        assert rows[2].masks.areas.tolist() == [20]

    def test_filter(self) -> None:
        """Rows are kept by confidence and class name, in order."""
        assert detections(5).filter(min_confidence=0.5).confidence.tolist() == pytest.approx(
            [0.9, 0.7, 0.5]
        )
        assert detections(5).filter(class_names=["dog"]).data["score"].tolist() == [1, 3]
        assert len(detections(5).filter(class_names=[])) == 0

    def test_filter_without_names(self) -> None:
        """Class names of a prediction that has none cannot be asked for."""
        with pytest.raises(PredictionError, match="has no class_names"):
            detections().replace(class_names=None).filter(class_names=["dog"])

    def test_unknown_class(self) -> None:
        """An id without a name is an error, not another class's name."""
        with pytest.raises(PredictionError, match=r"class ids must lie in 0\.\.1, got -1\.\.1"):
            detections().replace(class_id=[0, 1, -1]).class_name  # noqa: B018


class TestConcat:
    @pytest.mark.parametrize("make", EVERY)
    def test_order(self, make: Any) -> None:
        """Rows follow each other, and come apart again."""
        one, other = make(3), make(2)
        joined = type(one).concat([one, other])
        assert len(joined) == 5
        for part, rows in ((one, slice(0, 3)), (other, slice(3, 5))):
            for name, column in joined[rows].columns().items():
                np.testing.assert_array_equal(column, part.columns()[name])

    def test_missing_column(self) -> None:
        """A column that only some parts with rows have is an error."""
        tracked = detections().replace(tracker_id=[1, 2, 3])
        with pytest.raises(PredictionError, match="only some have the column 'tracker_id'"):
            Detections.concat([tracked, detections()])

    def test_different_images(self) -> None:
        """Rows of images of different sizes are not joined."""
        with pytest.raises(PredictionError, match="cannot join Detections of different image_size"):
            Detections.concat([detections(), detections().replace(image_size=(9, 9))])

    def test_different_classes(self) -> None:
        """Ids that mean different classes are not joined."""
        with pytest.raises(PredictionError, match="different class_names"):
            Detections.concat([detections(), detections().replace(class_names=("a", "b"))])

    def test_nothing(self) -> None:
        """Joining nothing has no image."""
        with pytest.raises(PredictionError, match="needs at least one part"):
            Detections.concat([])


class TestMoved:
    @pytest.mark.parametrize("mask_size", [SIZE, (15, 20)])
    def test_instances(self, mask_size: tuple[int, int]) -> None:
        """Boxes and masks move together to the image theirs was cut from, whatever the masks'
        grid."""
        made = instances(mask_size=mask_size)
        moved = made.moved((7, 5), (100, 120))
        np.testing.assert_allclose(moved.xyxy, made.xyxy + np.array([7, 5, 7, 5]))
        expected = np.zeros((3, 100, 120), np.bool_)
        expected[:, 5:65, 7:87] = made.masks.on_image_grid().to_dense()
        np.testing.assert_array_equal(moved.masks.to_dense(), expected)
        assert moved.image_size == moved.mask_size == (100, 120)

    def test_oriented(self) -> None:
        """Corners move."""
        moved = oriented().moved((-3, 4), (70, 90))
        np.testing.assert_allclose(moved.corners, oriented().corners + np.array([-3, 4]))
        assert moved.image_size == (70, 90)

    def test_keypoints(self) -> None:
        """Points and boxes move, missing points stay missing."""
        made = keypoints()
        xy = made.xy.copy()
        xy[0, 1], xy[1, 0] = 0, np.nan
        made = made.replace(xy=xy)
        moved = made.moved((3, 4), (99, 99))
        assert moved.xy[0, 1].tolist() == [0, 0]
        assert np.isnan(moved.xy[1, 0]).all()
        np.testing.assert_allclose(moved.xy[2], xy[2] + [3, 4])
        np.testing.assert_allclose(moved.xyxy, made.xyxy + np.array([3, 4, 3, 4]))

    @pytest.mark.parametrize("make", EVERY)
    def test_empty(self, make: Any) -> None:
        """No rows move as well, and keep their columns."""
        moved = make()[:0].moved((1, 2), (99, 99))
        assert (len(moved), moved.image_size) == (0, (99, 99))
        assert list(moved.columns()) == list(make().columns())


class TestBoxesOnMaskGrid:
    def test_scaled_by_axis(self) -> None:
        """Boxes stay in px of the image; on request they come in cells of the masks' grid."""
        made = instances(mask_size=(30, 20))
        np.testing.assert_allclose(
            made.boxes_on_mask_grid(), made.xyxy * np.float32([0.25, 0.5, 0.25, 0.5])
        )


class TestOriented:
    def test_there_and_back(self) -> None:
        """Centre, sides and angle come back from the corners."""
        xywhr = np.array([[30, 20, 16, 6, 0.3], [9, 9, 4, 8, -1.2], [5, 5, 2, 2, 0]], np.float32)
        made = OrientedDetections.from_xywhr(
            xywhr, confidence=[1, 1, 1], class_id=[0, 0, 0], image_size=SIZE
        )
        np.testing.assert_allclose(made.xywhr, xywhr, atol=1e-5)

    def test_angle_turns_clockwise(self) -> None:
        """A quarter turn takes the width from the x axis to the y axis, downwards."""
        made = OrientedDetections.from_xywhr(
            np.array([[10, 10, 8, 2, np.pi / 2]], np.float32),
            confidence=[1], class_id=[0], image_size=SIZE,
        )  # fmt: skip
        np.testing.assert_allclose(made.corners[0], [[11, 6], [11, 14], [9, 14], [9, 6]], atol=1e-5)
        np.testing.assert_allclose(made.xyxy, [[9, 6, 11, 14]], atol=1e-5)
