"""The resolution of masks over the whole table: families, backends, geometries, factors, numbers of
objects, and the three forms in which masks leave: bitmaps, RLE, polygons.

The oracle is plain arithmetic on canvases with hand-written sizes (`mask_scenes`); RLE is read by
pycocotools, polygons are filled by OpenCV.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv
from pycocotools import mask as coco

from blocks.kinds.detections.serialise import serialise_detections
from blocks.models.model_block import detection_rows
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowImageData
from inference_models.backends.openers import built_in_backends
from inference_models.errors import InvalidParameterError
from inference_models.manager import ModelManager
from inference_models.masks import encode_masks
from inference_models.predictions import InstanceDetections
from tests.blocks.models.constant_models import (
    BACKENDS,
    IN_PROCESS,
    LIBRARY_OF,
    ConstantBackend,
    segmenter_config,
    write_constants,
)
from tests.blocks.models.mask_scenes import (
    BOXES,
    CLASSES,
    FACTORS,
    FAMILIES,
    GEOMETRIES,
    NETWORK,
    SCORES,
    expected_masks,
    raw_outputs,
    rule_of,
)

# Lowest score: how many of the objects are found.
COUNTS = {0.95: 0, 0.85: 1, 0.4: 5}

# Set pixels of all five masks together at each factor.
AREAS = {
    "letterbox": {
        "sigmoid, cut": [128, 620, 1514, 4393],
        "logit, cut": [128, 871, 2155, 6269],
        "logit, whole": [145, 721, 1758, 5210],
    },
    "stretch": {
        "sigmoid, cut": [134, 537, 1223, 3425],
        "logit, cut": [134, 754, 1780, 4842],
        "logit, whole": [151, 616, 1424, 4019],
    },
    "crop-at-origin": {
        "sigmoid, cut": [128, 392, 829, 2190],
        "logit, cut": [128, 560, 1143, 3117],
        "logit, whole": [145, 474, 971, 2586],
    },
    "crop-at-far-edge": {
        "sigmoid, cut": [128, 360, 727, 1861],
        "logit, cut": [128, 518, 1016, 2634],
        "logit, whole": [145, 429, 861, 2200],
    },
}

of_every_family = pytest.mark.parametrize("family", FAMILIES)
of_every_geometry = pytest.mark.parametrize("geometry", GEOMETRIES)


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelManager]:
    """Models `<family>-<geometry>/<backend>`, as far as the libraries of backends are here."""
    folder = tmp_path_factory.mktemp("constants")
    for backend in BACKENDS:
        if backend in LIBRARY_OF and find_spec(LIBRARY_OF[backend]) is None:
            continue
        for family in FAMILIES:
            weights = folder / f"{family}.{backend}"
            write_constants(backend, weights, raw_outputs(family), NETWORK)
            for name, geometry in GEOMETRIES.items():
                package = folder / f"{family}-{name}" / backend
                package.mkdir(parents=True)
                config = segmenter_config(family, backend, geometry)
                (package / "model_config.json").write_text(json.dumps(config))
                (package / weights.name).symlink_to(weights)
    backends = {**built_in_backends(), IN_PROCESS: ConstantBackend}
    with ModelManager(model_directories=[folder], backends=backends) as made:
        yield made


class Predictions:
    """What the models answer; asked again, the same prediction is given."""

    def __init__(self, manager: ModelManager) -> None:
        self.manager = manager
        self._known: dict[tuple[Any, ...], InstanceDetections] = {}

    def __call__(
        self,
        family: str,
        geometry: str,
        factor: float | None = None,
        confidence: float = 0.4,
        backend: str = IN_PROCESS,
    ) -> InstanceDetections:
        """The instances of one image."""
        if backend in LIBRARY_OF:
            pytest.importorskip(LIBRARY_OF[backend])
        asked = (family, geometry, factor, confidence, backend)
        if asked not in self._known:
            image = np.zeros((*GEOMETRIES[geometry].image, 3), np.uint8)
            parameters: dict[str, Any] = {"confidence": confidence}
            if factor is not None:
                parameters["masks_resolution_factor"] = factor
            (found,) = self.manager.infer(f"{family}-{geometry}/{backend}", image, parameters)
            assert isinstance(found, InstanceDetections)
            self._known[asked] = found
        return self._known[asked]


@pytest.fixture(scope="module")
def predict(manager: ModelManager) -> Predictions:
    """Runs the models of the table."""
    return Predictions(manager)


def as_rows(prediction: InstanceDetections, with_rle: bool = True) -> sv.Detections:
    """The prediction as a block gives it."""
    height, width = prediction.image_size
    pixels = np.zeros((height, width, 3), np.uint8)
    image = WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels)
    (row,) = detection_rows(
        [prediction], Batch([image]), "instance-segmentation", with_rle=with_rle
    )
    detections: sv.Detections = row["predictions"]
    return detections


def nearest(masks: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(n, *size) the masks on another grid over the same image."""
    resized = [
        cv2.resize(mask.astype(np.uint8), size[::-1], interpolation=cv2.INTER_NEAREST)
        for mask in masks
    ]
    return np.stack(resized).astype(bool) if resized else np.zeros((0, *size), bool)


