"""`DetectionsRename`: new names and ids for classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError, UndeclaredSymbolError

Run = Callable[..., Any]
Make = Callable[..., Any]
BOXES = [[0, 1, 2, 3]] * 3


def renamed(detections: Any) -> list[tuple[str, int]]:
    return list(zip(detections.names(), detections.columns["class_id"].tolist(), strict=True))


@pytest.fixture
def detections(toy: Make) -> Any:
    return toy(BOXES, ["a", "b", "a"], class_id=np.array([10, 11, 10]))


class TestStrict:
    def test_ids_count_sorted_names(self, run: Run, detections: Any) -> None:
        """Ids follow the sorted new names of the whole map, also of classes that are not there."""
        operation = {"type": "DetectionsRename", "class_map": {"a": "Z", "b": "M", "q": "A"}}
        assert renamed(run(detections, operation)) == [("Z", 2), ("M", 1), ("Z", 2)]

    def test_merging_classes(self, run: Run, detections: Any) -> None:
        """Two classes may get one name and then have one id."""
        operation = {"type": "DetectionsRename", "class_map": {"a": "pet", "b": "pet"}}
        assert renamed(run(detections, operation)) == [("pet", 0)] * 3

    def test_missing_class(self, run: Run, detections: Any) -> None:
        """A class without entry is an error that names it."""
        with pytest.raises(OperationError) as caught:
            run(detections, {"type": "DetectionsRename", "class_map": {"a": "A"}})
        assert caught.value.public_message == (
            "DetectionsRename at <root>.operations[0]: the class map has no entry for 'b'"
            " (strict renaming needs one for every class)."
        )

    def test_boxes_stay(self, run: Run, detections: Any) -> None:
        """Only names and ids change, and not in place."""
        result = run(detections, {"type": "DetectionsRename", "class_map": {"a": "A", "b": "B"}})
        assert result.xyxy is detections.xyxy
        assert renamed(detections) == [("a", 10), ("b", 11), ("a", 10)]


class TestNotStrict:
    @pytest.mark.parametrize(
        ("class_map", "offset", "expected"),
        [
            ({"a": "A", "b": "B"}, 1024, [("A", 1024), ("B", 1025), ("A", 1024)]),
            ({"a": "Z", "b": "B"}, 5, [("Z", 6), ("B", 5), ("Z", 6)]),
            ({"a": "A"}, 1024, [("A", 1024), ("b", 11), ("A", 1024)]),
            ({"a": "b"}, 1024, [("b", 11), ("b", 11), ("b", 11)]),
            ({"a": "a"}, 1024, [("a", 10), ("b", 11), ("a", 10)]),
            ({}, 1024, [("a", 10), ("b", 11), ("a", 10)]),
        ],
    )
    def test_ids(
        self, run: Run, detections: Any, class_map: Any, offset: int, expected: Any
    ) -> None:
        """Unmapped classes keep name and id, new names count from the offset, known keep theirs."""
        operation = {
            "type": "DetectionsRename",
            "class_map": class_map,
            "strict": False,
            "new_classes_id_offset": offset,
        }
        assert renamed(run(detections, operation)) == expected

    def test_unmapped_rows_keep_their_own_id(self, run: Run, toy: Make) -> None:
        """Two unmapped detections of one name but with different ids keep both."""
        detections = toy(BOXES, ["b", "b", "a"], class_id=np.array([1, 2, 3]))
        operation = {"type": "DetectionsRename", "class_map": {"a": "A"}, "strict": False}
        assert renamed(run(detections, operation)) == [("b", 1), ("b", 2), ("A", 1024)]


class TestParameters:
    OPERATION = {"type": "DetectionsRename", "class_map": "names", "strict": "flag"}

    def test_named(self, run: Run, detections: Any) -> None:
        """Map and flag may be parameters."""
        parameters = {"names": {"a": "A", "b": "B"}, "flag": True}
        result = run(detections, self.OPERATION, parameters=parameters)
        assert renamed(result) == [("A", 0), ("B", 1), ("A", 0)]

    @pytest.mark.parametrize(
        ("parameters", "place"),
        [({"flag": True}, "class_map"), ({"names": {"a": "A", "b": "B"}}, "strict")],
    )
    def test_undeclared(self, run: Run, detections: Any, parameters: Any, place: str) -> None:
        """A parameter that is not given is an error with its place, with no detections as well."""
        with pytest.raises(UndeclaredSymbolError) as caught:
            run(detections, self.OPERATION, parameters=parameters)
        assert caught.value.context.endswith(f" | <root>.operations[0].{place}")

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"names": ["a"], "flag": True}, "expects an object of texts as class_map"),
            ({"names": {"a": 1, "b": 2}, "flag": True}, "expects an object of texts as class_map"),
            ({"names": {}, "flag": 1}, "expects true or false as strict, got 1 of type int"),
        ],
    )
    def test_wrong_types(self, run: Run, detections: Any, parameters: Any, message: str) -> None:
        """A parameter of the wrong type is an error."""
        with pytest.raises(InvalidInputTypeError, match=message):
            run(detections, self.OPERATION, parameters=parameters)


class TestColumns:
    @pytest.mark.parametrize("missing", ["class_name", "class_id"])
    def test_missing(self, run: Run, toy: Make, missing: str) -> None:
        """Detections without classes cannot be renamed."""
        detections = toy(BOXES)
        del detections.columns[missing]
        with pytest.raises(OperationError, match=f"the detections have no property '{missing}'"):
            run(detections, {"type": "DetectionsRename", "class_map": {"cat": "x"}})

    @pytest.mark.parametrize("dtype", [object, "<U3"])
    def test_type_of_names(self, run: Run, toy: Make, dtype: Any) -> None:
        """Names stay objects where they were objects, longer names are not cut."""
        detections = toy(BOXES, class_name=np.array(["a", "b", "c"], dtype=dtype))
        operation = {"type": "DetectionsRename", "class_map": {"a": "longer name"}, "strict": False}
        names = run(detections, operation).columns["class_name"]
        assert names.tolist() == ["longer name", "b", "c"]
        assert names.dtype.kind == ("O" if dtype is object else "U")
