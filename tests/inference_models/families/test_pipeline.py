"""Raw outputs of every family to predictions. Numbers are written by hand; no graph runs here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import TensorSpec
from inference_models.errors import CorruptedModelPackageError, ModelRuntimeError
from inference_models.families import (
    BUILT_IN_FAMILIES,
    InferenceParameters,
    ParameterDefaults,
    PostProcessor,
    family_of,
)
from inference_models.families.request import ClassTable, complete_request
from inference_models.packages import ModelConfig, ModelPackage, Task, package_from_config
from inference_models.preprocessing import ImageTransform, plan_transform

CLASSES = ("cat", "dog", "fox")


@pytest.fixture
def make_package(tmp_path: Path) -> Any:
    """Builds packages around an empty weights file."""

    def make(architecture: str, task: str, fused: bool = False, **changes: Any) -> ModelPackage:
        post: dict[str, Any] | None = {"type": "nms", "fused": fused}
        if task not in ("object-detection", "instance-segmentation", "keypoint-detection"):
            post = changes.pop("post_processing", None)
        network = {
            "training_input_size": {"height": 64, "width": 64},
            "resize_mode": changes.pop("resize_mode", "stretch"),
            "layout": changes.pop("layout", "nchw"),
        }
        config = {
            "model_architecture": architecture,
            "backend_type": "onnx",
            "task_type": task,
            "class_names": CLASSES,
            "inference_config": {
                "network_input": network,
                "post_processing": post,
                "class_names_operations": changes.pop("class_names_operations", None),
            },
        } | changes
        weights = tmp_path / "weights.onnx"
        weights.write_bytes(b"")
        return package_from_config(ModelConfig.model_validate(config), weights)

    return make


def _post_process(
    package: ModelPackage,
    outputs: Mapping[str, Any],
    size: tuple[int, int] = (64, 64),
    transform: ImageTransform | None = None,
    **parameters: Any,
) -> Any:
    """The prediction for one image of `size` from outputs without a batch axis."""
    post = PostProcessor(family_of(package), package)
    request = complete_request(
        InferenceParameters.from_mapping(parameters),
        package,
        ClassTable(package.class_names, package.removed_classes),
        ParameterDefaults(),
    )
    transform = transform or plan_transform(size, package.inference.network_input)
    arrays = {name: np.asarray(value, np.float32)[None] for name, value in outputs.items()}
    return post.run(arrays, 0, transform, request)


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
        self, make_package: Any, architecture: str, fused: bool, outputs: dict[str, Any]
    ) -> None:
        """The formats differ, the answer does not: boxes in px, best first, named classes."""
        package = make_package(architecture, "object-detection", fused)
        found = _post_process(package, outputs, confidence=0.35)
        np.testing.assert_allclose(found.xyxy, BOXES[:2], atol=1e-4)
        assert found.class_name.tolist() == ["dog", "fox"]
        expected = [0.5, 0.5] if architecture == "yolov5" else [0.9, 0.8]
        np.testing.assert_allclose(found.confidence, expected, atol=1e-5)
        assert found.xyxy.dtype == np.float32
        assert found.image_size == (64, 64)

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), DETECTORS)
    def test_an_empty_result_has_the_columns_of_a_full_one(
        self, make_package: Any, architecture: str, fused: bool, outputs: dict[str, Any]
    ) -> None:
        """Nothing above the threshold gives no rows of the same shapes and types."""
        package = make_package(architecture, "object-detection", fused)
        full = _post_process(package, outputs, confidence=0.1).columns()
        empty = _post_process(package, outputs, confidence=0.99).columns()
        assert empty.keys() == full.keys()
        for name, column in empty.items():
            assert len(column) == 0
            assert column.dtype == full[name].dtype
            assert column.shape[1:] == full[name].shape[1:]

    def test_boxes_come_back_to_the_image(self, make_package: Any) -> None:
        """Padding is taken off and the scale undone; a box in the padding alone is dropped."""
        package = make_package("yolov8", "object-detection", True, resize_mode="letterbox")
        rows = [[0, 16, 32, 48, 0.9, 0], [0, 0, 64, 10, 0.8, 1]]
        found = _post_process(package, {"a": rows}, size=(100, 200))
        np.testing.assert_allclose(found.xyxy, [[0, 0, 100, 100]], atol=1e-4)

    def test_identical_boxes_become_one(self, make_package: Any) -> None:
        """Two boxes of equal score and place do not both survive (CVCUDA/CV-CUDA#292)."""
        package = make_package("yolov8", "object-detection")
        twice = np.concatenate([CENTRES[[0, 0]], SCORES[[0, 0]]], 1).T
        assert len(_post_process(package, {"a": twice})) == 1

    def test_the_threshold_is_strict_except_for_final_rows(self, make_package: Any) -> None:
        """A score equal to the threshold is enough only where the graph made the rows."""
        score = float(np.float32(0.8))
        open_rows = make_package("yolov8", "object-detection")
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}
        assert len(_post_process(open_rows, raw, confidence=score)) == 1
        fused = make_package("yolov8", "object-detection", True)
        assert len(_post_process(fused, {"a": ROWS}, confidence=score)) == 2

    def test_rows_that_fill_the_output_up_are_no_objects(self, make_package: Any) -> None:
        """Even at threshold zero, an empty row of a fixed-size output is not reported."""
        package = make_package("yolov8", "object-detection", True)
        padded = np.concatenate([ROWS[:1], np.zeros((5, 6))])
        assert len(_post_process(package, {"a": padded}, confidence=0.0)) == 1

    def test_numbers_that_are_none_are_no_objects(self, make_package: Any) -> None:
        """NaN in a score or a box drops that row only."""
        package = make_package("yolov8", "object-detection")
        raw = np.concatenate([CENTRES, SCORES], 1).T.copy()
        raw[5, 0] = np.nan
        raw[0, 1] = np.inf
        assert len(_post_process(package, {"a": raw}, confidence=0.05)) == 1

    def test_best_takes_the_thresholds_of_the_package(self, make_package: Any) -> None:
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
        assert _post_process(package, raw, confidence="best").class_name.tolist() == ["fox", "cat"]
        assert _post_process(package, raw).class_name.tolist() == ["dog", "fox"]

    def test_limits_and_filters(self, make_package: Any) -> None:
        """The class filter leaves its places to wanted classes; unknown names match nothing."""
        package = make_package("yolov8", "object-detection")
        raw = {"a": np.concatenate([CENTRES, SCORES], 1).T}

        def names(**parameters: Any) -> list[str]:
            return _post_process(package, raw, confidence=0.05, **parameters).class_name.tolist()

        assert names(max_detections=1) == ["dog"]
        assert names(max_detections=1, class_filter=["cat", "fox"]) == ["fox"]
        assert names(max_candidates=2) == ["dog", "fox"]
        assert names(class_filter=["lion"]) == []

    def test_an_unwanted_class_still_hides_what_it_overlaps(self, make_package: Any) -> None:
        """With class-agnostic suppression the filter chooses among winners, it makes none."""
        package = make_package("yolov8", "object-detection")
        boxes = np.repeat(CENTRES[:1], 2, axis=0)
        raw = {"a": np.concatenate([boxes, [[0, 0.9, 0], [0.6, 0, 0]]], 1).T}
        wanted = {"class_filter": ["cat"]}
        agnostic = _post_process(package, raw, class_agnostic_nms=True, **wanted)
        assert len(agnostic) == 0
        assert len(_post_process(package, raw, class_agnostic_nms=False, **wanted)) == 1

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), DETECTORS)
    def test_removed_classes_are_no_classes_of_the_model(
        self, make_package: Any, architecture: str, fused: bool, outputs: dict[str, Any]
    ) -> None:
        """A class the package removes is never reported, and the others are renumbered."""
        removal = [{"type": "class_name_removal", "class_name": "dog"}]
        package = make_package(
            architecture, "object-detection", fused, class_names_operations=removal
        )
        found = _post_process(package, outputs, confidence=0.35)
        assert found.class_names == ("cat", "fox")
        assert found.class_id.tolist() == [1]

    def test_one_query_may_be_several_classes(self, make_package: Any) -> None:
        """Pairs of query and class are ranked, so a query can answer twice; a column behind the
        last class is no class."""
        package = make_package("rfdetr", "object-detection")
        logits = np.full((2, 4), -9.0)
        logits[0, 0], logits[0, 2] = 3.0, 2.0
        found = _post_process(package, {"boxes": CENTRES[:2] / 64, "logits": logits})
        assert found.class_name.tolist() == ["cat", "fox"]
        np.testing.assert_allclose(found.xyxy, BOXES[[0, 0]], atol=1e-4)
        logits[1, 3] = 5.0
        assert len(_post_process(package, {"boxes": CENTRES[:2] / 64, "logits": logits})) == 1

    def test_declared_outputs_are_found_by_name(self, make_package: Any) -> None:
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
        found = _post_process(package, raw, confidence=0.0)
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
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
        message: str,
    ) -> None:
        """Weights that do not fit their package give an error with both shapes, not wrong boxes."""
        package = make_package(architecture, "object-detection", fused)
        with pytest.raises(ModelRuntimeError, match=message):
            _post_process(package, outputs)

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


