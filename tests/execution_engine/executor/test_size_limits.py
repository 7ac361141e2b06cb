"""How much one run may hold: elements of its batch, images that come in, images that steps make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from execution_engine.errors import (
    RuntimeInputError,
    RuntimeLimitsCausedStepExecutionError,
    RunTooLargeError,
)
from execution_engine.executor.limits import RunLimits
from execution_engine.images.codec import ImageCodec
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import ImageParentMetadata
from execution_engine.kinds.codec import DecodingContext
from execution_engine.size_limits import SizeLimits
from workflows.session import Session
from workflows.settings import WeftlensSettings


def image(height: int = 10, width: int = 10) -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("i"), numpy_image=np.zeros((height, width, 3), np.uint8)
    )


def sliced(side: int) -> dict[str, Any]:
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [
            {"type": "roboflow_core/image_slicer@v1", "name": "s", "image": "$inputs.image",
             "slice_width": side, "slice_height": side, "overlap_ratio_width": 0.0,
             "overlap_ratio_height": 0.0}
        ],
        "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.s.slices"}],
    }  # fmt: skip


def run(definition: dict[str, Any], inputs: dict[str, Any], **limits: int) -> Any:
    with Session(WeftlensSettings(**limits)) as session, session.engine(definition) as engine:
        return engine.run(inputs)


class TestBatches:
    def test_elements_of_a_batch(self) -> None:
        """The limit holds to the element."""
        pixels = np.zeros((4, 4, 3), np.uint8)
        assert len(run(sliced(4), {"image": [pixels] * 3}, max_batch=3)) == 3
        with pytest.raises(RuntimeInputError, match=r"has 4 elements; this host takes at most 3"):
            run(sliced(4), {"image": [pixels] * 4}, max_batch=3)

    def test_elements_that_a_step_makes(self) -> None:
        """All elements of the batch count together; the step is named."""
        pixels = np.zeros((4, 4, 3), np.uint8)
        assert len(run(sliced(2), {"image": [pixels] * 2}, max_elements=8)) == 2
        with pytest.raises(RuntimeLimitsCausedStepExecutionError, match="more than 7") as caught:
            run(sliced(2), {"image": [pixels] * 2}, max_elements=7)
        assert (caught.value.status_code, caught.value.block_id) == (400, "s")


class TestDecodingContext:
    def test_pixels_of_a_run_count_together(self) -> None:
        """Images are read until the sum of their pixels is reached; a new run starts anew."""
        context = DecodingContext(None, limits=SizeLimits(max_total_pixels=250))
        codec, pixels = ImageCodec(), np.zeros((10, 10, 3), np.uint8)
        for _ in range(2):
            codec.load("a", pixels, "a", context)
        with pytest.raises(Exception, match="at most 250 px a run"):
            codec.load("a", pixels, "a", context)
        codec.load("a", pixels, "a", context.for_run(0))


class TestRunLimits:
    def test_images_count_once(self) -> None:
        """Parts of one picture, and the picture handed on, are counted once."""
        limits = RunLimits(None, None, max_image_bytes=1000)
        whole = image(10, 10)
        part = WorkflowImageData(ImageParentMetadata("p"), numpy_image=whole.numpy_image[:5, :5])
        limits.note_images("a", [whole, [part] * 100, whole, None, "text"])
        # The pictures are held to the end, as a run holds them.
        second, third = image(10, 20), image(10, 10)
        limits.note_images("b", [second])
        with pytest.raises(RunTooLargeError, match="take 1200 bytes after step 'c'"):
            limits.note_images("c", [third])

    def test_without_a_limit(self) -> None:
        """Nothing is counted."""
        RunLimits(None, None).note_images("a", [image(100, 100)])