def largest_part(mask: np.ndarray) -> np.ndarray:
    """A mask (h, w) without holes and without all but its largest part."""
    contours, _ = cv2.findContours(
        mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
    )
    filled = np.zeros(mask.shape, np.uint8)
    if contours:
        cv2.drawContours(filled, [max(contours, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    return filled.astype(bool)


def filled_points(row: dict[str, Any], size: tuple[int, int]) -> np.ndarray:
    """The polygon of a JSON row as a mask (h, w)."""
    canvas = np.zeros(size, np.uint8)
    points = [[point["x"], point["y"]] for point in row["points"]]
    if points:
        cv2.fillPoly(canvas, [np.array(points, np.int32)], 1)
    return canvas.astype(bool)


@of_every_geometry
@pytest.mark.parametrize("backend", BACKENDS)
@of_every_family
class TestTable:
    """Every family by every backend, with each geometry, at all factors and counts."""

    def test_bitmaps(self, predict: Predictions, family: str, backend: str, geometry: str) -> None:
        """The factor reaches the masks: their grid has the hand-written size and every pixel is
        that of the oracle, on the grid of results without objects too."""
        scene = GEOMETRIES[geometry]
        for factor in FACTORS:
            wanted, near = expected_masks(rule_of(family), scene, factor)
            for confidence, count in COUNTS.items():
                found = predict(family, geometry, factor, confidence, backend)
                assert found.class_name.tolist() == list(CLASSES[:count])
                dense = found.masks.to_dense()
                assert dense.shape == (count, *scene.sizes[factor][2])
                assert not ((dense != wanted[:count]) & ~near[:count]).any()

    def test_rle(self, predict: Predictions, family: str, backend: str, geometry: str) -> None:
        """RLE declares the grid of its counts, and pycocotools reads the bitmaps from it."""
        for factor in FACTORS:
            for confidence in COUNTS:
                found = predict(family, geometry, factor, confidence, backend)
                payload = serialise_detections(as_rows(found), "rle_only")
                codes = [row["rle_mask"] for row in payload["predictions"]]
                size = list(GEOMETRIES[geometry].sizes[factor][2])
                assert [code["size"] for code in codes] == [size] * len(found)
                dense = found.masks.to_dense()
                for code, mask in zip(codes, dense, strict=True):
                    np.testing.assert_array_equal(coco.decode(code).astype(bool), mask)

    def test_polygons(self, predict: Predictions, family: str, backend: str, geometry: str) -> None:
        """Polygons are px of the image at every factor: filled, they are the largest part of the
        mask on the image; from masks and from RLE alone alike."""
        scene = GEOMETRIES[geometry]
        for factor in FACTORS:
            for confidence in COUNTS:
                found = predict(family, geometry, factor, confidence, backend)
                on_image = nearest(found.masks.to_dense(), scene.image)
                rows = as_rows(found)
                payload = serialise_detections(rows, "points")
                assert payload["image"] == {"width": scene.image[1], "height": scene.image[0]}
                for row, mask in zip(payload["predictions"], on_image, strict=True):
                    filled = filled_points(row, scene.image)
                    np.testing.assert_array_equal(filled, largest_part(mask))
                rows.mask = None
                assert serialise_detections(rows, "points") == payload

    def test_boxes(self, predict: Predictions, family: str, backend: str, geometry: str) -> None:
        """Boxes are px of the image, the same at every factor, in predictions and in JSON."""
        boxes = GEOMETRIES[geometry].image_boxes
        for factor in FACTORS:
            for confidence, count in COUNTS.items():
                found = predict(family, geometry, factor, confidence, backend)
                assert found.xyxy.dtype == np.float32
                np.testing.assert_allclose(found.xyxy, boxes[:count], atol=1e-3)
                np.testing.assert_allclose(found.confidence, SCORES[:count], rtol=1e-5)
                rows = as_rows(found)
                np.testing.assert_array_equal(rows.xyxy, found.xyxy)
                for row, box in zip(
                    serialise_detections(rows, "rle")["predictions"], found.xyxy, strict=True
                ):
                    corner = [row["x"] - row["width"] / 2, row["y"] - row["height"] / 2]
                    np.testing.assert_allclose(corner, box[:2], atol=1e-4)


@of_every_geometry
class TestFaultsSeenElsewhere:
    """Ten ways in which reduced mask resolution went wrong in other systems. The first, a factor
    that is lost on its way through a family or a backend, is what `TestTable` is for."""

    @of_every_family
    def test_rle_polygon_decoded_at_the_size_of_the_image(
        self, predict: Predictions, family: str, geometry: str
    ) -> None:
        """The polygon of rows that carry RLE alone comes from the code's own grid."""
        scene = GEOMETRIES[geometry]
        for factor in FACTORS:
            found = predict(family, geometry, factor=factor)
            rows = as_rows(found)
            rows.mask = None
            for row, mask in zip(
                serialise_detections(rows, "points")["predictions"],
                nearest(found.masks.to_dense(), scene.image),
                strict=True,
            ):
                filled = filled_points(row, scene.image)
                np.testing.assert_array_equal(filled, largest_part(mask))

    @of_every_family
    def test_canvas_one_pixel_short(self, predict: Predictions, family: str, geometry: str) -> None:
        """The canvas holds the whole crop where place and size round apart from each other, with
        bars in the input; at the far edge a factor of 0 is such a case."""
        for factor in FACTORS:
            size, place, canvas = GEOMETRIES[geometry].sizes[factor]
            found = predict(family, geometry, factor=factor)
            assert found.mask_size == canvas
            assert all(canvas[axis] >= place[axis] + size[axis] for axis in (0, 1))
            # The fifth object reaches the right border of the input, and so of the crop.
            right = int(found.masks.boxes[4, 2])
            assert right == place[1] + size[1]

    @of_every_family
    def test_crop_at_the_origin_scaled_twice(
        self, predict: Predictions, family: str, geometry: str
    ) -> None:
        """Masks lie inside of the static crop, on a canvas of the whole image, also where the crop
        begins at the corner."""
        x, y, width, height = GEOMETRIES[geometry].crop
        for factor in FACTORS:
            found = predict(family, geometry, factor=factor)
            rows = as_rows(found)
            drawn = np.asarray(rows.mask)
            assert drawn.shape[1:] == GEOMETRIES[geometry].image
            inside = np.zeros(drawn.shape[1:], bool)
            cell = 1 + max(side / grid for side, grid in zip(
                found.image_size, found.mask_size, strict=True))  # fmt: skip
            slack = 0 if factor == 1 else int(np.ceil(cell))
            inside[
                max(0, y - slack) : y + height + slack, max(0, x - slack) : x + width + slack
            ] = 1
            assert not (drawn & ~inside).any()
            centres = (BOXES[0, :2] + BOXES[0, 2:]) / 2
            scale = np.array(GEOMETRIES[geometry].resized[::-1]) / [width, height]
            centre = (centres - GEOMETRIES[geometry].pads[:2]) / scale + [x, y]
            ys, xs = np.nonzero(drawn[0])
            np.testing.assert_allclose([xs.mean() + 0.5, ys.mean() + 0.5], centre, atol=cell)

    @of_every_family
    def test_supervision_mixes_reduced_masks_with_boxes_of_the_image(
        self, predict: Predictions, family: str, geometry: str
    ) -> None:
        """In supervision boxes and masks are both px of the image: the mask of a row is the reduced
        one at the size of the image."""
        scene = GEOMETRIES[geometry]
        for factor in FACTORS:
            found = predict(family, geometry, factor=factor)
            rows = found.to_supervision()
            assert rows.mask.image_shape == scene.image
            expected = nearest(found.masks.to_dense(), scene.image)
            np.testing.assert_array_equal(np.asarray(rows.mask), expected)
            np.testing.assert_allclose(rows.xyxy, scene.image_boxes, atol=1e-3)

    @of_every_family
    def test_iterator_declares_the_size_of_the_image(
        self, predict: Predictions, family: str, geometry: str
    ) -> None:
        """Rows taken one by one keep the grid of their masks."""
        for factor in FACTORS:
            found = predict(family, geometry, factor=factor)
            canvas = GEOMETRIES[geometry].sizes[factor][2]
            dense = found.masks.to_dense()
            for one, mask in zip(found, dense, strict=True):
                assert one.mask_size == canvas
                (code,) = encode_masks(one.masks)
                assert code["size"] == list(canvas)
                np.testing.assert_array_equal(coco.decode(code).astype(bool), mask)
            for one, code in zip(as_rows(found), encode_masks(found.masks), strict=True):
                assert one[5]["rle_mask"] == code

    @of_every_family
    def test_empty_result_of_another_shape(
        self, predict: Predictions, family: str, geometry: str
    ) -> None:
        """Without objects grid, columns and types are those of a result with objects."""
        for factor in FACTORS:
            full = predict(family, geometry, factor=factor)
            empty = predict(family, geometry, factor=factor, confidence=0.95)
            assert len(empty) == 0
            assert empty.mask_size == full.mask_size == GEOMETRIES[geometry].sizes[factor][2]
            assert empty.masks.to_dense().shape == (0, *full.mask_size)
            there, here = as_rows(full), as_rows(empty)
            assert here.mask.image_shape == there.mask.image_shape
            assert list(here.data) == list(there.data)
            for name in ("xyxy", "confidence", "class_id"):
                assert getattr(here, name).dtype == getattr(there, name).dtype
            size = {"width": full.image_size[1], "height": full.image_size[0]}
            assert serialise_detections(here, "rle_only") == {"image": size, "predictions": []}

    @of_every_family
    def test_pixel_counts(self, predict: Predictions, family: str, geometry: str) -> None:
        """A change of the geometry that both ways of computing share would show in the counts."""
        counts = [
            int(predict(family, geometry, factor=factor).masks.areas.sum()) for factor in FACTORS
        ]
        assert counts == AREAS[geometry][rule_of(family)]

    @of_every_family
    def test_without_a_factor(self, predict: Predictions, family: str, geometry: str) -> None:
        """Asking for nothing is asking for a factor of 1, bit by bit."""
        plain = predict(family, geometry)
        full = predict(family, geometry, factor=1.0)
        assert encode_masks(plain.masks) == encode_masks(full.masks)
        np.testing.assert_array_equal(plain.xyxy, full.xyxy)

    def test_unknown_parameter(self, manager: ModelManager, geometry: str) -> None:
        """A name that no stage knows is refused, not swallowed."""
        image = np.zeros((8, 8, 3), np.uint8)
        for family in FAMILIES:
            model_id = f"{family}-{geometry}/{IN_PROCESS}"
            for name in ("mask_resolution_factor", "mask_decode_mode", "tradeoff_factor"):
                with pytest.raises(InvalidParameterError, match=f'unknown parameter "{name}"'):
                    manager.infer(model_id, image, {name: 0.5})
