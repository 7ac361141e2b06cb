"""The shipped model finds the coins of a photograph it never saw.

The reference labels are a watershed of the Sobel edges; other markers change them by less than half
a percent, one pixel of erosion by eight.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from inference_models.manager import ModelManager
from inference_models.shipped import shipped_models

ROOT = Path(__file__).parents[3]
MODELS = shipped_models()
MODEL_ID = "parts-seg/1"
COINS = 24
LEAST_IOU = 0.80


@pytest.fixture(scope="module")
def overlaps() -> np.ndarray:
    """(24, n) mask IoU of each labelled coin with each answer, by the recommended threshold."""
    photograph = cv2.imread(str(ROOT / "examples" / "images" / "coins.png"))
    labels = cv2.imread(str(Path(__file__).parent / "coins_labels.png"), cv2.IMREAD_GRAYSCALE)
    with ModelManager(model_directories=[MODELS]) as manager:
        (found,) = manager.infer(MODEL_ID, photograph)
    assert set(found.class_name.tolist()) == {"coin"}
    answers = found.masks.on_image_grid().to_dense().reshape(len(found), -1).astype(np.float64)
    wanted = np.stack([labels == number + 1 for number in range(COINS)]).reshape(COINS, -1)
    shared = wanted.astype(np.float64) @ answers.T
    return shared / (wanted.sum(1)[:, None] + answers.sum(1)[None] - shared)


class TestCoins:
    def test_every_coin_is_found(self, overlaps: np.ndarray) -> None:
        """Each of the 24 coins has an answer whose mask agrees."""
        assert overlaps.max(axis=1).min() >= LEAST_IOU

    def test_nothing_else_is_found(self, overlaps: np.ndarray) -> None:
        """As many answers as coins, each of them one coin."""
        assert overlaps.shape[1] == COINS
        assert overlaps.max(axis=0).min() >= LEAST_IOU
        assert sorted(overlaps.argmax(axis=0).tolist()) == list(range(COINS))
