"""Operations on detections, on a toy kind that only its codec can look into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError
from execution_engine.query_language.operations_catalogue import DETECTIONS_PROPERTIES

Run = Callable[..., Any]
Make = Callable[..., Any]

# Centres (25.75, 35.25), (140, 55), (12.5, 8.5) and (105, 60).
BOXES = [[10.5, 10, 41, 60.5], [100, 20, 180, 90], [5, 5, 20, 12], [90, 40, 120, 80]]
NAMES = ["cat", "dog", "cat", "bird"]
DETECTION_OPERATIONS: list[dict[str, Any]] = [
    {"type": "DetectionsPropertyExtract", "property_name": "confidence"},
    {
        "type": "DetectionsFilter",
        "filter_operation": {
            "type": "StatementGroup",
            "statements": [
                {
                    "type": "UnaryStatement",
                    "operand": {"type": "StaticOperand", "value": 1},
                    "operator": {"type": "Exists"},
                }
            ],
        },
    },
    {"type": "DetectionsSelection", "mode": "first"},
    {"type": "SortDetections", "mode": "size"},
    {"type": "DetectionsOffset", "offset_x": 1, "offset_y": 1},
    {"type": "DetectionsShift", "shift_x": 1, "shift_y": 1},
    {"type": "DetectionsRename", "class_map": {}, "strict": False},
    {"type": "DetectionsToDictionary"},
    {"type": "PickDetectionsByParentClass", "parent_class": "a"},
]


@pytest.mark.parametrize("operation", DETECTION_OPERATIONS, ids=lambda data: data["type"])
@pytest.mark.parametrize("value", ["boxes", None, [[0, 0, 1, 1]], np.zeros((2, 4))])
def test_only_detections_are_taken(run: Run, operation: dict[str, Any], value: Any) -> None:
    """Anything that no codec looks into is refused."""
    with pytest.raises(
        InvalidInputTypeError, match=f"{operation['type']} at .* expects detections"
    ):
        run(value, operation)


@pytest.mark.parametrize("operation", DETECTION_OPERATIONS, ids=lambda data: data["type"])
def test_input_is_not_changed(run: Run, toy: Make, operation: dict[str, Any]) -> None:
    """No operation writes to the detections it is given."""
    detections = toy(BOXES, NAMES)
    for column in (detections.xyxy, *detections.columns.values()):
        column.flags.writeable = False
    run(detections, operation)


@pytest.mark.parametrize("operation", DETECTION_OPERATIONS, ids=lambda data: data["type"])
def test_no_detections(run: Run, toy: Make, operation: dict[str, Any]) -> None:
    """No detections give no detections (or an empty list, or the object for none)."""
    result = run(toy([]), operation)
    if operation["type"] == "DetectionsToDictionary":
        assert result == {"boxes": [], "names": []}
    else:
        assert len(getattr(result, "xyxy", result)) == 0


class TestDetectionsPropertyExtract:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("x_min", [10.5, 100.0, 5.0, 90.0]),
            ("y_min", [10.0, 20.0, 5.0, 40.0]),
            ("x_max", [41.0, 180.0, 20.0, 120.0]),
            ("y_max", [60.5, 90.0, 12.0, 80.0]),
            ("size", [1540.25, 5600.0, 105.0, 1200.0]),
            ("center", [[26, 35], [140, 55], [12, 8], [105, 60]]),
            ("top_left", [[10, 10], [100, 20], [5, 5], [90, 40]]),
            ("top_right", [[41, 10], [180, 20], [20, 5], [120, 40]]),
            ("bottom_left", [[10, 60], [100, 90], [5, 12], [90, 80]]),
            ("bottom_right", [[41, 60], [180, 90], [20, 12], [120, 80]]),
            ("class_name", NAMES),
            ("class_id", [0, 1, 2, 3]),
            ("tracker_id", [4, 5, 6, 7]),
            ("image_dimensions", [[100, 200]] * 4),
            ("polygon", [[[0, 0], [1, 1]], [[2, 2]], [[3, 3]], [[4, 4]]]),
            ("time_in_zone", [0.5, None, 1.5, 2.0]),
        ],
    )
    def test_values(self, run: Run, toy: Make, name: str, expected: list[Any]) -> None:
        """Properties come as plain lists; anchors are rounded, halves to the even neighbour."""
        polygons = np.empty(4, dtype=object)
        polygons[:] = [
            np.array(points) for points in ([[0, 0], [1, 1]], [[2, 2]], [[3, 3]], [[4, 4]])
        ]
        detections = toy(
            BOXES,
            NAMES,
            tracker_id=np.array([4, 5, 6, 7]),
            image_dimensions=np.array([[100, 200]] * 4),
            polygon=polygons,
            time_in_zone=[np.float64(0.5), None, 1.5, 2.0],
        )
        got = run(detections, {"type": "DetectionsPropertyExtract", "property_name": name})
        assert got == expected
        assert _plain_types(got)

    def test_rounding(self, run: Run, toy: Make) -> None:
        """The centre of the box (5, 5, 20, 25) is (12.5, 15), rounded to (12, 15)."""
        operation = {"type": "DetectionsPropertyExtract", "property_name": "center"}
        assert run(toy([[5, 5, 20, 25]]), operation) == [[12, 15]]

    @pytest.mark.parametrize("name", DETECTIONS_PROPERTIES)
    def test_no_detections(self, run: Run, toy: Make, name: str) -> None:
        """No detections have an empty list of every property, present or not."""
        assert run(toy([]), {"type": "DetectionsPropertyExtract", "property_name": name}) == []

    def test_missing(self, run: Run, toy: Make) -> None:
        """A property that is not there is an error that names it."""
        with pytest.raises(OperationError) as caught:
            run(toy(BOXES), {"type": "DetectionsPropertyExtract", "property_name": "speed"})
        assert caught.value.public_message == (
            "DetectionsPropertyExtract at <root>.operations[0]:"
            " the detections have no property 'speed'."
        )
        assert isinstance(caught.value.inner_error, KeyError)


def _plain_types(value: Any) -> bool:
    if isinstance(value, list):
        return all(_plain_types(item) for item in value)
    return value is None or type(value) in (int, float, str)


class TestExtractDetectionProperty:
    def extract(self, run: Run, detections: Any, name: str) -> Any:
        one = {"type": "ExtractDetectionProperty", "property_name": name}
        return run(detections, {"type": "SequenceApply", "operations": [one]})

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("center", [[25.75, 35.25], [140.0, 55.0], [12.5, 8.5], [105.0, 60.0]]),
            ("top_right", [[41.0, 10.0], [180.0, 20.0], [20.0, 5.0], [120.0, 40.0]]),
            ("x_min", [10.5, 100.0, 5.0, 90.0]),
            ("class_name", NAMES),
        ],
    )
    def test_values(self, run: Run, toy: Make, name: str, expected: list[Any]) -> None:
        """Points of one detection are not rounded."""
        got = self.extract(run, toy(BOXES, NAMES), name)
        assert got == expected
        assert _plain_types(got)

    def test_tracker_id(self, run: Run, toy: Make) -> None:
        """The tracker id is the id of the track, so that filters on it match."""
        detections = toy(BOXES, tracker_id=np.array([4, 5, 6, 7]))
        assert self.extract(run, detections, "tracker_id") == [4, 5, 6, 7]

    def test_missing(self, run: Run, toy: Make) -> None:
        """Properties that detections need not have are None, the others an error."""
        assert self.extract(run, toy(BOXES), "tracker_id") == [None] * 4
        with pytest.raises(OperationError, match="the detections have no property 'class_id'"):
            self.extract(run, toy(BOXES, class_id=None), "class_id")

    def test_refuses(self, run: Run, toy: Make) -> None:
        """Detections are not one detection."""
        with pytest.raises(
            InvalidInputTypeError, match="expects one detection, as the operand '_'"
        ):
            run(toy(BOXES), {"type": "ExtractDetectionProperty", "property_name": "size"})


class TestDetectionsFilter:
    def test_keeps_all_columns(self, run: Run, toy: Make) -> None:
        """What is kept keeps its columns and their types."""
        condition = {
            "type": "StatementGroup",
            "statements": [
                {
                    "type": "BinaryStatement",
                    "left_operand": {
                        "type": "DynamicOperand",
                        "operations": [
                            {"type": "ExtractDetectionProperty", "property_name": "class_name"}
                        ],
                    },
                    "comparator": {"type": "=="},
                    "right_operand": {"type": "StaticOperand", "value": "cat"},
                }
            ],
        }
        operation = {"type": "DetectionsFilter", "filter_operation": condition}
        detections = toy(BOXES, NAMES, tracker_id=np.array([4, 5, 6, 7]))
        kept = run(detections, operation)
        assert kept.xyxy.tolist() == [BOXES[0], BOXES[2]]
        assert kept.columns["tracker_id"].tolist() == [4, 6]
        none = run(toy(BOXES, ["x"] * 4), operation)
        assert none.xyxy.shape == (0, 4)
        assert {name: column.dtype for name, column in none.columns.items()} == {
            name: column.dtype for name, column in toy(BOXES, ["x"] * 4).columns.items()
        }


class TestDetectionsSelection:
    @pytest.mark.parametrize(
        ("mode", "index"),
        [("left_most", 2), ("right_most", 1), ("top_confidence", 0), ("first", 0), ("last", 3)],
    )
    def test_modes(self, run: Run, toy: Make, mode: str, index: int) -> None:
        """One detection is kept, left and right by the centre of the box."""
        detections = toy(BOXES, ["a", "b", "c", "d"])
        kept = run(detections, {"type": "DetectionsSelection", "mode": mode})
        assert kept.names() == ["abcd"[index]]

    @pytest.mark.parametrize("mode", ["left_most", "right_most", "top_confidence"])
    def test_ties(self, run: Run, toy: Make, mode: str) -> None:
        """Of equals the first one is kept."""
        detections = toy([[0, 0, 2, 2]] * 3, ["a", "b", "c"], confidence=np.full(3, 0.5))
        assert run(detections, {"type": "DetectionsSelection", "mode": mode}).names() == ["a"]

    def test_no_confidence(self, run: Run, toy: Make) -> None:
        """Without confidence there is no most confident detection."""
        with pytest.raises(OperationError, match="the detections have no confidence"):
            run(
                toy(BOXES, confidence=None),
                {"type": "DetectionsSelection", "mode": "top_confidence"},
            )


class TestSortDetections:
    @pytest.mark.parametrize(
        ("mode", "ascending", "expected"),
        [
            ("confidence", True, "dcba"),
            ("confidence", False, "abcd"),
            ("x_min", True, "cadb"),
            ("x_max", False, "bdac"),
            ("y_min", True, "cabd"),
            ("y_max", True, "cadb"),
            ("size", False, "badc"),
            ("center_x", True, "cadb"),
            ("center_y", False, "dbac"),
        ],
    )
    def test_modes(self, run: Run, toy: Make, mode: str, ascending: bool, expected: str) -> None:
        """Detections are put in the order of the property."""
        operation = {"type": "SortDetections", "mode": mode, "ascending": ascending}
        assert "".join(run(toy(BOXES, list("abcd")), operation).names()) == expected

    @pytest.mark.parametrize("ascending", [True, False])
    def test_ties_keep_their_order(self, run: Run, toy: Make, ascending: bool) -> None:
        """Equals stay in the order they came in, upwards and downwards."""
        operation = {"type": "SortDetections", "mode": "size", "ascending": ascending}
        boxes = [[0, 0, 2, 2 + number % 3] for number in range(300)]
        result = run(toy(boxes, class_id=np.arange(300)), operation)
        expected = sorted(range(300), key=lambda number: number % 3 if ascending else -(number % 3))
        assert result.columns["class_id"].tolist() == expected

    def test_no_confidence(self, run: Run, toy: Make) -> None:
        """Detections without confidence come back as they are when sorted by it."""
        detections = toy(BOXES, confidence=None)
        assert run(detections, {"type": "SortDetections", "mode": "confidence"}) is detections


class TestDetectionsOffset:
    def test_grows_on_both_sides(self, run: Run, toy: Make) -> None:
        """Boxes grow by half of the offset on each side, past the edges of the image."""
        operation = {"type": "DetectionsOffset", "offset_x": 10, "offset_y": 5}
        grown = run(toy([[0, 0, 10, 10]]), operation)
        assert grown.xyxy.tolist() == [[-5.0, -2.5, 15.0, 12.5]]
        assert grown.xyxy.dtype == np.float32

    def test_other_columns_stay(self, run: Run, toy: Make) -> None:
        """Only the boxes change."""
        detections = toy(BOXES, NAMES)
        grown = run(detections, {"type": "DetectionsOffset", "offset_x": 2, "offset_y": 2})
        assert grown.columns == detections.columns


class TestDetectionsShift:
    def test_moves(self, run: Run, toy: Make) -> None:
        """Boxes are moved, sizes stay."""
        moved = run(toy([[1, 2, 3, 5]]), {"type": "DetectionsShift", "shift_x": -3, "shift_y": 4})
        assert moved.xyxy.tolist() == [[-2.0, 6.0, 0.0, 9.0]]

    @pytest.mark.parametrize("way", [10**30, -(10**100), 10**400])
    @pytest.mark.parametrize("name", ["shift_y", "offset_x"])
    def test_too_far(self, run: Run, toy: Make, name: str, way: int) -> None:
        """Ways that floats do not hold are refused by field, also by `DetectionsOffset`."""
        zeros: dict[str, Any] = {
            "shift_y": {"type": "DetectionsShift", "shift_x": 0},
            "offset_x": {"type": "DetectionsOffset", "offset_y": 0},
        }
        with pytest.raises(OperationError, match=f"`{name}` must lie within 9007.* px, got "):
            run(toy([[1, 2, 3, 5]]), {**zeros[name], name: way})


class TestDetectionsToDictionary:
    def test_is_what_the_codec_writes(self, run: Run, toy: Make) -> None:
        """The dictionary is the JSON form of the kind."""
        assert run(toy([[0, 1, 2, 3]], ["cat"]), {"type": "DetectionsToDictionary"}) == {
            "boxes": [[0.0, 1.0, 2.0, 3.0]],
            "names": ["cat"],
        }

    def test_failure(self, run: Run, toy: Make) -> None:
        """Detections that do not serialise are an error of the operation."""
        broken = toy([[0, 1, 2, 3]])
        del broken.columns["class_name"]
        with pytest.raises(OperationError, match=r"do not serialise \(KeyError: 'class_name'\)"):
            run(broken, {"type": "DetectionsToDictionary"})


class TestPickDetectionsByParentClass:
    PICK = {"type": "PickDetectionsByParentClass", "parent_class": "a"}

    def test_parents_then_children(self, run: Run, toy: Make) -> None:
        """Parents come first, then what has its centre in any of them, edges included."""
        detections = toy(
            [
                [90, 90, 110, 110],  # centre on the corner of the second parent
                [0, 0, 50, 50],
                [20, 20, 30, 30],
                [60, 60, 70, 70],  # in no parent
                [100, 100, 200, 200],
                [150, 100, 250, 200],  # centre on the edge of the second parent
            ],
            ["b", "a", "b", "b", "a", "c"],
            class_id=np.array([10, 11, 12, 13, 14, 15]),
        )
        kept = run(detections, self.PICK)
        assert kept.columns["class_id"].tolist() == [11, 14, 10, 12, 15]

    def test_no_parents(self, run: Run, toy: Make) -> None:
        """Without parents, or without class names, nothing is kept, the columns stay."""
        assert run(toy(BOXES, NAMES), self.PICK).xyxy.shape == (0, 4)
        nameless = toy(BOXES)
        del nameless.columns["class_name"]
        assert run(nameless, self.PICK).xyxy.shape == (0, 4)