# Two prototypes on a 16 x 16 grid: one positive on the left half, one everywhere.
PROTOS = np.stack([np.where(np.arange(16) < 8, 1.0, -1.0)[None].repeat(16, 0), np.ones((16, 16))])
WEIGHTS = np.array([[20.0, 0], [0, 20], [0, 20]])

SEGMENTERS: list[tuple[str, bool, dict[str, Any]]] = [
    ("yolov8", False, {"a": np.concatenate([CENTRES, SCORES, WEIGHTS], 1).T, "p": PROTOS}),
    ("yolov8", True, {"a": np.concatenate([ROWS, WEIGHTS], 1), "p": PROTOS}),
    ("yolo26", False, {"a": np.concatenate([ROWS, WEIGHTS], 1), "p": PROTOS}),
    (
        "yolov5",
        False,
        {
            "a": np.concatenate([CENTRES, OBJECTNESS * 2, SCORES, WEIGHTS], 1),
            "p": PROTOS,
        },
    ),
    (
        "yolov7",
        False,
        {
            "a": np.concatenate([CENTRES, OBJECTNESS * 2, SCORES, WEIGHTS], 1),
            "x": [0],
            "y": [0],
            "z": [0],
            "p": PROTOS,
        },
    ),
    (
        "yolact",
        False,
        {
            "offsets": np.zeros((3, 4)),
            "scores": np.concatenate([np.full((3, 1), 0.99), SCORES], 1),
            "coefficients": WEIGHTS,
            "priors": CENTRES / 64,
            "protos": PROTOS.transpose(1, 2, 0),
        },
    ),
    (
        "rfdetr",
        False,
        {
            "boxes": CENTRES / 64,
            "logits": LOGITS,
            "masks": np.stack(
                [
                    np.where(
                        (np.arange(16) >= box[0] / 4) & (np.arange(16) < box[2] / 4), 1.0, -1.0
                    )[None].repeat(16, 0)
                    for box in BOXES
                ]
            ),
        },
    ),
]


