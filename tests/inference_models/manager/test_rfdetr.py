"""RF-DETR models as packages hold them, through the manager: folders with ONNX and TorchScript,
detection and segmentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from inference_models.backends import built_in_backends
from inference_models.errors import CorruptedModelPackageError
from inference_models.manager import ModelManager
from tests.inference_models.rfdetr_networks import (
    BOXES,
    GRID,
    INPUT,
    LOGITS,
    MEANS,
    NAMES,
    STDS,
    assert_found,
    constants_graph,
    infer,
    inference_config,
    mask_logits,
    raw,
    torch_masks,
    write_folder,
)


class TestOnnxFolder:
    """`model_config.json`, `inference_config.json`, `class_names.txt`, `weights.onnx`."""

    @pytest.mark.parametrize("masks", [False, True])
    def test_loads_as_it_is(self, tmp_path: Path, masks: bool) -> None:
        """Boxes, classes without the removed one, no row for the column that stands for nothing;
        masks by query."""
        folder = write_folder(tmp_path, masks)
        constants_graph(folder / "weights.onnx", raw(masks))
        found = infer(folder, confidence=0.4)
        assert_found(found, (96, 256))
        if masks:
            expected = torch_masks(mask_logits()[[1, 0, 0]], (96, 256))
            np.testing.assert_array_equal(found.masks.to_dense(), expected)

    @pytest.mark.parametrize("factor", [0.0, 0.25, 0.5])
    def test_reduced_masks(self, tmp_path: Path, factor: float) -> None:
        """At a factor the masks are those of torch at that size; boxes stay where they were."""
        folder = write_folder(tmp_path, True)
        constants_graph(folder / "weights.onnx", raw(True))
        found = infer(folder, confidence=0.4, masks_resolution_factor=factor)
        assert_found(found, (96, 256))
        size = tuple(
            round(g * (1 - factor) + s * factor) for g, s in zip(GRID, (96, 256), strict=True)
        )
        assert found.mask_size == size
        expected = torch_masks(mask_logits()[[1, 0, 0]], size)
        np.testing.assert_array_equal(found.masks.to_dense(), expected)

    def test_grid_of_a_large_network(self, tmp_path: Path) -> None:
        """A network of 768 px has a grid of 192 cells; shrunk to a smaller image its masks are
        those of torch with antialiasing."""
        folder = write_folder(tmp_path, True)
        values = mask_logits((192, 192))
        constants_graph(folder / "weights.onnx", raw(False) | {"masks": values})
        for size in ((100, 150), (1080, 1920)):
            found = infer(folder, size, confidence=0.4)
            expected = torch_masks(values[[1, 0, 0]], size)
            assert (found.masks.to_dense() != expected).sum() == 0

    def test_ragged_masks(self, tmp_path: Path) -> None:
        """Exported masks are low resolution; thresholding them before enlarging gives ragged
        masks. Logits of a disc on 28 x 28 cells enlarged to 480 x 640 are torch's mask and the
        disc, which the mask cut first is not. Reference: roboflow/rf-detr#463."""
        y, x = np.mgrid[:28, :28] + 0.5
        disc = (8.0 - np.hypot(y - 14, x - 14)).astype(np.float32)
        folder = write_folder(tmp_path, True)
        outputs = {"dets": BOXES[1:2], "labels": LOGITS[1:2], "masks": disc[None]}
        constants_graph(folder / "weights.onnx", outputs)
        (mask,) = infer(folder, (480, 640), confidence=0.4).masks.to_dense()
        (torch_mask,) = torch_masks(disc[None], (480, 640))
        rows, columns = np.mgrid[:480, :640] + 0.5
        true = np.hypot(rows * 28 / 480 - 14, columns * 28 / 640 - 14) < 8
        cut_first = cv2.resize((disc > 0).astype(np.uint8), (640, 480), interpolation=0) > 0

        def iou(one: np.ndarray, other: np.ndarray) -> float:
            return float((one & other).sum() / (one | other).sum())

        assert iou(mask, torch_mask) == 1.0
        assert iou(mask, true) > 0.99
        assert iou(cut_first, true) < 0.97

    def test_size_of_the_graph_wins(self, tmp_path: Path, caplog: Any) -> None:
        """A size in the configuration that is not the graph's is warned of and not used."""
        folder = write_folder(tmp_path, False, training_input_size={"height": 560, "width": 560})
        constants_graph(folder / "weights.onnx", raw(False))
        assert_found(infer(folder, confidence=0.4), (96, 256))
        assert "the graph's size is used" in caplog.text

    def test_fixed_batch(self, tmp_path: Path) -> None:
        """A graph of a fixed batch answers any number of images."""
        folder = write_folder(tmp_path, True)
        constants_graph(folder / "weights.onnx", raw(True), batch=3)
        images = [np.zeros((40 + row, 60, 3), np.uint8) for row in range(4)]
        with ModelManager() as manager:
            found = manager.infer(str(folder), images, {"confidence": 0.4})
        for row, one in enumerate(found):
            assert_found(one, (40 + row, 60))

    @pytest.mark.parametrize("limit", [1, 2])
    def test_removed_classes_take_places(self, tmp_path: Path, limit: int) -> None:
        """With as many places as queries, the removed class and the column for nothing take theirs
        before the classes of the model are counted, as in training; the limit comes last."""
        folder = write_folder(tmp_path, False)
        outputs = {"dets": BOXES[2:4], "labels": LOGITS[[0, 3]]}
        constants_graph(folder / "weights.onnx", outputs)
        found = infer(folder, confidence=0.1, max_detections=limit)
        # Two places: the column for nothing (5) and the cat (2); the dog (1) has none.
        assert found.class_name.tolist() == ["cat"]

    def test_two_outputs_for_masks(self, tmp_path: Path) -> None:
        """An export of a detector is no segmenter."""
        folder = write_folder(tmp_path, True)
        constants_graph(folder / "weights.onnx", raw(False))
        with pytest.raises(CorruptedModelPackageError, match=r"needs 3 outputs .* has 2: dets, l"):
            infer(folder)


