"""Classes of images and of their pixels."""

from __future__ import annotations

import numpy as np
import pytest

from inference_models.masks import decode_rle
from inference_models.predictions import (
    ClassificationPrediction,
    MultiLabelClassificationPrediction,
    PredictionError,
    SemanticSegmentationResult,
)


class TestClassification:
    def test_top(self) -> None:
        """The most probable class wins, the first of equals."""
        made = ClassificationPrediction(confidence=[0.1, 0.45, 0.45], image_size=(4, 4))
        assert (made.class_id, made.top_confidence) == (1, pytest.approx(0.45))
        there = made.to_supervision()
        assert there.class_id.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(there.confidence, made.confidence)

    @pytest.mark.parametrize(
        ("confidence", "names", "message"),
        [
            ([], None, "needs at least one class"),
            ([0.5], ("a", "b"), "1 probabilities need as many class names, got 2"),
            ([[0.5]], None, "must have 1 axes"),
        ],
    )
    def test_refused(self, confidence: object, names: object, message: str) -> None:
        """Probabilities that fit no classes are refused."""
        with pytest.raises(PredictionError, match=message):
            ClassificationPrediction(
                confidence=confidence, image_size=(4, 4), class_names=names,  # type: ignore[arg-type]
            )  # fmt: skip


class TestMultiLabel:
    def test_threshold_is_inclusive(self) -> None:
        """A class at the threshold counts; none may."""
        made = MultiLabelClassificationPrediction.from_threshold(
            np.float32([0.5, 0.49, 0.9]), 0.5, (4, 4)
        )
        assert made.class_ids.tolist() == [0, 2]
        assert made.class_ids.dtype == np.int32
        none = MultiLabelClassificationPrediction.from_threshold(np.float32([0.1]), 0.5, (4, 4))
        assert none.class_ids.shape == (0,)
        assert none.class_ids.dtype == np.int32

    def test_unknown_class(self) -> None:
        """Ids must have a probability."""
        with pytest.raises(PredictionError, match=r"class ids must lie in 0\.\.1, got 2\.\.2"):
            MultiLabelClassificationPrediction(
                confidence=[0.1, 0.2], class_ids=[2], image_size=(4, 4)
            )


class TestSemanticSegmentation:
    def draw(self) -> SemanticSegmentationResult:
        classes = np.zeros((40, 50), np.int32)
        classes[5:20, 10:30] = 2
        classes[30:, 45:] = 1
        confidence = np.full((40, 50), 0.25, np.float32)
        confidence[classes == 2] = 0.75
        return SemanticSegmentationResult(
            segmentation_map=classes, confidence=confidence, image_size=(40, 50),
            class_names=("nothing", "road", "sky"), background_id=0,
        )  # fmt: skip

    def test_rows(self) -> None:
        """One row a class that occurs: tight box, mean score, its pixels; nothing for the
        background."""
        made = self.draw()
        rows = made.to_instances()
        assert rows.class_id.tolist() == [1, 2]
        assert rows.class_name.tolist() == ["road", "sky"]
        assert rows.xyxy.tolist() == [[45, 30, 50, 40], [10, 5, 30, 20]]
        assert rows.confidence.tolist() == [0.25, 0.75]
        np.testing.assert_array_equal(
            rows.masks.to_dense(), [made.segmentation_map == 1, made.segmentation_map == 2]
        )

    def test_codes(self) -> None:
        """In supervision every row has its code of the whole image."""
        there = self.draw().to_supervision()
        masks = decode_rle(list(there.data["rle_mask"]))
        assert masks.areas.tolist() == [50, 300]
        assert masks.mask_size == (40, 50)

    def test_only_background(self) -> None:
        """An image of nothing has no rows, and the columns of some."""
        made = self.draw()
        blank = SemanticSegmentationResult(
            segmentation_map=np.zeros((40, 50)), confidence=made.confidence,
            image_size=(40, 50), class_names=made.class_names, background_id=0,
        ).to_supervision()  # fmt: skip
        assert len(blank) == 0
        assert blank.confidence.dtype == np.float32
        assert set(blank.data) == {"class_name", "rle_mask"}

    def test_wrong_size(self) -> None:
        """A map of another size than the image is refused."""
        with pytest.raises(PredictionError, match=r"segmentation_map must be of the image's size"):
            SemanticSegmentationResult(
                segmentation_map=np.zeros((4, 5)), confidence=np.zeros((4, 5)), image_size=(8, 10)
            )