class TestInstanceSegmentation:
    """Masks beside the boxes."""

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), SEGMENTERS)
    def test_every_family_cuts_its_masks_from_the_right_place(
        self, make_package: Any, architecture: str, fused: bool, outputs: dict[str, Any]
    ) -> None:
        """Each row's mask lies in its box, on the image, and follows that row's weights."""
        package = make_package(architecture, "instance-segmentation", fused)
        found = _post_process(package, outputs, confidence=0.35)
        assert found.class_name.tolist() == ["dog", "fox"]
        np.testing.assert_allclose(found.xyxy, BOXES[:2], atol=1e-4)
        assert found.mask_size == (64, 64)
        x0, y0, x1, y1 = found.masks.boxes[0].tolist()
        # The dog lies left of the middle; its weights choose the prototype of the left half.
        assert abs(x0 - 10) <= 4
        assert abs(x1 - 30) <= 4
        if architecture != "rfdetr":
            assert abs(y0 - 10) <= 4
            assert abs(y1 - 30) <= 4
        assert abs(found.masks.boxes[1][0] - 40) <= 4

    @pytest.mark.parametrize(("architecture", "fused", "outputs"), SEGMENTERS)
    @pytest.mark.parametrize(("factor", "grid"), [(0.0, (16, 16)), (0.5, (58, 108)), (1.0, (100, 200))])
    def test_every_family_receives_the_resolution_factor(
        self,
        make_package: Any,
        architecture: str,
        fused: bool,
        outputs: dict[str, Any],
        factor: float,
        grid: tuple[int, int],
    ) -> None:
        """The factor decides the masks' grid for every family, full or empty; boxes stay image px."""
        package = make_package(architecture, "instance-segmentation", fused)
        for confidence, count in ((0.35, 2), (0.99, 0)):
            found = _post_process(
                package,
                outputs,
                size=(100, 200),
                confidence=confidence,
                masks_resolution_factor=factor,
            )
            assert (len(found), found.mask_size) == (count, grid)
            assert found.image_size == (100, 200)
            if count:
                np.testing.assert_allclose(found.xyxy[0], [31.25, 15.625, 93.75, 46.875], atol=1e-3)

    def test_masks_are_cut_after_the_limit(self, make_package: Any) -> None:
        """Only what is reported gets a mask."""
        package = make_package("yolov8", "instance-segmentation")
        outputs = SEGMENTERS[0][2]
        found = _post_process(package, outputs, confidence=0.1, max_detections=1)
        assert len(found.masks) == len(found) == 1

    def test_logits_are_enlarged_before_they_are_cut(self, make_package: Any) -> None:
        """A disc of 28 x 28 logits has a smooth outline at 480 x 640 (roboflow/rf-detr#463)."""
        y, x = np.mgrid[:28, :28] + 0.5
        logits = 8.0 - np.hypot(y - 14, x - 14)
        outputs = {
            "boxes": [[0.5, 0.5, 0.6, 0.6]],
            "logits": [[9.0, -9, -9]],
            "masks": logits[None],
        }
        package = make_package("rfdetr", "instance-segmentation")
        found = _post_process(package, outputs, size=(480, 640))
        rows, columns = np.mgrid[:480, :640] + 0.5
        disc = np.hypot(rows * 28 / 480 - 14, columns * 28 / 640 - 14) < 8
        mask = found.masks.to_dense()[0]
        assert (mask & disc).sum() / (mask | disc).sum() > 0.99

    def test_a_mask_output_of_another_shape_is_named(self, make_package: Any) -> None:
        """Prototypes without a grid are an error."""
        package = make_package("yolov8", "instance-segmentation")
        with pytest.raises(ModelRuntimeError, match=r"three axes an image, got \[7, 8\]"):
            _post_process(package, {"a": np.zeros((9, 5)), "p": np.zeros((7, 8))})


