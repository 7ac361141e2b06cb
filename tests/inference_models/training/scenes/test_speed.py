"""Drawing keeps up with training."""

from __future__ import annotations

import time

import cv2
import pytest

from inference_models.training.scenes import PartScenes


@pytest.mark.slow
def test_sixty_scenes_a_second() -> None:
    """Part scenes of 320 px on one core, measured in the time of the processor."""
    cv2.setNumThreads(1)
    generator = PartScenes(1, (320, 320))
    generator.scene(0)
    start = time.process_time()
    for index in range(120):
        generator.scene(index)
    assert 120 / (time.process_time() - start) >= 60
