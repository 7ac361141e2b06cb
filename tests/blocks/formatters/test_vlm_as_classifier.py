"""`vlm_as_classifier@v1` and `@v2`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.formatters.vlm_as_classifier.v1 import VLMAsClassifierBlockV1
from blocks.formatters.vlm_as_classifier.v2 import VLMAsClassifierBlockV2
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import a_crop, an_image

BLOCKS = [VLMAsClassifierBlockV1, VLMAsClassifierBlockV2]


def run(answer: Any, classes: Any = ("cat", "dog")) -> dict[str, Any]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    result: Any = VLMAsClassifierBlockV1().run(an_image((60, 90), channels=1), text, classes)
    return result


class TestOneClass:
    @pytest.mark.parametrize("block", BLOCKS)
    def test_whole_result(self, block: Any) -> None:
        """All classes in their order, the top one with its confidence."""
        crop = a_crop(an_image((60, 90)), (10, 10, 50, 40), "c")
        result = block().run(crop, '{"class_name": "dog", "confidence": "0.7"}', ["cat", "dog"])
        assert result == {
            "error_status": False,
            "inference_id": result["inference_id"],
            "predictions": {
                "image": {"width": 40, "height": 30},
                "predictions": [
                    {"class": "cat", "class_id": 0, "confidence": 0.0},
                    {"class": "dog", "class_id": 1, "confidence": 0.7},
                ],
                "top": "dog",
                "confidence": 0.7,
                "parent_id": "c",
                "root_parent_id": "image",
                "prediction_type": "classification",
                "inference_id": result["inference_id"],
            },
        }

    def test_unknown_class(self) -> None:
        """A class that is not listed comes first and has the id -1."""
        found = run({"class_name": "Ünicorn", "confidence": 3})["predictions"]
        assert found["top"] == "Ünicorn"
        assert found["predictions"] == [
            {"class": "Ünicorn", "class_id": -1, "confidence": 1.0},
            {"class": "cat", "class_id": 0, "confidence": 0.0},
            {"class": "dog", "class_id": 1, "confidence": 0.0},
        ]

    def test_fenced_and_between_words(self) -> None:
        """The JSON may stand in other text."""
        for text in (
            '```json\n{"class_name": "cat", "confidence": 0.9}\n```',
            'Sure: {"class_name": "cat", "confidence": 0.9} - anything else?',
        ):
            assert run(text)["predictions"]["top"] == "cat"


class TestSeveralClasses:
    def test_result(self) -> None:
        """Every listed class, then those that are not; of a repeated class the higher one."""
        answer = {
            "predicted_classes": [
                {"class": "dog", "confidence": 0.3},
                {"class": "ghost", "confidence": 0.6},
                {"class": "dog", "confidence": "0.7"},
                {"class": "dog", "confidence": 0.2},
            ]
        }
        found = run(answer)["predictions"]
        assert list(found["predictions"].items()) == [
            ("cat", {"confidence": 0.0, "class_id": 0}),
            ("dog", {"confidence": 0.7, "class_id": 1}),
            ("ghost", {"confidence": 0.6, "class_id": -1}),
        ]
        assert found["predicted_classes"] == ["dog", "ghost"]

    def test_none(self) -> None:
        """No class at all is an answer, too."""
        found = run({"predicted_classes": []})
        assert found["error_status"] is False
        assert found["predictions"]["predicted_classes"] == []


class TestUnreadable:
    @pytest.mark.parametrize("block", BLOCKS)
    @pytest.mark.parametrize(
        "answer",
        [
            "", "a cat", "[]", '{"some": "data"}', '{"class_name": "cat"}',
            '{"class_name": "", "confidence": 1}', '{"class_name": 5, "confidence": 1}',
            '{"class_name": "cat", "confidence": "high"}',
            '{"class_name": "cat", "confidence": NaN}', '{"predicted_classes": {}}',
            '{"predicted_classes": [5]}', '{"predicted_classes": [{"confidence": 1}]}',
            '{"predicted_classes": [{"class": "cat", "confidence": 0.3}, {"cl',
            '{"class_name": "cat", "confidence": 1} {"class_name": "dog", "confidence": 1}',
            None, 7,
        ],
    )  # fmt: skip
    def test_error_status(self, block: Any, answer: Any) -> None:
        """The flag is set, nothing is raised, and an id is given all the same."""
        result = block().run(an_image(), answer, ["cat"])
        assert (result["error_status"], result["predictions"]) == (True, None)
        assert len(result["inference_id"]) == 36

    @given(
        st.dictionaries(
            st.sampled_from(["class_name", "confidence", "predicted_classes"]),
            st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.none() | st.text()),
        )
    )
    def test_any_data(self, data: Any) -> None:
        """No data raise."""
        result: Any = VLMAsClassifierBlockV2().run(an_image((9, 9)), data, ["cat"])
        assert result["error_status"] is (result["predictions"] is None)

    def test_classes_of_a_reference(self) -> None:
        """Classes that come from elsewhere are checked."""
        with pytest.raises(InvalidFieldValueError) as error:
            run("{}", classes="cat")
        assert str(error.value) == "Field `classes` must be a list of class names, got 'cat'."