class TestKeypointDetection:
    """Points beside the boxes."""

    KEYPOINTS = [
        {"object_class_id": 0, "keypoints": {"0": "nose", "1": "tail"}},
        {"object_class_id": 1, "keypoints": {"0": "nose"}},
    ]
    POINTS = np.array([[[12, 14, 0.9], [28, 28, 0.4]], [[41, 21, 0.8], [1, 1, 0.9]], [[0] * 3] * 2])

    @pytest.mark.parametrize("end_to_end", [False, True])
    def test_a_point_keeps_its_place_whatever_its_confidence(
        self, make_package: Any, end_to_end: bool
    ) -> None:
        """A doubtful point is not moved to (0, 0); whether it is seen is a column of its own
        (ultralytics/ultralytics#11799)."""
        architecture = "yolo26" if end_to_end else "yolov8"
        package = make_package(
            architecture, "keypoint-detection", keypoints_metadata=self.KEYPOINTS
        )
        points = self.POINTS.reshape(3, -1)
        raw = np.concatenate([ROWS, points], 1)
        if not end_to_end:
            raw = np.concatenate([CENTRES, SCORES, points], 1).T
        found = _post_process(package, {"a": raw}, size=(128, 64), keypoint_confidence=0.5)
        np.testing.assert_allclose(found.xy[0], [[12, 28], [28, 56]], atol=1e-4)
        np.testing.assert_allclose(found.keypoint_confidence[0], [0.9, 0.4], atol=1e-6)
        # The dog has one named point, the fox none: slots a class does not use are never seen.
        assert found.visible.tolist() == [[True, False], [False, False]]
        assert found.keypoint_names == (("nose", "tail"), ("nose",), ())

    def test_points_must_be_described(self, make_package: Any) -> None:
        """A keypoint model without a description of its points does not load."""
        package = make_package("yolov8", "keypoint-detection")
        with pytest.raises(CorruptedModelPackageError, match="needs keypoints_metadata"):
            PostProcessor(family_of(package), package)


