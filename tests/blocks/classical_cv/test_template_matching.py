from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.classical_cv.template_matching.family import match_template
from blocks.classical_cv.template_matching.v1 import TemplateMatchingBlockV1
from execution_engine.block_api import WorkflowImageData

PLACES = ((30, 20), (150, 100))


@pytest.fixture
def patch() -> np.ndarray:
    """(24, 30, 3) random pixels."""
    return np.random.RandomState(5).randint(0, 256, (24, 30, 3)).astype(np.uint8)


@pytest.fixture
def scene(patch: np.ndarray) -> np.ndarray:
    """(160, 240, 3): smooth ground with exact copies of the patch at `PLACES` (x, y)."""
    image = np.full((160, 240, 3), 90, np.uint8)
    image[:, :, 1] += (np.arange(240) // 8).astype(np.uint8)[None]
    for x, y in PLACES:
        image[y : y + 24, x : x + 30] = patch
    return image


def correlation(gray: np.ndarray, template: np.ndarray) -> np.ndarray:
    """Zero-mean normalised cross-correlation by brute force."""
    height, width = template.shape
    windows = np.lib.stride_tricks.sliding_window_view(gray.astype(float), (height, width))
    windows = windows - windows.mean(axis=(2, 3), keepdims=True)
    wanted = template.astype(float) - template.mean()
    norm = np.sqrt((windows**2).sum(axis=(2, 3)) * (wanted**2).sum())
    return (windows * wanted).sum(axis=(2, 3)) / norm


class TestMatchTemplate:
    def test_copies_are_found(self, scene: np.ndarray, patch: np.ndarray) -> None:
        """Each exact copy gives one box of the template's size with correlation 1."""
        boxes, scores = match_template(scene, patch, 0.8, True, 0.5)
        assert boxes.dtype == scores.dtype == np.float32
        assert sorted(boxes.tolist()) == [[x, y, x + 30, y + 24] for x, y in PLACES]
        assert scores == pytest.approx([1, 1], abs=1e-5)
        assert scores.max() <= 1

    def test_scores(self) -> None:
        """Without suppression every place above the threshold is there, best first."""
        gray = np.random.RandomState(1).randint(0, 256, (14, 19)).astype(np.uint8)
        template = gray[3:8, 6:10].copy()
        expected = correlation(gray, template)
        boxes, scores = match_template(gray, template, 0.2, False, 0.5)
        assert len(boxes) == (expected >= 0.2).sum() > 10
        assert (np.diff(scores) <= 0).all()
        found = expected[boxes[:, 1].astype(int), boxes[:, 0].astype(int)]
        assert scores == pytest.approx(found, abs=1e-4)

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 0.35, 0.8, 1.0]))
    def test_suppression(self, seed: int, overlap: float) -> None:
        """Suppression keeps what supervision's general one keeps."""
        gray = np.random.default_rng(seed).integers(0, 256, (16, 21), dtype=np.uint8)
        template = gray[2:8, 5:12].copy()
        boxes, scores = match_template(gray, template, 0.1, False, overlap)
        plain = sv.Detections(xyxy=boxes, confidence=scores, class_id=np.zeros(len(boxes), int))
        expected = plain.with_nms(threshold=overlap)
        kept, _ = match_template(gray, template, 0.1, True, overlap)
        assert sorted(kept.tolist()) == sorted(expected.xyxy.tolist())

    def test_threshold_of_one(self, scene: np.ndarray, patch: np.ndarray) -> None:
        """Exact copies reach a threshold of 1 in spite of rounding."""
        boxes, scores = match_template(scene, patch, 1.0, True, 0.5)
        assert len(boxes) == len(PLACES)
        assert scores.tolist() == [1, 1]

    def test_equal_scores(self) -> None:
        """Of equal matches the first in reading order stays."""
        gray = np.tile(np.array([[0, 255]], np.uint8), (4, 6))
        boxes, _ = match_template(gray, gray[:2, :2].copy(), 0.9, True, 0.0)
        assert boxes.tolist() == [[x, y, x + 2, y + 2] for y in (0, 2) for x in range(0, 12, 2)]

    def test_many_matches(self) -> None:
        """A hundred thousand overlapping matches are reduced in reasonable time."""
        gray = np.tile(np.array([[0, 255], [255, 0]], np.uint8), (240, 240))
        boxes, _ = match_template(gray, gray[:16, :16].copy(), 0.9, True, 0.0)
        assert len(boxes) == 30 * 30

    def test_flat_ground(self) -> None:
        """Flat parts of the image match nothing."""
        template = np.array([[0, 255], [255, 0]], np.uint8)
        boxes, scores = match_template(np.full((20, 20), 70, np.uint8), template, 0.1, True, 0.5)
        assert boxes.shape == (0, 4)
        assert scores.shape == (0,)

    @pytest.mark.parametrize("size", [(5, 2), (2, 5), (9, 9)])
    def test_template_larger_than_the_image(self, size: tuple[int, int]) -> None:
        """A template that does not fit in gives no match."""
        template = np.arange(np.prod(size), dtype=np.uint8).reshape(size)
        boxes, scores = match_template(np.zeros((4, 4), np.uint8), template, 0.5, True, 0.5)
        assert len(boxes) == len(scores) == 0

    @pytest.mark.parametrize("shape", [(1, 1), (3, 4, 3)])
    def test_template_without_contrast(self, shape: tuple[int, ...]) -> None:
        """A template of one level would match everywhere: it is refused."""
        template = np.full(shape, 8, np.uint8)
        text = f"Field `template` must hold an image with some contrast, got {shape[1]}x{shape[0]}"
        with pytest.raises(ValueError, match=re.escape(text)):
            match_template(np.zeros((9, 9), np.uint8), template, 0.5, True, 0.5)

    def test_gray_and_colour_mix(self, scene: np.ndarray, patch: np.ndarray) -> None:
        """A colour template is found in a gray image."""
        from blocks.classical_cv.channels import to_gray

        boxes, _ = match_template(to_gray(scene), patch, 0.95, True, 0.5)
        assert len(boxes) == len(PLACES)

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("matching_threshold", (None, True, 0.5)),
            ("matching_threshold", (float("nan"), True, 0.5)),
            ("nms_threshold", (0.5, True, 1.5)),
        ],
    )
    def test_bad_values(self, field: str, values: tuple[Any, ...], patch: np.ndarray) -> None:
        """Bad values are refused by field."""
        with pytest.raises(ValueError, match=f"Field `{field}` must be a number"):
            match_template(patch, patch, *values)


