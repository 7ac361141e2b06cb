"""RF-DETR models as their exporters write them, through the manager: package folders, lone ONNX
files, TorchScript; detection and segmentation.

The networks answer with prepared numbers, so the right boxes and masks are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from inference_models.backends import built_in_backends
from inference_models.errors import (
    CorruptedModelPackageError,
    MissingModelInitParameterError,
    ModelImplementationNotFoundError,
)
from inference_models.manager import ModelManager
from inference_models.packages import load_package
from tests.inference_models.colour_networks import ColourBoxGraph

INPUT = (48, 64)
BACKGROUND = "background_class83422"
NAMES = (BACKGROUND, "cat", "dog")
MEANS, STDS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Centre and size as fractions, and the logit of each class of a query: background, cat, dog, and
# the column behind the last class that stands for nothing. The last two queries see nothing: there
# are as many places for pairs of query and class as queries.
BOXES = np.array(
    [
        [0.5, 0.5, 0.5, 0.5], [0.25, 0.25, 0.25, 0.5], [0.75, 0.75, 0.25, 0.25],
        *[[0.5, 0.5, 1, 1]] * 3,
    ],
    np.float32,
)  # fmt: skip
LOGITS = np.array(
    [[-9, 2, 1, -9], [-9, -9, 3, -9], [4, -9, -9, -9], [-9, -9, -9, 5], *[[-9] * 4] * 2],
    np.float32,
)
GRID = (12, 16)


def mask_logits(grid: tuple[int, int] = GRID) -> np.ndarray:
    """(6, h, w): a smooth blob a query, in and around its box."""
    y, x = (np.mgrid[: grid[0], : grid[1]] + 0.5) / np.reshape(grid, (2, 1, 1))
    return np.stack(
        [3.3 - 12 * np.hypot((x - cx) / w, (y - cy) / h) ** 2 for cx, cy, w, h in BOXES.tolist()]
    ).astype(np.float32)


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def constants_graph(
    path: Path,
    outputs: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
    batch: int | None = None,
) -> Path:
    """A network that answers every image with `outputs` plus nothing of the image."""
    graph = ColourBoxGraph(INPUT, batch)
    mean = graph.node("ReduceMean", "images", axes=[1, 2, 3], keepdims=0)
    nothing = graph.node("Mul", mean, graph.constant(0))
    for name, value in outputs.items():
        shape = graph.constant([-1] + [1] * value.ndim, np.int64)
        zeros = graph.node("Reshape", nothing, shape)
        graph.output(graph.node("Add", zeros, graph.constant(value)), name, value.ndim + 1)
    return graph.save(path, metadata)


def raw(masks: bool, names: tuple[str, ...] = ("dets", "labels", "masks")) -> dict[str, Any]:
    values = (BOXES, LOGITS, mask_logits())
    return dict(zip(names, values if masks else values[:2], strict=False))


def inference_config(**network: Any) -> dict[str, Any]:
    return {
        "image_pre_processing": {},
        "network_input": {
            "training_input_size": {"height": INPUT[0], "width": INPUT[1]},
            "dynamic_spatial_size_supported": False,
            "color_mode": "rgb",
            "resize_mode": "stretch",
            "input_channels": 3,
            "normalization": [MEANS, STDS],
        }
        | network,
        "forward_pass": {"max_dynamic_batch_size": 4},
        "class_names_operations": [{"type": "class_name_removal", "class_name": BACKGROUND}],
    }


def write_folder(folder: Path, masks: bool, backend: str = "onnx", **network: Any) -> Path:
    """A package folder without weights, its parts in files of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_architecture": "rfdetr",
        "task_type": "instance-segmentation" if masks else "object-detection",
        "backend_type": backend,
    }
    (folder / "model_config.json").write_text(json.dumps(config))
    (folder / "inference_config.json").write_text(json.dumps(inference_config(**network)))
    (folder / "class_names.txt").write_text("\n".join(NAMES) + "\n")
    return folder


def infer(place: Path, size: tuple[int, int] = (96, 256), **parameters: Any) -> Any:
    with ModelManager() as manager:
        (found,) = manager.infer(str(place), np.zeros((*size, 3), np.uint8), parameters)
    return found