class TestClassification:
    """Scores of whole images."""

    @pytest.mark.parametrize(
        ("post", "expected"),
        [
            (None, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()),
            ({"type": "softmax"}, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()),
            ({"type": "sigmoid"}, 1 / (1 + np.exp([-1.0, -2, -3]))),
            ({"type": "softmax", "fused": True}, [1, 2, 3]),
        ],
    )
    def test_the_activation_is_the_package_s(
        self, make_package: Any, post: dict[str, Any] | None, expected: Any
    ) -> None:
        """Scores are activated as declared, and not twice."""
        package = make_package("classifier", "classification", post_processing=post)
        found = _post_process(package, {"a": [1.0, 2, 3]})
        np.testing.assert_allclose(found.confidence, expected, rtol=1e-5)
        assert found.class_id == 2

    def test_several_labels(self, make_package: Any) -> None:
        """Every class is judged by itself, a score equal to the threshold is enough."""
        package = make_package("classifier", "multi-label-classification")
        found = _post_process(package, {"a": [0.0, 3, -3]}, confidence=0.5)
        assert found.class_ids.tolist() == [0, 1]
        assert len(_post_process(package, {"a": [-9.0] * 3}).class_ids) == 0

    def test_removed_classes_have_no_score(self, make_package: Any) -> None:
        """Numbers and thresholds follow the model's classes."""
        removal = [{"type": "class_name_removal", "class_name": "cat"}]
        package = make_package(
            "classifier", "multi-label-classification", class_names_operations=removal
        )
        found = _post_process(package, {"a": [9.0, 3, -3]})
        assert (found.class_ids.tolist(), found.class_names) == ([0], ("dog", "fox"))

    def test_another_number_of_scores_is_named(self, make_package: Any) -> None:
        """One number a class, or an error."""
        package = make_package("classifier", "classification")
        with pytest.raises(ModelRuntimeError, match=r"3 numbers an image.*got \[4\]"):
            _post_process(package, {"a": [0.0] * 4})


