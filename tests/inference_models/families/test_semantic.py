"""Raw outputs to class maps and mattes."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from inference_models.errors import ModelRuntimeError
from inference_models.preprocessing import ImageTransform


class TestSemanticSegmentation:
    """The class of every pixel."""

    @staticmethod
    def _reference(scores: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        planes = np.stack([cv2.resize(plane, size[::-1]) for plane in scores.astype(np.float32)])
        powers = np.exp(planes - planes.max(0))
        return planes.argmax(0), (powers / powers.sum(0)).max(0)

    def test_softmax_and_best_class_at_the_image_s_size(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Scores are enlarged first; class and probability equal the plain computation."""
        scores = np.random.default_rng(0).normal(0, 2, (3, 16, 16))
        package = make_package("semantic-segmentation", "semantic-segmentation")
        found = post_process(package, {"a": scores}, size=(50, 70), confidence=0.0)
        classes, confidence = self._reference(scores, (50, 70))
        np.testing.assert_array_equal(found.segmentation_map, classes)
        np.testing.assert_allclose(found.confidence, confidence, atol=1e-5)

    def test_channels_last(self, make_package: Any, post_process: Any) -> None:
        """A channels-last graph answers channels last."""
        scores = np.random.default_rng(0).normal(0, 2, (3, 16, 16))
        first = make_package("semantic-segmentation", "semantic-segmentation")
        last = make_package("semantic-segmentation", "semantic-segmentation", layout="nhwc")
        np.testing.assert_array_equal(
            post_process(first, {"a": scores}).segmentation_map,
            post_process(last, {"a": scores.transpose(1, 2, 0)}).segmentation_map,
        )

    def test_doubtful_pixels_become_background(self, make_package: Any, post_process: Any) -> None:
        """Below the threshold a pixel has the background's class and no confidence."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("fox", "background", "dog"),
        )
        scores = np.zeros((3, 16, 16))
        scores[0, :, :8] = 9
        found = post_process(package, {"a": scores}, confidence=0.5)
        assert found.background_id == 1
        assert set(np.unique(found.segmentation_map[:, :30])) == {0}
        assert set(np.unique(found.segmentation_map[:, 34:])) == {1}
        assert not found.confidence[:, 34:].any()

    def test_a_graph_without_a_channel_for_the_background(
        self, make_package: Any, post_process: Any
    ) -> None:
        """With a channel less than names, channels are the names without the background."""
        package = make_package(
            "semantic-segmentation",
            "semantic-segmentation",
            class_names=("background", "cat", "dog"),
        )
        scores = np.full((2, 16, 16), -5.0)
        scores[1, :8] = 5
        found = post_process(package, {"a": scores}, confidence=0.9)
        assert set(np.unique(found.segmentation_map[:30])) == {2}
        assert set(np.unique(found.segmentation_map[34:])) == {0}

    def test_a_matte_is_one_channel_of_probabilities(
        self, make_package: Any, post_process: Any
    ) -> None:
        """At threshold zero the confidence is the matte itself, enlarged to the image."""
        package = make_package(
            "matting",
            "semantic-segmentation",
            class_names=("background", "person"),
            layout="nhwc",
            post_processing={"type": "sigmoid", "fused": True},
        )
        matte = np.linspace(0, 1, 16)[None, :, None].repeat(16, 0)
        found = post_process(package, {"a": matte}, size=(32, 32), confidence=0.0)
        assert np.all(np.diff(found.confidence[0]) >= 0)
        assert found.confidence.max() == 1.0
        half = post_process(package, {"a": matte}, size=(32, 32), confidence=0.5)
        np.testing.assert_array_equal(half.segmentation_map == 1, found.confidence >= 0.5)

    @pytest.mark.parametrize("offset", [(0, 0), (10, 20)])
    def test_a_static_crop_lies_in_its_place(
        self, make_package: Any, post_process: Any, offset: tuple[int, int]
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
        found = post_process(package, {"a": scores}, transform=transform)
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
        self,
        make_package: Any,
        post_process: Any,
        mode: str,
        size: tuple[int, int],
        seen: tuple[slice, slice],
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
        found = post_process(package, {"a": scores}, size=size)
        expected = np.zeros(size, int)
        expected[seen] = 1
        np.testing.assert_array_equal(found.segmentation_map, expected)

    def test_a_grid_finer_than_the_image_is_antialiased(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Where the image is smaller than the grid, every cell counts: a checkerboard is even."""
        package = make_package(
            "matting",
            "semantic-segmentation",
            class_names=("background", "person"),
            post_processing={"type": "sigmoid", "fused": True},
        )
        board = np.indices((64, 64)).sum(0)[None] % 2
        found = post_process(package, {"a": board}, size=(8, 8), confidence=0.0)
        np.testing.assert_allclose(found.confidence, 0.5, atol=0.02)

    def test_another_number_of_channels_is_named(
        self, make_package: Any, post_process: Any
    ) -> None:
        """Neither a channel a class nor one less is an error."""
        package = make_package("semantic-segmentation", "semantic-segmentation")
        with pytest.raises(ModelRuntimeError, match=r"k = 3 classes.*got \[7, 4, 4\]"):
            post_process(package, {"a": np.zeros((7, 4, 4))})
