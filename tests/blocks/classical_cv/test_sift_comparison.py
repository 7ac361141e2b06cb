"""`sift_comparison`: features that two images share, against a comparison of all with all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from blocks.classical_cv.sift.family import detect_features
from blocks.classical_cv.sift.v1 import SiftBlockV1
from blocks.classical_cv.sift_comparison.family import good_matches
from blocks.classical_cv.sift_comparison.v1 import SiftComparisonBlockV1
from blocks.classical_cv.sift_comparison.v2 import SiftComparisonBlockV2
from execution_engine.errors import InvalidFieldValueError

RunBlock = Callable[..., dict[str, Any]]


def random_descriptors(count: int, seed: int, length: int = 128) -> np.ndarray:
    """(count, length) float32."""
    return np.random.default_rng(seed).uniform(0, 255, (count, length)).astype(np.float32)


def noisy(descriptors: np.ndarray, noise: float) -> np.ndarray:
    """The same features as another image shows them, in another order."""
    random = np.random.default_rng(9)
    moved = descriptors + random.normal(0, noise, descriptors.shape)
    return moved[random.permutation(len(moved))].astype(np.float32)


def pairs_by_hand(first: np.ndarray, second: np.ndarray, ratio: float) -> set[tuple[int, int]]:
    """Ratio test of all with all, in 64 bits."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    distances = np.linalg.norm(a[:, None] - b[None], axis=2)
    order = distances.argsort(axis=1)
    rows = np.arange(len(a))
    nearest, next_one = distances[rows, order[:, 0]], distances[rows, order[:, 1]]
    return {(int(row), int(order[row, 0])) for row in np.flatnonzero(nearest < ratio * next_one)}


def indices(matches: list[cv2.DMatch]) -> set[tuple[int, int]]:
    return {(match.queryIdx, match.trainIdx) for match in matches}


class TestGoodMatches:
    @pytest.mark.parametrize("ratio", [0.0, 0.4, 0.7, 0.95, 1.0])
    def test_all_with_all(self, ratio: float) -> None:
        """The matches are those of the ratio test by hand."""
        first = random_descriptors(90, 1)
        second = np.concatenate([noisy(first[:50], 60), random_descriptors(40, 2)])
        found = good_matches(first, second, ratio, fast=False)
        assert indices(found) == pairs_by_hand(first, second, ratio)

    def test_trees_miss_little(self) -> None:
        """The fast matcher finds nearly all clear partners and no others."""
        first = random_descriptors(300, 3)
        second = noisy(first, 20)
        exact = indices(good_matches(first, second, 0.7, fast=False))
        found = indices(good_matches(first, second, 0.7, fast=True))
        assert len(exact) == 300
        assert len(found & exact) >= 290

    def test_no_chance(self) -> None:
        """The fast matcher gives the same again, whatever was drawn by chance before."""
        first = random_descriptors(200, 4)
        second = noisy(first, 80)
        results = []
        for seed in (1, 2, 3):
            cv2.setRNGSeed(seed)
            results.append(indices(good_matches(first, second, 0.9, fast=True)))
        assert results[0] == results[1] == results[2]

    @pytest.mark.parametrize("fast", [True, False])
    @pytest.mark.parametrize(("count_1", "count_2"), [(0, 0), (0, 5), (5, 0), (5, 1), (1, 1)])
    def test_too_few(self, fast: bool, count_1: int, count_2: int) -> None:
        """Without a second partner to compare with nothing matches."""
        first, second = random_descriptors(count_1, 5), random_descriptors(count_2, 5)
        assert good_matches(first, second, 1.0, fast=fast) == []

    @pytest.mark.parametrize("fast", [True, False])
    def test_one_feature_and_two(self, fast: bool) -> None:
        """Two partners are enough."""
        second = random_descriptors(2, 6)
        assert indices(good_matches(second[1:], second, 0.7, fast=fast)) == {(0, 1)}


