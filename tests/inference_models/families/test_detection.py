"""Raw outputs of every family of detectors to boxes. Numbers are written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.backends import TensorSpec
from inference_models.errors import CorruptedModelPackageError, ModelRuntimeError
from inference_models.families import PostProcessor, family_of

# The same three objects in the raw format of each family: a dog at 10..30, a fox at 40..60 and a
# cat of which nobody is sure.
BOXES = np.array([[10, 10, 30, 30], [40, 20, 60, 50], [0, 0, 9, 9]], np.float32)
SCORES = np.array([[0, 0.9, 0.1], [0.1, 0.2, 0.8], [0.2, 0.1, 0]], np.float32)
CENTRES = np.concatenate([(BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]], axis=1)
ROWS = np.concatenate([BOXES, SCORES.max(1)[:, None], SCORES.argmax(1)[:, None]], axis=1)
LOGITS = np.log(np.clip(SCORES, 1e-6, 1) / (1 - np.clip(SCORES, 1e-6, 1 - 1e-6)))
OBJECTNESS = np.full((3, 1), 0.5, np.float32)

DETECTORS = [
    ("yolov8", False, {"a": np.concatenate([CENTRES, SCORES], 1).T}),
    ("yolov8", True, {"a": ROWS}),
    ("yolo26", False, {"a": ROWS}),
    ("yolov5", False, {"a": np.concatenate([CENTRES, OBJECTNESS, np.minimum(2 * SCORES, 1)], 1)}),
    ("rfdetr", False, {"boxes": CENTRES / 64, "logits": LOGITS}),
]


class TestDetection:
    """Boxes, classes and scores."""

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), DETECTORS)
    def test_every_family_finds_the_same_objects(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
    ) -> None:
        """The formats differ, the answer does not: boxes in px, best first, named classes."""
        package = make_package(architecture, "object-detection", fused)
        found = post_process(package, outputs, confidence=0.35)
        np.testing.assert_allclose(found.xyxy, BOXES[:2], atol=1e-4)
        assert found.class_name.tolist() == ["dog", "fox"]
        expected = [0.5, 0.5] if architecture == "yolov5" else [0.9, 0.8]
        np.testing.assert_allclose(found.confidence, expected, atol=1e-5)
        assert found.xyxy.dtype == np.float32
        assert found.image_size == (64, 64)

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), DETECTORS)
    def test_an_empty_result_has_the_columns_of_a_full_one(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
    ) -> None:
        """Nothing above the threshold gives no rows of the same shapes and types."""
        package = make_package(architecture, "object-detection", fused)
        full = post_process(package, outputs, confidence=0.1).columns()
        empty = post_process(package, outputs, confidence=0.99).columns()
        assert empty.keys() == full.keys()
        for name, column in empty.items():
            assert len(column) == 0
            assert column.dtype == full[name].dtype
            assert column.shape[1:] == full[name].shape[1:]

    def test_boxes_come_back_to_the_image(self, make_package: Any, post_process: Any) -> None:
        """Padding is taken off and the scale undone; a box in the padding alone is dropped."""
        package = make_package("yolov8", "object-detection", True, resize_mode="letterbox")
        rows = [[0, 16, 32, 48, 0.9, 0], [0, 0, 64, 10, 0.8, 1]]
        found = post_process(package, {"a": rows}, size=(100, 200))
        np.testing.assert_allclose(found.xyxy, [[0, 0, 100, 100]], atol=1e-4)

    def test_identical_boxes_become_one(self, make_package: Any, post_process: Any) -> None:
        """Two boxes of equal score and place do not both survive (CVCUDA/CV-CUDA#292)."""
        package = make_package("yolov8", "object-detection")
        twice = np.concatenate([CENTRES[[0, 0]], SCORES[[0, 0]]], 1).T
        assert len(post_process(package, {"a": twice})) == 1

    def test_the_threshold_is_strict_except_for_final_rows(
        self, make_package: Any, post_process: Any
    ) -> None:
        """A score equal to the threshold is enough only where the graph made the rows."""
        score = float(np.float32(0.8))
        open_rows = make_package("yolov8", "object-detection")
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}
        assert len(post_process(open_rows, raw, confidence=score)) == 1
        fused = make_package("yolov8", "object-detection", True)
        assert len(post_process(fused, {"a": ROWS}, confidence=score)) == 2

    def test_rows_that_fill_the_output_up_are_no_objects(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Even at threshold zero, an empty row of a fixed-size output is not reported."""
        package = make_package("yolov8", "object-detection", True)
        padded = np.concatenate([ROWS[:1], np.tile([0.0, 0, 64, 64, 0, 0], (5, 1))])
        assert len(post_process(package, {"a": padded}, confidence=0.0)) == 1

    def test_numbers_that_are_none_are_no_objects(
        self, make_package: Any, post_process: Any
    ) -> None:
        """NaN in a score or a box drops that row only."""
        package = make_package("yolov8", "object-detection")
        raw = np.concatenate([CENTRES, SCORES], 1).T.copy()
        raw[5, 0] = np.nan
        raw[0, 1] = np.inf
        assert len(post_process(package, {"a": raw}, confidence=0.05)) == 1

    def test_best_takes_the_thresholds_of_the_package(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Recommended thresholds count class by class, and only when asked for."""
        package = make_package(
            "yolov8",
            "object-detection",
            recommended_parameters={
                "confidence": 0.15,
                "per_class_confidence": {"dog": 0.95, "lion": 0.1},
            },
        )
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}
        assert post_process(package, raw, confidence="best").class_name.tolist() == ["fox", "cat"]
        assert post_process(package, raw).class_name.tolist() == ["dog", "fox"]

    def test_limits_and_filters(self, make_package: Any, post_process: Any) -> None:
        """The class filter leaves its places to wanted classes; unknown names match nothing."""
        package = make_package("yolov8", "object-detection")
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}

        def names(**parameters: Any) -> list[str]:
            return post_process(package, raw, confidence=0.05, **parameters).class_name.tolist()

        assert names(max_detections=1) == ["dog"]
        assert names(max_detections=1, class_filter=["cat", "fox"]) == ["fox"]
        assert names(max_candidates=2) == ["dog", "fox"]
        assert names(class_filter=["lion"]) == []

    def test_an_unwanted_class_still_hides_what_it_overlaps(
        self, make_package: Any, post_process: Any
    ) -> None:
        """With class-agnostic suppression the filter chooses among winners, it makes none."""
        package = make_package("yolov8", "object-detection")
        boxes = np.repeat(CENTRES[:1], 2, axis=0)
        raw = {"a": np.concatenate([boxes, [[0, 0.9, 0], [0.6, 0, 0]]], 1).T}
        wanted = {"class_filter": ["cat"]}
        agnostic = post_process(package, raw, class_agnostic_nms=True, **wanted)
        assert len(agnostic) == 0
        assert len(post_process(package, raw, class_agnostic_nms=False, **wanted)) == 1
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}
        wanted = {"class_filter": ["fox"], "max_detections": 1}
        agnostic = post_process(package, raw, class_agnostic_nms=True, **wanted)
        assert agnostic.class_name.tolist() == ["fox"]

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), DETECTORS)
    def test_removed_classes_are_no_classes_of_the_model(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
    ) -> None:
        """A class the package removes is never reported, and the others are renumbered."""
        removal = [{"type": "class_name_removal", "class_name": "dog"}]
        package = make_package(
            architecture, "object-detection", fused, class_names_operations=removal
        )
        found = post_process(package, outputs, confidence=0.35)
        assert found.class_names == ("cat", "fox")
        assert found.class_id.tolist() == [1]

    def test_one_query_may_be_several_classes(self, make_package: Any, post_process: Any) -> None:
        """Pairs of query and class are ranked, so a query can answer twice; a column behind the
        last class is no class."""
        package = make_package("rfdetr", "object-detection")
        logits = np.full((2, 4), -9.0)
        logits[0, 0], logits[0, 2] = 3.0, 2.0
        found = post_process(package, {"boxes": CENTRES[:2] / 64, "logits": logits})
        assert found.class_name.tolist() == ["cat", "fox"]
        np.testing.assert_allclose(found.xyxy, BOXES[[0, 0]], atol=1e-4)
        logits[1, 3] = 5.0
        assert len(post_process(package, {"boxes": CENTRES[:2] / 64, "logits": logits})) == 1

    def test_declared_outputs_are_found_by_name(self, make_package: Any, post_process: Any) -> None:
        """Order, unit, first class id and number of rows are the package's to say."""
        declared = {
            "boxes": "detection_boxes:0",
            "scores": "s",
            "classes": "c",
            "count": "n",
            "box_format": "yxyx",
            "box_unit": "fraction",
            "first_class_id": 1,
        }
        package = make_package("detector-with-nms", "object-detection", outputs=declared)
        raw = {
            "n": [2.0],
            "s": SCORES.max(1),
            "c": SCORES.argmax(1) + 1,
            "detection_boxes:0": BOXES[:, [1, 0, 3, 2]] / 64,
            "unused": np.zeros(7),
        }
        found = post_process(package, raw, confidence=0.0)
        np.testing.assert_allclose(found.xyxy, BOXES[:2], atol=1e-4)
        assert found.class_name.tolist() == ["dog", "fox"]

    @pytest.mark.parametrize(
        ("architecture", "fused", "outputs", "message"),
        [
            ("yolov8", False, {"a": np.zeros((84, 10))}, r"must be \[7, anchors\] for 3 classes"),
            ("yolov5", False, {"a": np.zeros((10, 7))}, r"must be \[anchors, 8\]"),
            ("yolov8", True, {"a": np.zeros((7, 10))}, "must hold rows of 6 numbers"),
            ("yolov8", True, {"a": [[0, 0, 1, 1, 0.9, 7]]}, r"class 7, .* 3 classes \(0\.\.2\)"),
            ("rfdetr", False, {"b": np.zeros((3, 4)), "l": np.zeros((2, 3))}, "must agree"),
        ],
    )
    def test_outputs_of_another_network_are_named(
        self,
        make_package: Any,
        post_process: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
        message: str,
    ) -> None:
        """Weights that do not fit their package give an error with both shapes, not wrong boxes."""
        package = make_package(architecture, "object-detection", fused)
        with pytest.raises(ModelRuntimeError, match=message):
            post_process(package, outputs)

    def test_missing_outputs_are_found_when_the_model_loads(self, make_package: Any) -> None:
        """A graph with too few outputs, or without a declared one, does not load."""
        specs = [TensorSpec("boxs", None, np.dtype("float32"))]
        package = make_package("rfdetr", "object-detection")
        with pytest.raises(CorruptedModelPackageError, match=r"needs 2 outputs .* has 1: boxs"):
            PostProcessor(family_of(package), package, specs)
        declared = {"boxes": "boxes", "scores": "boxs"}
        package = make_package("detector-with-nms", "object-detection", outputs=declared)
        with pytest.raises(CorruptedModelPackageError, match=r'no output "boxes".*mean "boxs"'):
            PostProcessor(family_of(package), package, specs)
        package = make_package("detector-with-nms", "object-detection")
        with pytest.raises(CorruptedModelPackageError, match="needs `outputs`"):
            PostProcessor(family_of(package), package, specs)
