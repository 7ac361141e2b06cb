"""Drawing keeps up with training."""

from __future__ import annotations

import time

import cv2
import pytest

from inference_models.training.scenes import PartScenes


@pytest.mark.slow
def test_keeps_up() -> None:
    """Part scenes of 320 px on one core: 60 to 75 a second idle; half of it is the floor."""
    cv2.setNumThreads(1)
    generator = PartScenes(1, (320, 320))
    generator.scene(0)
    start = time.process_time()
    for index in range(120):
        generator.scene(index)
    assert 120 / (time.process_time() - start) >= 30
