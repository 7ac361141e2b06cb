"""The one door to models: ids, results, batches, parameters, errors."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    DirectLocalStorageAccessError,
    InvalidParameterError,
    ModelImplementationNotFoundError,
    ModelInputError,
    ModelManagerClosedError,
    ModelNotFoundError,
    UnknownBackendTypeError,
)
from inference_models.manager import InferenceParameters, ModelManager, ParameterDefaults
from inference_models.manager.model import Model
from inference_models.packages import Task, load_package


@pytest.fixture
def detector(networks: Any, tmp_path: Path) -> str:
    """Path of a lone file of a detector that says what it is."""
    path = tmp_path / "boxes.onnx"
    return str(networks.anchor_free(path, copies=2, metadata=networks.metadata()))


class TestInfer:
    """`ModelManager.infer`."""

    def test_a_lone_file_runs_without_anything_else(self, networks: Any, detector: str) -> None:
        """No account, no server, no configuration: a file and an image are enough."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30), blue=(30, 2, 60, 62))
        with ModelManager() as manager:
            (found,) = manager.infer(detector, image)
        np.testing.assert_allclose(found.xyxy, [[5, 10, 20, 30], [30, 2, 60, 62]], atol=1e-4)
        assert found.class_name.tolist() == ["red", "blue"]
        np.testing.assert_allclose(found.confidence, [0.9, 0.7])

    def test_a_package_runs_with_no_network_at_all(
        self, networks: Any, detector: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Loading and running opens no socket (roboflow/inference#383)."""
        opened: list[Any] = []

        class NoSocket(socket.socket):
            def __init__(self, *arguments: Any, **named: Any) -> None:
                opened.append(arguments)
                raise OSError("the network is off")

        def no_name(*arguments: Any, **named: Any) -> Any:
            opened.append(arguments)
            raise OSError("the network is off")

        monkeypatch.setattr(socket, "socket", NoSocket)
        monkeypatch.setattr(socket, "create_connection", no_name)
        monkeypatch.setattr(socket, "getaddrinfo", no_name)
        with ModelManager() as manager:
            assert len(manager.infer(detector, networks.rectangles((64, 64), red=(5, 5, 20, 20)))[0])
            missing = tmp_path / "absent.onnx"
            with pytest.raises(ModelNotFoundError, match=str(missing)):
                manager.infer(str(missing), np.zeros((8, 8, 3), np.uint8))
        assert opened == []

    def test_images_of_all_sizes_and_kinds_in_one_call(self, networks: Any, detector: str) -> None:
        """Results come in the order of the images, each in px of its own image."""
        images = [
            networks.rectangles((64, 64), red=(5, 10, 20, 30)),
            np.zeros((7, 300), np.uint8),
            networks.rectangles((128, 64), green=(10, 20, 30, 120)),
            np.zeros((1, 1, 3), np.uint8),
            networks.rectangles((2160, 3840), blue=(600, 600, 1200, 1800)),
        ]
        with ModelManager() as manager:
            found = manager.infer(detector, images)
            alone = [manager.infer(detector, image)[0] for image in images]
        assert [one.image_size for one in found] == [image.shape[:2] for image in images]
        assert [one.class_name.tolist() for one in found] == [["red"], [], ["green"], [], ["blue"]]
        np.testing.assert_allclose(found[2].xyxy, [[10, 20, 30, 120]], atol=1.5)
        np.testing.assert_allclose(found[4].xyxy, [[600, 600, 1200, 1800]], atol=60)
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_array_equal(one.xyxy, other.xyxy)

    def test_the_box_of_a_mask_is_the_box_of_its_detection(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """Padding is taken off masks as off boxes: on a 300 x 100 image in a square input they agree
        within a pixel (roboflow/inference#2001)."""
        metadata = networks.metadata("segment", imgsz="[640, 640]")
        path = networks.anchor_free(
            tmp_path / "masks.onnx", masks=True, size=(640, 640), metadata=metadata
        )
        wide = networks.rectangles(
            (100, 300), red=(30, 10, 120, 70), green=(2, 3, 22, 95), blue=(150, 20, 299, 99)
        )
        with ModelManager() as manager:
            for found in manager.infer(str(path), [wide, np.ascontiguousarray(wide.swapaxes(0, 1))]):
                assert len(found) == 3
                assert found.mask_size == found.image_size
                assert np.abs(np.rint(found.xyxy) - found.masks.boxes).max() <= 1
                filled = (found.masks.boxes[:, 2:] - found.masks.boxes[:, :2]).prod(axis=1)
                # Bilinear enlargement takes a pixel off a corner.
                assert (found.masks.areas >= filled - 4).all()

    @pytest.mark.parametrize("batch", [None, 1, 3])
    def test_the_batch_of_the_graph_does_not_show(
        self, networks: Any, tmp_path: Path, batch: int | None
    ) -> None:
        """A graph for one, for three or for any number of images gives the same results."""
        path = networks.anchor_free(
            tmp_path / "boxes.onnx", batch=batch, metadata=networks.metadata()
        )
        images = [networks.rectangles((64, 64), red=(n, 5, n + 20, 30)) for n in range(20)]
        with ModelManager() as manager:
            found = manager.infer(str(path), images)
        assert [one.xyxy.round().tolist() for one in found] == [
            [[n, 5, n + 20, 30]] for n in range(20)
        ]

    def test_parameters_by_name_or_as_an_object(self, networks: Any, detector: str) -> None:
        """Both mean the same; an unknown name raises, one without effect raises."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30), blue=(30, 2, 60, 62))
        with ModelManager() as manager:
            assert len(manager.infer(detector, image, {"confidence": 0.8})[0]) == 1
            assert len(manager.infer(detector, image, InferenceParameters(confidence=0.8))[0]) == 1
            with pytest.raises(InvalidParameterError, match='unknown parameter "confidance"'):
                manager.infer(detector, image, {"confidance": 0.8})
            with pytest.raises(InvalidParameterError, match="has no effect on"):
                manager.infer(detector, image, {"masks_resolution_factor": 0.0})
            with pytest.raises(InvalidParameterError, match="got list"):
                manager.infer(detector, image, [0.8])  # type: ignore[arg-type]

    def test_defaults_are_the_host_s(self, networks: Any, detector: str) -> None:
        """A host may choose other defaults; what a call says wins."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30), blue=(30, 2, 60, 62))
        with ModelManager(defaults=ParameterDefaults(confidence=0.85)) as manager:
            assert len(manager.infer(detector, image)[0]) == 1
            assert len(manager.infer(detector, image, {"confidence": 0.5})[0]) == 2

    def test_colour_orders(self, networks: Any, detector: str) -> None:
        """RGB pixels are read as RGB when the call says so."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager() as manager:
            found = manager.infer(detector, image[:, :, ::-1], color_order="rgb")[0]
            assert found.class_name.tolist() == ["red"]
            assert manager.infer(detector, image[:, :, ::-1])[0].class_name.tolist() == ["blue"]

    def test_the_image_is_not_changed(self, networks: Any, detector: str) -> None:
        """Read-only pixels are enough."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        image.setflags(write=False)
        with ModelManager() as manager:
            assert len(manager.infer(detector, image)[0]) == 1

    def test_what_is_no_image_is_named(self, detector: str) -> None:
        """The error says what was expected."""
        with ModelManager() as manager, pytest.raises(ModelInputError, match="images is empty"):
            manager.infer(detector, [])


class TestTasks:
    """Every task through the door."""

    def test_suppression_in_the_graph(self, networks: Any, tmp_path: Path) -> None:
        """Final rows need no second suppression."""
        path = networks.fused(
            tmp_path / "rows.onnx", networks.metadata(args="{'nms': True}")
        )
        with ModelManager() as manager:
            image = networks.rectangles((64, 64), green=(5, 10, 20, 30))
            (found,) = manager.infer(str(path), image)
        assert found.class_name.tolist() == ["green"]
        np.testing.assert_allclose(found.xyxy, [[5, 10, 20, 30]], atol=1e-4)

    def test_declared_outputs(self, networks: Any, tmp_path: Path) -> None:
        """A detector with named outputs runs from its declaration."""
        config = networks.config(
            model_architecture="detector-with-nms",
            outputs={
                "boxes": "found_boxes",
                "scores": "found_scores",
                "classes": "found_classes",
                "count": "found_count",
                "box_format": "yxyx",
                "box_unit": "fraction",
                "first_class_id": 1,
            },
        )
        directory = networks.directory(tmp_path / "package", config, networks.declared)
        with ModelManager() as manager:
            image = networks.rectangles((64, 128), green=(20, 10, 60, 50))
            (found,) = manager.infer(str(directory), image)
        assert found.class_name.tolist() == ["green"]
        np.testing.assert_allclose(found.xyxy, [[20, 10, 60, 50]], atol=2.01)

    def test_class_maps(self, networks: Any, tmp_path: Path) -> None:
        """A channel a class; what is none of them is background."""
        config = networks.config(
            model_architecture="semantic-segmentation",
            task_type="semantic-segmentation",
            class_names=["background", "red", "green", "blue"],
            inference_config__post_processing={"type": "sigmoid"},
            inference_config__network_input__resize_mode="stretch",
        )
        directory = networks.directory(tmp_path / "package", config, networks.semantic)
        with ModelManager() as manager:
            image = networks.rectangles((64, 64), red=(8, 8, 24, 40), blue=(40, 8, 64, 64))
            (found,) = manager.infer(str(directory), image, {"confidence": 0.5})
        expected = np.zeros((64, 64), int)
        expected[8:40, 8:24], expected[8:64, 40:64] = 1, 3
        assert (found.segmentation_map != expected).mean() < 0.02
        assert found.background_id == 0

    def test_classes_of_images(self, networks: Any, tmp_path: Path) -> None:
        """The colour that fills the image wins."""
        config = networks.config(
            model_architecture="classifier",
            task_type="classification",
            inference_config__post_processing={"type": "softmax"},
        )
        directory = networks.directory(tmp_path / "package", config, networks.classifier)
        with ModelManager() as manager:
            images = [networks.rectangles((40, 40), **{name: (0, 0, 40, 40)}) for name in networks.colours]
            found = manager.infer(str(directory), images)
        assert [one.class_id for one in found] == [0, 1, 2]
        np.testing.assert_allclose(found[0].top_confidence, np.exp(4) / (np.exp(4) + 2), rtol=1e-5)

    def test_onnx_and_torchscript_agree(self, networks: Any, tmp_path: Path) -> None:
        """The backend is `forward` only: the same network in both gives the same prediction."""
        torch = pytest.importorskip("torch")

        class MeanColour(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, images: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
                return images.mean(dim=[2, 3]) * 4

        changes = {
            "model_architecture": "classifier",
            "task_type": "classification",
            "inference_config__post_processing": {"type": "softmax"},
        }
        first = networks.directory(
            tmp_path / "onnx", networks.config(**changes), networks.classifier
        )
        config = networks.config(**changes, backend_type="torch-script")
        second = tmp_path / "mean.torchscript"
        torch.jit.save(
            torch.jit.script(MeanColour()),
            str(second),
            _extra_files={"model_config.json": json.dumps(config)},
        )
        images = np.random.default_rng(0).integers(0, 256, (3, 50, 60, 3), dtype=np.uint8)
        with ModelManager() as manager:
            for one, other in zip(
                manager.infer(str(first), list(images)),
                manager.infer(str(second), list(images)),
                strict=True,
            ):
                np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-6)
            tensors = [torch.from_numpy(image[:, :, ::-1].transpose(2, 0, 1).copy()) for image in images]
            for one, other in zip(
                manager.infer(str(first), list(images)),
                manager.infer(str(first), tensors),
                strict=True,
            ):
                np.testing.assert_array_equal(one.confidence, other.confidence)


class TestIds:
    """Ids, paths and aliases."""

    def test_all_names_of_a_model_share_it(
        self, networks: Any, detector: str, tmp_path: Path
    ) -> None:
        """Id, path and alias load one model once."""
        place = networks.directory(
            tmp_path / "models" / "boxes" / "3",
            networks.config(),
            lambda path: shutil.copy(detector, path),
        )
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager(model_directories=[tmp_path / "models"]) as manager:
            manager.register_alias("mine", "boxes/3")
            manager.register_alias("ours", "mine")
            for model_id in ("boxes/3", str(place), "mine", "ours", f"file:{place}"):
                assert len(manager.infer(model_id, image)[0]) == 1
            (status,) = manager.list_models()
            assert status.loads == 1
            assert set(status.model_ids) >= {"boxes/3", "mine", "ours", str(place)}
            assert manager.available_models() == ["boxes/3"]
            assert "mine" in manager
            assert "other" not in manager

    def test_an_alias_stands_for_one_model(self, networks: Any, detector: str, tmp_path: Path) -> None:
        """Registering it again for the same does nothing, for another raises; its target must exist."""
        other = networks.anchor_free(tmp_path / "other.onnx", metadata=networks.metadata())
        with ModelManager() as manager:
            manager.register_alias("mine", detector)
            manager.register_alias("mine", detector)
            with pytest.raises(InvalidParameterError, match="already stands for"):
                manager.register_alias("mine", str(other))
            with pytest.raises(ModelNotFoundError):
                manager.register_alias("gone", "./absent.onnx")

    def test_a_host_may_open_one_path_and_no_other(
        self, networks: Any, detector: str, tmp_path: Path
    ) -> None:
        """With paths refused, an alias of the host works and the path behind it does not."""
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager(allow_paths=False) as manager:
            manager.register_alias("mine", detector)
            assert len(manager.infer("mine", image)[0]) == 1
            with pytest.raises(DirectLocalStorageAccessError):
                manager.infer(detector, image)

    def test_a_package_made_in_code(self, networks: Any, detector: str) -> None:
        """A package object goes in under any free name, and only under a free one."""
        package = load_package(Path(detector))
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager() as manager:
            assert manager.add("boxes", package).task is Task.OBJECT_DETECTION
            manager.add("boxes", package)
            assert len(manager.infer("boxes", image)[0]) == 1
            with pytest.raises(InvalidParameterError, match="already stands for another model"):
                manager.add("boxes", load_package(Path(shutil.copy(detector, detector + ".2.onnx"))))

    def test_describing_loads_nothing(self, networks: Any, detector: str) -> None:
        """Task, classes and parameters are known from the package alone."""
        with ModelManager() as manager:
            description = manager.describe(detector)
            assert description.class_names == networks.colours
            assert "iou_threshold" in description.parameters
            assert "masks_resolution_factor" not in description.parameters
            (status,) = manager.list_models()
            assert (status.loaded, status.loads, manager.total_bytes) == (False, 0, 0)


class TestLoadingErrors:
    """Packages that do not load."""

    def _load(self, directory: Path) -> Model:
        with ModelManager() as manager:
            manager.warm_up(str(directory))
        raise AssertionError("it loaded")

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            (
                {"backend_type": "onx", "weights": "weights.onnx"},
                UnknownBackendTypeError,
                r'no backend "onx"; known: onnx, torch-script \(did you mean "onnx"\?\)',
            ),
            (
                {"model_architecture": "yolo8"},
                ModelImplementationNotFoundError,
                'no family "yolo8" for object-detection',
            ),
            (
                {"inference_config__network_input__layout": "nhwc"},
                CorruptedModelPackageError,
                r"images \[\?, 3, 64, 64\] float32, the package says 3 channels and layout nhwc",
            ),
            (
                {
                    "inference_config__network_input__dtype": "uint8",
                    "inference_config__network_input__scaling_factor": None,
                },
                CorruptedModelPackageError,
                "the package says uint8",
            ),
            (
                {"task_type": "instance-segmentation"},
                CorruptedModelPackageError,
                r"needs 2 outputs \(predictions, protos\), the graph has 1: output0",
            ),
        ],
    )
    def test_a_package_that_contradicts_its_weights(
        self,
        networks: Any,
        tmp_path: Path,
        changes: dict[str, Any],
        error: type[Exception],
        message: str,
    ) -> None:
        """The error names the package, what it says and what the graph is."""
        directory = networks.directory(
            tmp_path / "package", networks.config(**changes), networks.anchor_free
        )
        with pytest.raises(error, match=message) as caught:
            self._load(directory)
        assert str(directory) in str(caught.value)

    def test_a_graph_of_another_size_is_given_its_size(
        self, networks: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The graph wins over the package, and the log says so."""
        config = networks.config(
            inference_config__network_input__training_input_size={"height": 32, "width": 32}
        )
        directory = networks.directory(tmp_path / "package", config, networks.anchor_free)
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager() as manager:
            found = manager.infer(str(directory), image)[0]
        np.testing.assert_allclose(found.xyxy, [[5, 10, 20, 30]], atol=1e-4)
        assert "the graph's size is used" in caplog.text

    def test_images_keep_their_sizes_where_the_graph_allows(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """A graph of any size gets each image at a size of its own, in as few calls as sizes."""
        config = networks.config(
            inference_config__network_input__training_input_size=None,
            inference_config__network_input__dynamic_spatial_size_supported=True,
            inference_config__network_input__dynamic_spatial_size_mode={"type": "any-size"},
        )
        directory = networks.directory(
            tmp_path / "package", config, lambda path: networks.anchor_free(path, size=None)
        )
        images = [
            networks.rectangles(size, green=(3, 4, 17, 19)) for size in ((40, 50), (33, 20), (40, 50))
        ]
        with ModelManager() as manager:
            found = manager.infer(str(directory), images)
        for one in found:
            np.testing.assert_allclose(one.xyxy, [[3, 4, 17, 19]], atol=1e-4)


class TestClose:
    """`ModelManager.close`."""

    def test_a_closed_manager_serves_nothing(self, networks: Any, detector: str) -> None:
        """Every call after closing raises; closing twice is harmless."""
        manager = ModelManager()
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        manager.infer(detector, image)
        manager.close()
        manager.close()
        assert manager.total_bytes == 0
        with pytest.raises(ModelManagerClosedError):
            manager.infer(detector, image)
        with pytest.raises(ModelManagerClosedError):
            manager.warm_up(detector)


class TestImport:
    """`import inference_models.manager`."""

    def test_it_is_light(self) -> None:
        """No heavy library is loaded before a model needs it."""
        code = (
            "import sys, inference_models.manager\n"
            "heavy = {'torch', 'supervision', 'onnxruntime', 'matplotlib', 'scipy', 'skimage'}\n"
            "print(sorted(heavy & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