def assert_found(found: Any, size: tuple[int, int]) -> None:
    """The dog of the second query, and cat and dog of the first: its box counts twice."""
    assert found.class_names == ("cat", "dog")
    assert found.class_name.tolist() == ["dog", "cat", "dog"]
    np.testing.assert_allclose(found.confidence, [sigmoid(3), sigmoid(2), sigmoid(1)], rtol=1e-5)
    height, width = size
    first = np.array([0.25, 0.25, 0.75, 0.75]) * [width, height, width, height]
    second = np.array([0.125, 0, 0.375, 0.5]) * [width, height, width, height]
    np.testing.assert_allclose(found.xyxy, [second, first, first], atol=1e-4)


def torch_masks(values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """What torch makes of the logits: enlarged, then cut at 0."""
    torch = pytest.importorskip("torch")
    enlarged = torch.nn.functional.interpolate(
        torch.from_numpy(values)[None], size=size, mode="bilinear", align_corners=False,
        antialias=True,
    )  # fmt: skip
    return (enlarged[0] > 0).numpy()  # type: ignore[no-any-return]


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


def export_metadata(**changes: Any) -> dict[str, str]:
    """What the exporter of RF-DETR writes into its ONNX files."""
    content: dict[str, Any] = {
        "schema_version": 1,
        "format": "onnx",
        "task": "segment",
        "input_shape": [-1, 3, *INPUT],
        "input_layout": "NCHW",
        "input_dtype": "float32",
        "input_name": "input",
        "outputs": {"pred_boxes": "dets", "pred_logits": "labels", "pred_masks": "masks"},
        "means": MEANS,
        "stds": STDS,
        "pixel_scale": 1 / 255,
        "channel_order": "RGB",
        "class_names": ["cat", "dog"],
        "class_id_to_name": {"1": "cat", "2": "dog"},
        "num_classes": 3,
        "num_select": 4,
        "trace_alpha": 0.2,
        "patch_size": 12,
        "num_windows": 2,
    } | changes
    return {"rfdetr_inference": json.dumps(content)}


class TestLoneExport:
    """An `.onnx` file of RF-DETR's exporter, which says what it is."""

    @pytest.mark.parametrize("task", ["detect", "segment"])
    def test_loads_as_it_is(self, tmp_path: Path, task: str) -> None:
        """Size, normalisation and classes come from the file; class ids without a name are no
        classes."""
        masks = task == "segment"
        path = constants_graph(tmp_path / "rfdetr.onnx", raw(masks), export_metadata(task=task))
        found = infer(path, confidence=0.4)
        assert_found(found, (96, 256))
        package = load_package(path)
        assert package.inference.network_input.resize_mode == "stretch"
        assert package.inference.network_input.scaling_factor == 255
        assert package.inference.network_input.normalization == (MEANS, STDS)

    def test_contiguous_classes(self, tmp_path: Path) -> None:
        """Without a table, names are those of the ids from 0 on; the last column is none."""
        metadata = export_metadata(
            class_names=["a", "b", "c"],
            class_id_to_name={},
            task="detect",
            input_shape=[2, 3, 48, 64],
        )
        path = constants_graph(tmp_path / "rfdetr.onnx", raw(False), metadata, batch=2)
        found = infer(path, confidence=0.4)
        assert found.class_name.tolist() == ["a", "c", "b", "c"]
        assert load_package(path).inference.forward_pass.static_batch_size == 2

    def test_other_tasks(self, tmp_path: Path) -> None:
        """A task no family has, and metadata that is wrong, are named."""
        path = constants_graph(
            tmp_path / "pose.onnx", raw(False), export_metadata(task="keypoints")
        )
        with pytest.raises(
            ModelImplementationNotFoundError, match='task "keypoints" is not one of'
        ):
            load_package(path)
        path = constants_graph(tmp_path / "wrong.onnx", raw(False), export_metadata(means=[1]))
        with pytest.raises(CorruptedModelPackageError, match=r"metadata of .*wrong.onnx is wrong"):
            load_package(path)

    def test_without_metadata(self, tmp_path: Path) -> None:
        """An older export does not name its classes: the error says what to do."""
        path = constants_graph(tmp_path / "old.onnx", raw(False))
        with pytest.raises(
            MissingModelInitParameterError, match=r"folder with a model_config\.json"
        ):
            load_package(path)