class TestSiftComparisonBlockV1:
    def test_threshold(self, run_block: RunBlock) -> None:
        """As many matches as asked for are enough, one more is not."""
        first = random_descriptors(60, 7)
        inputs = {"descriptor_1": first, "descriptor_2": noisy(first, 5)}
        enough = run_block(SiftComparisonBlockV1, inputs, good_matches_threshold=60)
        missing = run_block(SiftComparisonBlockV1, inputs, good_matches_threshold=61)
        assert enough == {"good_matches_count": 60, "images_match": True}
        assert missing == {"good_matches_count": 60, "images_match": False}

    def test_ratio(self, run_block: RunBlock) -> None:
        """A stricter ratio lets fewer through; above 1 every nearest partner counts."""
        first = random_descriptors(60, 7)
        inputs = {"descriptor_1": first, "descriptor_2": random_descriptors(60, 8)}
        counts = [
            run_block(SiftComparisonBlockV1, inputs, ratio_threshold=ratio)["good_matches_count"]
            for ratio in (0, 0.7, 0.99, 1.5)
        ]
        assert counts[:2] == [0, 0]
        assert counts == sorted(counts)
        assert counts[3] == 60

    def test_lists_and_whole_numbers(self, run_block: RunBlock) -> None:
        """Descriptors may be lists and integers, as they come over the wire."""
        first = np.round(random_descriptors(20, 1)).astype(np.uint8)
        inputs = {"descriptor_1": first.tolist(), "descriptor_2": first}
        assert run_block(SiftComparisonBlockV1, inputs)["good_matches_count"] == 20

    def test_nothing_found(self, run_block: RunBlock) -> None:
        """What SIFT gives for a flat image matches nothing."""
        _, none = detect_features(np.full((50, 50), 9, np.uint8))
        inputs = {"descriptor_1": none, "descriptor_2": random_descriptors(9, 1)}
        expected = {"good_matches_count": 0, "images_match": False}
        assert run_block(SiftComparisonBlockV1, inputs, good_matches_threshold=1) == expected

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.zeros(5), r"`descriptor_1` must be descriptors.*array of shape \(5,\)"),
            ("text", "got str"),
            ([[1, 2], [3]], "got list"),
            (np.array([["a"]]), r"array of shape \(1, 1\)"),
            (np.array([[1.0, np.nan]]), "finite 32-bit numbers, got nan"),
            (np.array([[1e300, 0.0]]), r"finite 32-bit numbers, got 1e\+300"),
            (np.zeros((3, 64)), "`descriptor_1` and `descriptor_2` .* one length, got 64 and 128"),
        ],
    )
    def test_no_descriptors(self, run_block: RunBlock, value: Any, message: str) -> None:
        """What is no table of finite numbers is an error that says so."""
        inputs = {"descriptor_1": value, "descriptor_2": random_descriptors(4, 1)}
        with pytest.raises(InvalidFieldValueError, match=message):
            run_block(SiftComparisonBlockV1, inputs)

    def test_inputs_stay(self, run_block: RunBlock) -> None:
        """Descriptors are not written."""
        first = random_descriptors(20, 1)
        before = first.copy()
        run_block(SiftComparisonBlockV1, {"descriptor_1": first, "descriptor_2": first})
        assert (first == before).all()


