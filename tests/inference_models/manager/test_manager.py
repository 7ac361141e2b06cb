"""The one door to models: ids, results, batches, parameters, errors."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.errors import (
    DirectLocalStorageAccessError,
    InvalidParameterError,
    ModelInputError,
    ModelLoadingError,
    ModelManagerClosedError,
    ModelNotFoundError,
)
from inference_models.manager import InferenceParameters, ModelManager, ParameterDefaults
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
            assert len(
                manager.infer(detector, networks.rectangles((64, 64), red=(5, 5, 20, 20)))[0]
            )
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
        """Padding is taken off masks as off boxes: on a 300 x 100 image in a square input they
        agree within a pixel (roboflow/inference#2001)."""
        metadata = networks.metadata("segment", imgsz="[640, 640]")
        path = networks.anchor_free(
            tmp_path / "masks.onnx", masks=True, size=(640, 640), metadata=metadata
        )
        wide = networks.rectangles(
            (100, 300), red=(30, 10, 120, 70), green=(2, 3, 22, 95), blue=(150, 20, 299, 99)
        )
        with ModelManager() as manager:
            for found in manager.infer(
                str(path), [wide, np.ascontiguousarray(wide.swapaxes(0, 1))]
            ):
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

    def test_an_alias_stands_for_one_model(
        self, networks: Any, detector: str, tmp_path: Path
    ) -> None:
        """Registering it again for the same does nothing, for another raises; its target must
        exist."""
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
                manager.add(
                    "boxes", load_package(Path(shutil.copy(detector, detector + ".2.onnx")))
                )

    def test_describing_loads_nothing(self, networks: Any, detector: str) -> None:
        """Task, classes and parameters are known from the package alone."""
        with ModelManager() as manager:
            description = manager.describe(detector)
            assert description.class_names == networks.colours
            assert "iou_threshold" in description.parameters
            assert "masks_resolution_factor" not in description.parameters
            (status,) = manager.list_models()
            assert (status.loaded, status.loads, manager.total_bytes) == (False, 0, 0)


class TestMendedPackages:
    """A package that did not load and is put right while the manager runs."""

    def test_is_read_anew(self, networks: Any, detector: str, tmp_path: Path) -> None:
        """Nothing of the package that failed is remembered, files that are gone among it."""
        whole = Path(detector).read_bytes()
        place = networks.directory(
            tmp_path / "models" / "boxes" / "3",
            networks.config(),
            lambda path: path.write_bytes(whole[: len(whole) // 2]),
        )
        (weights,) = place.glob("*.onnx")
        stray = place / f"{weights.name}.part"
        stray.write_bytes(b"left by a copy that broke off")
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager(model_directories=[tmp_path / "models"]) as manager:
            manager.register_alias("mine", "boxes/3")
            for model_id in ("boxes/3", "mine"):
                with pytest.raises(ModelLoadingError):
                    manager.infer(model_id, image)
            stray.unlink()
            weights.write_bytes(whole)
            for model_id in ("boxes/3", "mine"):
                assert len(manager.infer(model_id, image)[0]) == 1
            (status,) = manager.list_models()
            assert status.loads == 1


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
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"