class TestTemplateMatchingBlockV1:
    def run(self, run_block: Any, image: Any, template: Any, **literals: Any) -> dict[str, Any]:
        values = {"image": image, "template": template}
        return run_block(TemplateMatchingBlockV1, values, **literals)

    def test_detections(
        self, as_image: Any, run_block: Any, scene: np.ndarray, patch: np.ndarray
    ) -> None:
        """Matches are detections with the columns that later steps rely on."""
        result = self.run(run_block, as_image(scene), as_image(patch))
        predictions = result["predictions"]
        assert result["number_of_matches"] == len(predictions) == 2
        assert predictions.class_id.tolist() == [0, 0]
        data = predictions.data
        assert data["class_name"].tolist() == ["template_match"] * 2
        assert data["prediction_type"].tolist() == ["object-detection"] * 2
        assert data["parent_id"].tolist() == data["root_parent_id"].tolist() == ["image"] * 2
        assert data["image_dimensions"].tolist() == [[160, 240]] * 2
        assert data["parent_coordinates"].tolist() == [[0, 0]] * 2
        assert len(set(data["detection_id"].tolist())) == 2

    def test_crop(
        self, as_image: Any, run_block: Any, scene: np.ndarray, patch: np.ndarray
    ) -> None:
        """On a crop boxes count from the crop, and its place in the parents is kept."""
        crop = WorkflowImageData.create_crop(
            as_image(scene), "crop-1", scene[15:60, 10:90], offset_x=10, offset_y=15
        )
        predictions = self.run(run_block, crop, as_image(patch))["predictions"]
        assert predictions.xyxy.tolist() == [[20, 5, 50, 29]]
        assert predictions.data["parent_id"].tolist() == ["crop-1"]
        assert predictions.data["root_parent_id"].tolist() == ["image"]
        assert predictions.data["root_parent_coordinates"].tolist() == [[10, 15]]
        assert predictions.data["root_parent_dimensions"].tolist() == [[160, 240]]
        assert predictions.data["image_dimensions"].tolist() == [[45, 80]]

    def test_no_match_keeps_the_columns(
        self, as_image: Any, run_block: Any, scene: np.ndarray, patch: np.ndarray
    ) -> None:
        """Without a match there are the same columns of the same types, and the image's size."""
        full = self.run(run_block, as_image(scene), as_image(patch))["predictions"]
        empty = self.run(run_block, as_image(scene), as_image(patch[:, ::-1].copy()))
        assert empty["number_of_matches"] == 0
        predictions = empty["predictions"]
        assert predictions.xyxy.shape == (0, 4)
        assert set(predictions.data) == set(full.data)
        for name, column in full.data.items():
            assert predictions.data[name].dtype.kind == column.dtype.kind, name
            assert predictions.data[name].shape[1:] == column.shape[1:], name
        assert predictions.metadata["image_dimensions"] == [160, 240]
        assert predictions.metadata["parent_id"] == "image"
