"""Native detectors that answer something without any training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import pytest

CLASSES = ("cat", "dog", "fox")
POINTS = ("nose", "tail")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Torch computes on one thread while the tests here run: the networks are tiny."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make_detector() -> Callable[..., Any]:
    """Builds detectors of three classes, untrained or lively.

    A lively one has usual statistics in its normalisations and strong last layers, so scores differ
    from anchor to anchor, many are above 0.4, and most boxes have an area.
    """
    return _make_detector


def _make_detector(
    task: str = "detect", scale: str = "p", *, lively: bool = True, seed: int = 0, **changes: Any
) -> Any:
    torch = pytest.importorskip("torch")
    from inference_models.families.native import DetectorConfig
    from inference_models.families.native.detector import NativeDetector

    points = len(POINTS) if task == "pose" else 0
    facts = {"class_count": len(CLASSES), "keypoint_count": points} | changes
    torch.manual_seed(seed)
    model = NativeDetector(DetectorConfig(task, scale, **facts))
    if not lively:
        return model
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = None
        # Images with large shapes: of plain noise nothing is left at the coarse levels.
        images = torch.rand(4, 3, 128, 128)
        images[1:] = torch.nn.functional.interpolate(images[1:, :, :8, :8], size=128)
        model.train()(images)
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 0.1
                # Other images than these must not be blown up.
                module.running_var.clamp_(min=0.02)
        for branch in (model.head.one_to_many, model.head.one_to_one):
            for stem in branch.classes:
                stem[-1].weight.mul_(6)
                stem[-1].bias.fill_(-0.5)
            for stem in branch.boxes:
                stem[-1].weight.mul_(2)
                stem[-1].bias.fill_(2.0)
            for stem in branch.coefficients or ():
                stem[-1].weight.mul_(3)
    return model.eval()


@pytest.fixture(scope="session")
def pictures() -> list[np.ndarray]:
    """Two BGR pictures of different shapes."""
    return [_picture((63, 90), 1), _picture((54, 50), 2)]


@pytest.fixture(scope="session")
def make_picture() -> Callable[..., np.ndarray]:
    """Makes a BGR picture of a size, (h, w), with large smooth patches, by a seed."""
    return _picture


def _picture(size: tuple[int, int], seed: int = 0) -> np.ndarray:
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 8, 3), dtype=np.uint8)
    return cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_LINEAR)