class TestSiftComparisonBlockV2:
    def test_same_scene(self, as_image: Any, run_block: RunBlock, coins: np.ndarray) -> None:
        """A picture and its part turned by 90 degrees match; another picture does not."""
        part = np.ascontiguousarray(np.rot90(coins[40:250, 60:330]))
        inputs = {"input_1": as_image(coins), "input_2": as_image(part)}
        result = run_block(SiftComparisonBlockV2, inputs)
        assert result["images_match"] is True
        noise = np.random.default_rng(3).integers(0, 256, (200, 200, 3), dtype=np.uint8)
        other = run_block(SiftComparisonBlockV2, inputs | {"input_2": as_image(noise)})
        assert other["images_match"] is False
        assert other["good_matches_count"] < 10

    @pytest.mark.parametrize("matcher", ["FlannBasedMatcher", "BFMatcher"])
    def test_images_or_descriptors(
        self, as_image: Any, run_block: RunBlock, coins: np.ndarray, matcher: str
    ) -> None:
        """Descriptors that SIFT steps found give what the images give, without drawings."""
        images = {"input_1": as_image(coins), "input_2": as_image(coins[:, 50:])}
        found = {name: run_block(SiftBlockV1, {"image": image}) for name, image in images.items()}
        descriptors = {name: values["descriptors"] for name, values in found.items()}
        options = {"visualize": True, "matcher": matcher}
        by_image = run_block(SiftComparisonBlockV2, images, **options)
        by_descriptor = run_block(SiftComparisonBlockV2, descriptors, **options)
        mixed = run_block(
            SiftComparisonBlockV2, images | {"input_2": descriptors["input_2"]}, **options
        )
        for name in ("good_matches_count", "images_match"):
            assert by_image[name] == by_descriptor[name] == mixed[name]
        for side in ("1", "2"):
            assert np.array_equal(by_image[f"descriptors_{side}"], descriptors[f"input_{side}"])
            assert by_image[f"keypoints_{side}"] == found[f"input_{side}"]["keypoints"]
            assert by_descriptor[f"keypoints_{side}"] is None
            assert by_descriptor[f"visualization_{side}"] is None
        assert by_descriptor["visualization_matches"] is None
        assert mixed["visualization_matches"] is None
        assert mixed["visualization_1"] is not None

    def test_drawings(self, as_image: Any, run_block: RunBlock, coins: np.ndarray) -> None:
        """Each image as SIFT draws it, and both side by side with a line for each match."""
        small = np.ascontiguousarray(coins[50:200, 60:260, 0])
        images = {"input_1": as_image(coins, "a"), "input_2": as_image(small, "b")}
        result = run_block(SiftComparisonBlockV2, images, visualize=True)
        for side, image in (("1", images["input_1"]), ("2", images["input_2"])):
            drawn = run_block(SiftBlockV1, {"image": image})["image"]
            assert np.array_equal(result[f"visualization_{side}"].numpy_image, drawn.numpy_image)
        both = result["visualization_matches"]
        assert both.numpy_image.shape == (303, 384 + 200, 3)
        assert both.parent_metadata.parent_id == "a"
        changed = (both.numpy_image[:, :384] != coins).any(axis=2)
        assert 0 < changed.mean() < 0.9
        assert (both.numpy_image[150:, 384:] == 0).all(axis=2).mean() > 0.3

    def test_nothing_drawn(self, as_image: Any, run_block: RunBlock, coins: np.ndarray) -> None:
        """No drawings unless asked for."""
        result = run_block(
            SiftComparisonBlockV2, {"input_1": as_image(coins), "input_2": as_image(coins)}
        )
        assert [name for name, value in result.items() if value is None] == [
            "visualization_1", "visualization_2", "visualization_matches",
        ]  # fmt: skip

    @pytest.mark.parametrize("shape", [(1, 1), (30, 40), (30, 40, 3)])
    def test_flat(
        self, as_image: Any, run_block: RunBlock, coins: np.ndarray, shape: tuple[int, ...]
    ) -> None:
        """An image without features matches nothing, not even itself, and is drawn all the same."""
        flat = as_image(np.full(shape, 60, np.uint8))
        for other in (flat, as_image(coins)):
            result = run_block(
                SiftComparisonBlockV2, {"input_1": flat, "input_2": other}, visualize=True
            )
            assert (result["good_matches_count"], result["images_match"]) == (0, False)
            assert result["descriptors_1"].shape == (0, 128)
            assert result["visualization_matches"] is not None

    @pytest.mark.parametrize(
        ("field", "value"), [("matcher", "None"), ("ratio_threshold", 1.5),
                             ("good_matches_threshold", 0)],
    )  # fmt: skip
    def test_wrong_values(self, field: str, value: Any) -> None:
        """Values that come through references are checked, too."""
        fields: dict[str, Any] = {"good_matches_threshold": 5, "ratio_threshold": 0.5,
                                  "matcher": "BFMatcher", "visualize": False}  # fmt: skip
        descriptors = random_descriptors(4, 1)
        with pytest.raises(InvalidFieldValueError, match=f"`{field}`"):
            SiftComparisonBlockV2().run(descriptors, descriptors, **{**fields, field: value})
