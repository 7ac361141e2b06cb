"""Batched answers are those of calls one after the other, whoever else calls at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from inference_models.backends import ThreadBudget
from inference_models.manager import ModelManager, dynamic_batching
from inference_models.shipped import shipped_models

COINS = Path(__file__).resolve().parents[3] / "examples" / "images" / "coins.png"
PARAMETERS: tuple[dict[str, Any], ...] = (
    {},
    {"confidence": 0.8},
    {"masks_resolution_factor": 0.0},
    {"class_filter": ("red", "coin"), "max_detections": 2},
    {"iou_threshold": 1.0, "class_agnostic_nms": True},
)


def same(found: Any, expected: Any) -> bool:
    """Whether two predictions are equal to the last bit."""
    return bool(
        np.array_equal(found.xyxy, expected.xyxy)
        and np.array_equal(found.confidence, expected.confidence)
        and np.array_equal(found.class_id, expected.class_id)
        and np.array_equal(found.masks.runs, expected.masks.runs)
        and np.array_equal(found.masks.boxes, expected.masks.boxes)
        and found.mask_size == expected.mask_size
        and found.image_size == expected.image_size
    )


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Results of work(0..count - 1) on threads that start at the same moment."""
    barrier = threading.Barrier(count)

    def start(index: int) -> Any:
        barrier.wait(60)
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


@pytest.fixture
def scenes(networks: Any) -> list[np.ndarray]:
    """Sixteen images of several sizes with one or three objects."""
    found = []
    for n in range(16):
        boxes = {"red": (n, 2 * n, n + 20, 2 * n + 15)}
        if n % 2:
            boxes |= {"green": (30, n, 50, 20 + n), "blue": (2, 40, 30 + n, 60)}
        found.append(networks.rectangles((64 + n, 64 + 3 * n), **boxes))
    return found


class TestBatchedResults:
    """`ModelManager.infer` with `dynamic_batching`."""

    @pytest.mark.parametrize("batch", [None, 1, 4])
    def test_sixty_four_threads_get_what_one_gets(
        self, networks: Any, tmp_path: Path, scenes: list[np.ndarray], batch: int | None
    ) -> None:
        """64 threads, four rounds, images and parameters that differ: every answer equals the
        sequential one, for graphs of any batch size (ultralytics/ultralytics#6174)."""
        path = str(
            networks.anchor_free(
                tmp_path / "net.onnx",
                masks=True,
                copies=3,
                batch=batch,
                metadata=networks.metadata("segment"),
            )
        )
        with ModelManager() as manager:
            expected = [
                [manager.infer(path, scene, parameters)[0] for parameters in PARAMETERS]
                for scene in scenes
            ]
        counts = {tuple(len(one) for one in row) for row in expected}
        assert len(counts) > 1, "the parameters make no difference"
        with ModelManager(
            threads=ThreadBudget(total=2, per_call=1),
            dispatcher=dynamic_batching(max_batch=8, queue_size=64),
        ) as manager:

            def work(index: int) -> int:
                wrong = 0
                for turn in range(4):
                    which = [(index + turn) % 16, (index * 7 + turn) % 16]
                    asked = (index + turn) % len(PARAMETERS)
                    found = manager.infer(path, [scenes[n] for n in which], PARAMETERS[asked])
                    wrong += not all(
                        same(one, expected[n][asked]) for one, n in zip(found, which, strict=True)
                    )
                return wrong

            assert together(64, work) == [0] * 64
            (status,) = manager.list_models()
            assert status.statistics is not None
            assert status.statistics.images == 64 * 4 * 2
            if batch != 1:
                assert status.statistics.joined > 0
            assert max(status.statistics.batch_sizes) <= (batch or 8)

    def test_the_shipped_model_in_batches(self) -> None:
        """On one core per forward pass onnxruntime computes a row alike in every batch, so not a
        bit differs."""
        image = cv2.imread(str(COINS))
        height, width = image.shape[:2]
        views = [image, image[:, ::-1], image[: height // 2], image[:, width // 3 :]]
        threads = ThreadBudget(total=1)
        folders = [shipped_models()]
        with ModelManager(model_directories=folders, threads=threads) as manager:
            expected = [manager.infer("parts-seg/1", view)[0] for view in views]
        assert len({len(one) for one in expected}) > 1
        with ModelManager(
            model_directories=folders, threads=threads, dispatcher=dynamic_batching(max_batch=4)
        ) as manager:
            found = together(8, lambda n: manager.infer("parts-seg/1", views[n % 4])[0])
            (status,) = manager.list_models()
        assert status.statistics is not None
        assert status.statistics.joined > 0
        assert [same(found[n], expected[n % 4]) for n in range(8)] == [True] * 8

    def test_the_shipped_model_on_two_cores(self) -> None:
        """With two threads in a forward pass, sums are taken in another order: boxes stay within a
        pixel, scores within 1e-4."""
        image = cv2.imread(str(COINS))
        with ModelManager(
            model_directories=[shipped_models()],
            threads=ThreadBudget(total=2, per_call=2),
            dispatcher=dynamic_batching(max_batch=4),
        ) as manager:
            (alone,) = manager.infer("parts-seg/1", image)
            for one in manager.infer("parts-seg/1", [image] * 4):
                np.testing.assert_allclose(one.xyxy, alone.xyxy, atol=1)
                np.testing.assert_allclose(one.confidence, alone.confidence, atol=1e-4)
                np.testing.assert_array_equal(one.class_id, alone.class_id)
