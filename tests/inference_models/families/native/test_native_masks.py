"""Masks of native detectors run by torch: every geometry, factor and number of objects, as bitmaps,
RLE and polygons.

What the torch network answers is recorded and answered again by a backend without a library: the
masks must not depend on who ran the network. That exports to ONNX answer alike is tested with the
export.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco

from inference_models.backends import built_in_backends
from inference_models.backends.backend import Backend
from inference_models.manager import ModelManager
from inference_models.masks import encode_masks, largest_polygons
from inference_models.predictions import InstanceDetections
from tests.blocks.models.mask_scenes import FACTORS, GEOMETRIES, NETWORK
from tests.blocks.models.test_mask_resolution import largest_part

pytest.importorskip("torch")
pytest.importorskip("safetensors")

CLASSES = ("cat", "dog", "fox")
COUNTS = {
    "none": {"confidence": 1.0},
    "one": {"max_detections": 1},
    "many": {"max_detections": 12},
}
NUMBER = {"none": 0, "one": 1, "many": 12}
BRANCHES = ("one_to_one", "one_to_many")


class Recording:
    """A backend that keeps what another one answered, or answers it again.

    Args:
        backend: the one that is asked.
        answers: one answer an input, kept or given.
        replays: whether the answers are given.
    """

    def __init__(self, backend: Backend, answers: dict[bytes, Any], replays: bool) -> None:
        self._backend, self._answers, self._replays = backend, answers, replays
        self.input, self.outputs = backend.input, backend.outputs
        self.nbytes, self.threads = backend.nbytes, backend.threads

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The answer to an input."""
        key = batch.tobytes()
        if not self._replays:
            self._answers[key] = self._backend.forward(batch)
        return {name: value.copy() for name, value in self._answers[key].items()}

    def close(self) -> None:
        """Closes the backend behind."""
        self._backend.close()


@dataclass(frozen=True)
class Models:
    """Models `<branch>-<geometry>/1`, run and recorded, or replayed."""

    recorded: ModelManager
    replayed: ModelManager

    def predict(self, model_id: str, geometry: str, **parameters: Any) -> list[InstanceDetections]:
        """What the network and what the replay give."""
        rng = np.random.default_rng(3)
        patches = rng.integers(0, 256, (5, 6, 3), dtype=np.uint8)
        height, width = GEOMETRIES[geometry].image
        rows, columns = np.arange(height) * 5 // height, np.arange(width) * 6 // width
        image = patches[rows][:, columns]
        return [
            manager.infer(model_id, image, parameters)[0]
            for manager in (self.recorded, self.replayed)
        ]


def write_models(folder: Path, make_detector: Callable[..., Any]) -> None:
    """A package for each branch and geometry."""
    from inference_models.families.native.export import ExportDescription, write_torch_package

    model = make_detector("segment")
    for branch in BRANCHES:
        description = ExportDescription(CLASSES, NETWORK, branch=branch)
        source = folder / branch
        write_torch_package(model, source, description, dtype="float32")
        for name, geometry in GEOMETRIES.items():
            config = json.loads((source / "model_config.json").read_text())
            inference = config["inference_config"]
            inference["network_input"]["resize_mode"] = geometry.resize_mode
            if geometry.static_crop is not None:
                sides = ("x_min", "x_max", "y_min", "y_max")
                crop = dict(zip(sides, geometry.static_crop, strict=True))
                inference["image_pre_processing"] = {"static-crop": {"enabled": True, **crop}}
            package = folder / f"{branch}-{name}" / "1"
            package.mkdir(parents=True)
            (package / "model_config.json").write_text(json.dumps(config))
            (package / config["weights"]).symlink_to(source / config["weights"])


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, make_detector: Callable[..., Any]
) -> Iterator[Models]:
    """The models of the table."""
    folder = tmp_path_factory.mktemp("native")
    write_models(folder, make_detector)
    answers: dict[Path, dict[bytes, Any]] = {}

    def opener(replays: bool) -> dict[str, Any]:
        def opened(package: Any, options: Any) -> Recording:
            backend = built_in_backends()["torch"](package, options)
            return Recording(backend, answers.setdefault(package.location, {}), replays)

        return {"torch": opened}

    with (
        ModelManager(model_directories=[folder], backends=opener(False)) as recorded,
        ModelManager(model_directories=[folder], backends=opener(True)) as replayed,
    ):
        yield Models(recorded, replayed)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("branch", BRANCHES)
class TestEveryResolution:
    """The torch backend at every factor."""

    def test_masks(self, models: Models, branch: str, geometry: str, count: str) -> None:
        """The grid has the hand-written size at every factor, with or without objects; bitmaps,
        codes and outlines are one mask; and whoever ran the network, the masks are the same."""
        for factor in FACTORS:
            found, replayed = models.predict(
                f"{branch}-{geometry}/1", geometry, masks_resolution_factor=factor, **COUNTS[count]
            )
            assert len(found) == NUMBER[count]
            assert found.mask_size == GEOMETRIES[geometry].sizes[factor][2]
            assert found.image_size == GEOMETRIES[geometry].image
            assert encode_masks(found.masks) == encode_masks(replayed.masks)
            np.testing.assert_array_equal(found.xyxy, replayed.xyxy)
            self.assert_one_mask(found)
            if count == "many":
                assert found.masks.areas.sum() > 20

    @staticmethod
    def assert_one_mask(found: InstanceDetections) -> None:
        """Bitmaps, COCO codes and outlines of a prediction say the same."""
        polygons = largest_polygons(found.masks, image_px=False).polygons
        rows = zip(encode_masks(found.masks), found.masks.to_dense(), polygons, strict=True)
        for code, mask, outline in rows:
            assert code["size"] == list(found.mask_size)
            np.testing.assert_array_equal(coco.decode(code).astype(bool), mask)
            drawn = np.zeros(mask.shape, np.uint8)
            if len(outline):
                cv2.fillPoly(drawn, [outline.astype(np.int32)], 1)
            np.testing.assert_array_equal(drawn, largest_part(mask))