class TestSemanticSegmentation:
    """The class of every pixel."""

    @staticmethod
    def _reference(scores: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        import cv2

        planes = np.stack([cv2.resize(plane, size[::-1]) for plane in scores.astype(np.float32)])
        powers = np.exp(planes - planes.max(0))
        return planes.argmax(0), (powers / powers.sum(0)).max(0)

    def test_softmax_and_best_class_at_the_image_s_size(self, make_package: Any) -> None:
        """Scores are enlarged first; class and probability equal the plain computation."""
        scores = np.random.default_rng(0).normal(0, 2, (3, 16, 16))
        package = make_package("semantic-segmentation", "semantic-segmentation")
        found = _post_process(package, {"a": scores}, size=(50, 70), confidence=0.0)
        classes, confidence = self._reference(scores, (50, 70))
        np.testing.assert_array_equal(found.segmentation_map, classes)
        np.testing.assert_allclose(found.confidence, confidence, atol=1e-5)

    def test_channels_last(self, make_package: Any) -> None:
        """A channels-last graph answers channels last."""
        scores = np.random.default_rng(0).normal(0, 2, (3, 16, 16))
        first = make_package("semantic-segmentation", "semantic-segmentation")
        last = make_package("semantic-segmentation", "semantic-segmentation", layout="nhwc")
        np.testing.assert_array_equal(
            _post_process(first, {"a": scores}).segmentation_map,
            _post_process(last, {"a": scores.transpose(1, 2, 0)}).segmentation_map,
        )

    def test_doubtful_pixels_become_background(self, make_package: Any) -> None:
        """Below the threshold a pixel has the background's class and no confidence."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("fox", "background", "dog"),
        )
        scores = np.zeros((3, 16, 16))
        scores[0, :, :8] = 9
        found = _post_process(package, {"a": scores}, confidence=0.5)
        assert found.background_id == 1
        assert set(np.unique(found.segmentation_map[:, :30])) == {0}
        assert set(np.unique(found.segmentation_map[:, 34:])) == {1}
        assert not found.confidence[:, 34:].any()

    def test_a_graph_without_a_channel_for_the_background(self, make_package: Any) -> None:
        """With a channel less than names, channels are the names without the background."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("background", "cat", "dog"),
        )
        scores = np.full((2, 16, 16), -5.0)
        scores[1, :8] = 5
        found = _post_process(package, {"a": scores}, confidence=0.9)
        assert set(np.unique(found.segmentation_map[:30])) == {2}
        assert set(np.unique(found.segmentation_map[34:])) == {0}

    def test_a_matte_is_one_channel_of_probabilities(self, make_package: Any) -> None:
        """At threshold zero the confidence is the matte itself, enlarged to the image."""
        package = make_package(
            "matting",
            "semantic-segmentation",
            class_names=("background", "person"),
            layout="nhwc",
            post_processing={"type": "sigmoid", "fused": True},
        )
        matte = np.linspace(0, 1, 16)[None, :, None].repeat(16, 0)
        found = _post_process(package, {"a": matte}, size=(32, 32), confidence=0.0)
        assert np.all(np.diff(found.confidence[0]) >= 0)
        assert found.confidence.max() == 1.0
        half = _post_process(package, {"a": matte}, size=(32, 32), confidence=0.5)
        np.testing.assert_array_equal(half.segmentation_map == 1, found.confidence >= 0.5)

    @pytest.mark.parametrize("offset", [(0, 0), (10, 20)])
    def test_a_static_crop_lies_in_its_place(
        self, make_package: Any, offset: tuple[int, int]
    ) -> None:
        """Outside of the crop there is background, also when the crop starts at the origin."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("background", "cat", "dog"),
        )
        scores = np.zeros((3, 16, 16))
        scores[2] = 9
        transform = ImageTransform((80, 100), offset, (40, 50), (64, 64), (64, 64), (0, 0, 0, 0))
        found = _post_process(package, {"a": scores}, transform=transform)
        expected = np.zeros((80, 100), int)
        expected[offset[0] : offset[0] + 40, offset[1] : offset[1] + 50] = 2
        np.testing.assert_array_equal(found.segmentation_map, expected)

    @pytest.mark.parametrize(
        ("mode", "size", "seen"),
        [
            ("letterbox", (32, 64), (slice(0, 32), slice(0, 64))),
            ("center-crop", (64, 128), (slice(0, 64), slice(32, 96))),
            ("center-crop", (20, 20), (slice(0, 20), slice(0, 20))),
            ("fit-shorter-edge-center-crop", (32, 64), (slice(0, 32), slice(16, 48))),
        ],
    )
    def test_only_what_the_network_saw_has_a_class(
        self, make_package: Any, mode: str, size: tuple[int, int], seen: tuple[slice, slice]
    ) -> None:
        """Padding is cut away, and what was cut away is background."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("background", "cat", "dog"),
            resize_mode=mode,
        )
        scores = np.zeros((3, 64, 64))
        scores[1] = 9
        found = _post_process(package, {"a": scores}, size=size)
        expected = np.zeros(size, int)
        expected[seen] = 1
        np.testing.assert_array_equal(found.segmentation_map, expected)

    def test_a_grid_finer_than_the_image_is_antialiased(self, make_package: Any) -> None:
        """Where the image is smaller than the grid, every cell counts: a checkerboard is even."""
        package = make_package(
            "matting",
            "semantic-segmentation",
            class_names=("background", "person"),
            post_processing={"type": "sigmoid", "fused": True},
        )
        board = np.indices((64, 64)).sum(0)[None] % 2
        found = _post_process(package, {"a": board}, size=(8, 8), confidence=0.0)
        np.testing.assert_allclose(found.confidence, 0.5, atol=0.02)

    def test_another_number_of_channels_is_named(self, make_package: Any) -> None:
        """Neither a channel a class nor one less is an error."""
        package = make_package("semantic-segmentation", "semantic-segmentation")
        with pytest.raises(ModelRuntimeError, match=r"k = 3 classes.*got \[7, 4, 4\]"):
            _post_process(package, {"a": np.zeros((7, 4, 4))})


class TestFamilyOf:
    """`family_of`."""

    def test_no_two_families_share_a_name(self) -> None:
        """A name and a task point at one row of the table."""
        pairs = [(name, one.task) for one in BUILT_IN_FAMILIES for name in one.architectures]
        assert len(pairs) == len(set(pairs))
        assert {one.task for one in BUILT_IN_FAMILIES} == set(Task)

    def test_an_unknown_family_is_named(self, make_package: Any) -> None:
        """The error shows the known names of the task and the nearest one."""
        package = make_package("yolov88", "object-detection")
        with pytest.raises(Exception, match=r'no family "yolov88".*did you mean "yolov8"'):
            family_of(package)