def normalised(image: np.ndarray) -> np.ndarray:
    """(3, h, w) float32 of a BGR image of the input's size, by plain arithmetic."""
    rgb = image[..., ::-1].astype(np.float64) / 255
    return ((rgb - MEANS) / STDS).transpose(2, 0, 1).astype(np.float32)


class TestInput:
    """The pixels an RF-DETR network gets."""

    def given(self, folder: Path, image: np.ndarray) -> Any:
        """The input (3, h, w) the backend saw, and the prediction."""
        seen: list[np.ndarray] = []

        def opener(package: Any, options: Any) -> Any:
            backend = built_in_backends()["onnx"](package, options)
            forward = backend.forward
            backend.forward = lambda batch: (seen.append(batch.copy()), forward(batch))[1]  # type: ignore[method-assign]
            return backend

        with ModelManager(backends={"onnx": opener}) as manager:
            (found,) = manager.infer(str(folder), image, {"confidence": 0.4})
        return seen[0][0], found

    @pytest.mark.parametrize("scaling", [{}, {"scaling_factor": 255}])
    def test_stretched_and_normalised(self, tmp_path: Path, scaling: Any) -> None:
        """Pixels are fractions of 255 before they are normalised, said or not."""
        folder = write_folder(tmp_path, False, **scaling)
        constants_graph(folder / "weights.onnx", raw(False))
        image = np.random.default_rng(0).integers(0, 256, (96, 256, 3), dtype=np.uint8)
        given, _ = self.given(folder, image)
        stretched = cv2.resize(image, INPUT[::-1], interpolation=cv2.INTER_LINEAR)
        np.testing.assert_allclose(given, normalised(stretched), atol=1e-5)

    @pytest.mark.parametrize("mode", ["letterbox", "fit-longer-edge", "center-crop"])
    def test_another_resize_mode_alone(self, tmp_path: Path, mode: str, caplog: Any) -> None:
        """Without the sizes of the data set, the image is stretched whatever the mode, with a
        warning: these networks are trained on stretched images only."""
        folder = write_folder(tmp_path, False, resize_mode=mode)
        constants_graph(folder / "weights.onnx", raw(False))
        image = np.random.default_rng(0).integers(0, 256, (96, 256, 3), dtype=np.uint8)
        given, found = self.given(folder, image)
        stretched = cv2.resize(image, INPUT[::-1], interpolation=cv2.INTER_LINEAR)
        np.testing.assert_allclose(given, normalised(stretched), atol=1e-5)
        assert_found(found, (96, 256))
        # The mode was asked for and does nothing, except for the one that is always replaced.
        assert (f"{mode} is left out" in caplog.text) is (mode != "fit-longer-edge")

    def test_resize_of_the_data_set_first(self, tmp_path: Path) -> None:
        """Where the images of the training were letterboxed to 160 x 160, so is the image, and the
        result is stretched; boxes and masks come back through both."""
        folder = write_folder(
            tmp_path, True, resize_mode="letterbox", padding_value=114,
            dataset_version_resize_dimensions={"height": 160, "width": 160},
        )  # fmt: skip
        constants_graph(folder / "weights.onnx", raw(True))
        image = np.random.default_rng(0).integers(0, 256, (100, 320, 3), dtype=np.uint8)
        given, found = self.given(folder, image)
        canvas = np.full((160, 160, 3), 114, np.uint8)
        canvas[55:105] = cv2.resize(image, (160, 50), interpolation=cv2.INTER_LINEAR)
        stretched = cv2.resize(canvas, INPUT[::-1], interpolation=cv2.INTER_LINEAR)
        np.testing.assert_allclose(given, normalised(stretched), atol=1e-5)
        # The first query's box is 40..120 of the canvas in both directions.
        assert found.class_name.tolist() == ["dog", "cat", "dog"]
        np.testing.assert_allclose(found.xyxy[1], [80, 0, 240, 100], atol=1e-3)
        np.testing.assert_allclose(found.xyxy[0], [40, 0, 120, 50], atol=1e-3)
        # Rows 4 to 7 of the 12 rows of the grid are the image: 55 and 55 of 160 px are bars.
        trimmed = mask_logits()[[1, 0, 0], 4:8]
        np.testing.assert_array_equal(found.masks.to_dense(), torch_masks(trimmed, (100, 320)))


