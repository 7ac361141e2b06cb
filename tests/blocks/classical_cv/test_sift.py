from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.sift.family import detect_features
from blocks.classical_cv.sift.v1 import SiftBlockV1


class TestDetectFeatures:
    def test_points_lie_on_texture(self) -> None:
        """Points are found on the textured patch, not on the flat ground."""
        image = np.full((100, 140), 90, np.uint8)
        patch = np.random.RandomState(5).randint(0, 256, (10, 12)).astype(np.uint8)
        image[30:70, 40:88] = patch.repeat(4, axis=0).repeat(4, axis=1)
        points, descriptors = detect_features(image)
        places = np.array([point.pt for point in points])
        assert len(points) > 10
        assert descriptors.shape == (len(points), 128)
        assert descriptors.dtype == np.float32
        assert (places > [34, 24]).all()
        assert (places < [94, 76]).all()

    def test_rotated_image_matches(self, coins: np.ndarray) -> None:
        """Most descriptors of an image are found again when it is turned by 90 degrees."""
        _, here = detect_features(coins)
        _, turned = detect_features(np.rot90(coins).copy())
        distance = np.linalg.norm(here[:100, None] - turned[None], axis=2).min(axis=1)
        assert np.median(distance) < 0.2 * np.linalg.norm(here, axis=1).mean()

    @pytest.mark.parametrize("shape", [(1, 1), (30, 40), (30, 40, 3)])
    def test_nothing(self, shape: tuple[int, ...]) -> None:
        """Without texture there are no points and (0, 128) descriptors."""
        points, descriptors = detect_features(np.full(shape, 60, np.uint8))
        assert points == []
        assert descriptors.shape == (0, 128)
        assert descriptors.dtype == np.float32


class TestSiftBlockV1:
    def test_outputs(self, as_image: Any, run_block: Any, coins: np.ndarray) -> None:
        """Points are plain data in image px, one descriptor each, and circled on a gray copy."""
        result = run_block(SiftBlockV1, {"image": as_image(coins)})
        keypoints = result["keypoints"]
        assert len(keypoints) == len(result["descriptors"]) > 100
        assert set(keypoints[0]) == {"pt", "size", "angle", "response", "octave", "class_id"}
        assert all(0 <= point["pt"][0] < 384 and 0 <= point["pt"][1] < 303 for point in keypoints)
        json.dumps(keypoints)
        drawn = result["image"].numpy_image
        changed = (drawn != coins).any(axis=2)
        assert drawn.shape == coins.shape
        assert changed.any()
        assert (drawn[~changed] == coins[~changed]).all()

    def test_gray_and_colour_agree(self, as_image: Any, run_block: Any, coins: np.ndarray) -> None:
        """A gray image gives the same features as its colour copy."""
        gray = run_block(SiftBlockV1, {"image": as_image(coins[:, :, 0])})
        colour = run_block(SiftBlockV1, {"image": as_image(coins)})
        assert np.array_equal(gray["descriptors"], colour["descriptors"])