class TestTorchScript:
    """`weights.torchscript`, and a lone `.torchscript` file."""

    def module(self, outputs: dict[str, np.ndarray], as_dict: bool) -> Any:
        torch = pytest.importorskip("torch")

        class Constants(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.names = list(outputs)
                self.values = [torch.from_numpy(value) for value in outputs.values()]

            def forward(self, images):  # type: ignore[no-untyped-def]
                nothing = images.mean(dim=[1, 2, 3]) * 0
                answers: list[torch.Tensor] = []  # type: ignore[name-defined]
                for value in self.values:
                    answers.append(torch.stack([value + one for one in nothing]))
                return answers

        class Named(Constants):
            def forward(self, images):  # type: ignore[no-untyped-def]
                nothing = images.mean(dim=[1, 2, 3]) * 0
                answers: dict[str, torch.Tensor] = {}  # type: ignore[name-defined]
                for name, value in zip(self.names, self.values):  # noqa: B905
                    answers[name] = torch.stack([value + one for one in nothing])
                return answers

        return torch.jit.script(Named() if as_dict else Constants())

    @pytest.mark.parametrize("masks", [False, True])
    def test_tuple_of_a_folder(self, tmp_path: Path, masks: bool) -> None:
        """Outputs without names are boxes, logits and masks in this order."""
        torch = pytest.importorskip("torch")
        folder = write_folder(tmp_path, masks, "torch-script")
        torch.jit.save(self.module(raw(masks), False), str(folder / "weights.torchscript"))
        assert_found(infer(folder, confidence=0.4), (96, 256))

    def test_dictionary_in_the_order_of_the_network(self, tmp_path: Path) -> None:
        """The network itself answers with a dictionary whose logits come first: names decide."""
        torch = pytest.importorskip("torch")
        outputs = {"pred_logits": LOGITS, "pred_masks": mask_logits(), "pred_boxes": BOXES}
        config = {
            "model_architecture": "rfdetr",
            "task_type": "instance-segmentation",
            "backend_type": "torch-script",
            "class_names": NAMES,
            "inference_config": inference_config(),
        }
        path = tmp_path / "model.torchscript"
        torch.jit.save(
            self.module(outputs, True), str(path),
            _extra_files={"model_config.json": json.dumps(config)},
        )  # fmt: skip
        found = infer(path, confidence=0.4)
        assert_found(found, (96, 256))
        expected = torch_masks(mask_logits()[[1, 0, 0]], (96, 256))
        np.testing.assert_array_equal(found.masks.to_dense(), expected)
