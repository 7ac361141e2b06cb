"""Native detectors run by torch, through the model manager."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, built_in_backends
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    InvalidModelInitParameterError,
    ModelImplementationNotFoundError,
    ModelRuntimeError,
)
from inference_models.families import BUILT_IN_FAMILIES
from inference_models.families.native import NATIVE_FAMILIES, native_backends
from inference_models.families.native.table import has_package_task
from inference_models.manager import ModelManager

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from inference_models.families.native.decoding.masks import assemble_masks  # noqa: E402
from inference_models.families.native.decoding.selection import (  # noqa: E402
    keypoint_rows,
    select_top_k,
    take_anchors,
)
from inference_models.families.native.decoding.suppression import (  # noqa: E402
    select_with_suppression,
)
from inference_models.families.native.export import (  # noqa: E402
    ExportDescription,
    write_torch_package,
)
from inference_models.packages import load_package  # noqa: E402

CLASSES, POINTS = ("cat", "dog", "fox"), ("nose", "tail")
SIZE = (96, 128)
SEES_ALL = {"confidence": 0.0, "max_detections": 300}


@pytest.fixture
def manager() -> Iterator[ModelManager]:
    """A manager that knows native detectors."""
    with ModelManager(
        backends=built_in_backends() | native_backends(),
        families=(*BUILT_IN_FAMILIES, *NATIVE_FAMILIES),
    ) as one:
        yield one


def _description(task: str, **changes: Any) -> ExportDescription:
    points = POINTS if task == "pose" else ()
    return ExportDescription(CLASSES, SIZE, points, **changes)


class TestThroughTheManager:
    """Packages of `write_torch_package`."""

    def _network_view(self, model: Any, image: np.ndarray) -> Any:
        """Raw outputs for an image that has the network's size."""
        rgb = np.ascontiguousarray(image[..., ::-1].transpose(2, 0, 1))
        with torch.inference_mode():
            return model(torch.from_numpy(rgb)[None] / 255)

    @pytest.mark.parametrize("branch", ["one_to_one", "one_to_many"])
    def test_detections(
        self,
        branch: Any,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        make_picture: Callable[..., np.ndarray],
        tmp_path: Path,
    ) -> None:
        """The manager reports the boxes the decoding of the training finds."""
        model = make_detector("detect")
        write_torch_package(
            model, tmp_path / "m", _description("detect", branch=branch), dtype="float32"
        )
        image = make_picture(SIZE)
        params = SEES_ALL | ({"iou_threshold": 0.7} if branch == "one_to_many" else {})
        found = manager.infer(str(tmp_path / "m"), image, params)[0]
        outputs = self._network_view(model, image)
        if branch == "one_to_one":
            selection = select_top_k(outputs.one_to_one, outputs.anchors)
        else:
            selection = select_with_suppression(outputs.one_to_many, outputs.anchors)
        rows = selection.rows[0][selection.anchor[0] >= 0].numpy()
        boxes = np.clip(rows[:, :4], 0, (SIZE[1], SIZE[0], SIZE[1], SIZE[0]))
        kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        assert 10 < kept.sum() <= 300
        np.testing.assert_allclose(found.confidence, rows[kept, 4], atol=1e-4)
        np.testing.assert_allclose(found.xyxy, boxes[kept], atol=1e-2)
        assert found.class_id.tolist() == rows[kept, 5].tolist()
        assert found.class_names == CLASSES

    def test_masks(
        self,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        make_picture: Callable[..., np.ndarray],
        tmp_path: Path,
    ) -> None:
        """At the network's own size the manager's masks are those of the training's scoring, up to
        the boxes' edges, which one cuts on the prototypes' grid and the other on the image's."""
        model = make_detector("segment")
        write_torch_package(model, tmp_path / "m", _description("segment"), dtype="float32")
        image = make_picture(SIZE)
        found = manager.infer(str(tmp_path / "m"), image, {"confidence": 0.5})[0]
        outputs = self._network_view(model, image)
        selection = select_top_k(outputs.one_to_one, outputs.anchors)
        coefficients = take_anchors(outputs.one_to_one.coefficients, selection.anchor)[0]
        masks = assemble_masks(
            coefficients, outputs.prototypes[0], selection.rows[0, :, :4], SIZE
        ).numpy()
        boxes = selection.rows[0].numpy()
        clipped = np.clip(boxes[:, :4], 0, (SIZE[1], SIZE[0], SIZE[1], SIZE[0]))
        kept = (boxes[:, 4] > 0.5) & (clipped[:, 2:] > clipped[:, :2]).all(axis=1)
        expected, ours = masks[kept], found.masks.to_dense()
        assert ours.shape == expected.shape
        assert len(ours) > 5
        for own, want, box in zip(ours, expected, clipped[kept], strict=True):
            x1, y1, x2, y2 = (*np.ceil(box[:2] + 5), *np.floor(box[2:] - 5))
            inner = (slice(int(y1), max(int(y2), int(y1))), slice(int(x1), max(int(x2), int(x1))))
            assert (own[inner] != want[inner]).sum() <= 2
        assert expected.sum() > 1000

    def test_keypoints(
        self,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        make_picture: Callable[..., np.ndarray],
        tmp_path: Path,
    ) -> None:
        """Points, their confidence and their names come with the box of their anchor."""
        model = make_detector("pose")
        write_torch_package(model, tmp_path / "m", _description("pose"), dtype="float32")
        image = make_picture(SIZE)
        found = manager.infer(str(tmp_path / "m"), image, SEES_ALL)[0]
        outputs = self._network_view(model, image)
        selection = select_top_k(outputs.one_to_one, outputs.anchors)
        points = keypoint_rows(outputs.one_to_one, outputs.anchors, selection.anchor)[0].numpy()
        scores = selection.rows[0, :, 4].numpy()
        places = [int(np.abs(scores - one).argmin()) for one in found.confidence]
        assert len(places) > 10
        np.testing.assert_allclose(found.xy, points[places, :, :2], atol=1e-2)
        np.testing.assert_allclose(found.keypoint_confidence, points[places, :, 2], atol=1e-4)
        assert found.keypoint_names == (POINTS,) * 3

    @pytest.mark.skipif(not has_package_task("oriented"), reason="no such task of models")
    def test_rotated_boxes(
        self,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        pictures: list[np.ndarray],
        tmp_path: Path,
    ) -> None:
        """Rotated boxes come as such, by falling score and of the asked classes."""
        write_torch_package(make_detector("oriented"), tmp_path / "m", _description("oriented"))
        params = {"confidence": 0.3, "class_filter": ["cat", "dog"], "max_detections": 5}
        found = manager.infer(str(tmp_path / "m"), pictures, params)
        assert [one.corners.shape for one in found] == [(5, 4, 2)] * 2
        assert set(found[0].class_id.tolist()) <= {0, 1}
        assert (np.diff(found[0].confidence) <= 0).all()

    def test_pictures_of_any_size(
        self,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        pictures: list[np.ndarray],
        tmp_path: Path,
    ) -> None:
        """Pictures of different sizes go together, and alone they get the same answers."""
        package = write_torch_package(
            make_detector("segment"), tmp_path / "m", _description("segment")
        )
        together = manager.infer(str(tmp_path / "m"), pictures)
        for picture, one in zip(pictures, together, strict=True):
            alone = manager.infer(str(tmp_path / "m"), picture)[0]
            assert one.image_size == picture.shape[:2]
            assert len(one) == len(alone) > 5
            np.testing.assert_allclose(one.confidence, alone.confidence, atol=1e-4)
            gaps = np.abs(one.xyxy[:, None] - alone.xyxy[None]).max(axis=-1)
            assert gaps.min(axis=1).max() < 1e-2
            assert one.masks.to_dense().shape == (len(one), *picture.shape[:2])
        assert package.weights.suffix == ".safetensors"
        assert manager.list_models()[0].nbytes > 4 * 300_000

    def test_averaged_file_of_the_training(
        self, manager: ModelManager, make_detector: Callable[..., Any], tmp_path: Path
    ) -> None:
        """A file with both branches, as a training writes it, runs with either."""
        from inference_models.families.native.weights import save_weights

        model = make_detector("detect")
        for branch in ("one_to_one", "one_to_many"):
            folder = tmp_path / branch
            write_torch_package(model, folder, _description("detect", branch=branch))
            save_weights(model, folder / "weights.safetensors")
            assert len(manager.infer(str(folder), np.zeros((20, 20, 3), np.uint8))) == 1


class TestRefusals:
    """Packages that cannot run."""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"class_names": ["cat"]}, "class names of weights.safetensors: 3, .* says 1"),
            ({"task_type": "instance-segmentation"}, "task of .*: object-detection, .* says inst"),
            (
                {"inference_config__network_input__input_channels": 1},
                "input channels of .*: 3, the package says 1",
            ),
            (
                {"inference_config__network_input__dtype": "float16"},
                "type of the input of .*: float32, the package says float16",
            ),
            (
                {"inference_config__network_input__layout": "nhwc"},
                "layout of the input of .*: nchw, the package says nhwc",
            ),
        ],
    )
    def test_contradictions(
        self,
        changes: dict[str, Any],
        message: str,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        tmp_path: Path,
    ) -> None:
        """Weights that are not those of the package are refused with both facts."""
        write_torch_package(make_detector("detect"), tmp_path, _description("detect"))
        path = tmp_path / "model_config.json"
        config = json.loads(path.read_text())
        for key, value in changes.items():
            *parents, last = key.split("__")
            section = config
            for parent in parents:
                section = section[parent]
            section[last] = value
        path.write_text(json.dumps(config))
        with pytest.raises(CorruptedModelPackageError, match=message):
            manager.warm_up(str(tmp_path))

    def test_other_architectures(
        self, networks: Any, make_detector: Callable[..., Any], tmp_path: Path
    ) -> None:
        """The backend runs native detectors only."""
        write_torch_package(make_detector("detect"), tmp_path, _description("detect"))
        path = tmp_path / "model_config.json"
        config = json.loads(path.read_text()) | {"model_architecture": "yolov8"}
        path.write_text(json.dumps(config))
        with pytest.raises(
            ModelImplementationNotFoundError,
            match='the torch backend runs native, native-one-to-many, got "yolov8"',
        ):
            native_backends()["torch"](load_package(tmp_path), BackendOptions())

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
    def test_missing_device(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """A device that is not there is named."""
        package = write_torch_package(make_detector("detect"), tmp_path, _description("detect"))
        with pytest.raises(EnvironmentConfigurationError, match='"cuda:1" is not available'):
            native_backends()["torch"](package, BackendOptions(device="cuda:1"))

    def test_wrong_input(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """An input of another size raises what the network takes."""
        package = write_torch_package(make_detector("detect"), tmp_path, _description("detect"))
        backend = native_backends()["torch"](package, BackendOptions())
        with pytest.raises(ModelRuntimeError, match="must be multiples of 32"):
            backend.forward(np.zeros((1, 3, 60, 64), np.float32))
        assert list(backend.forward(np.zeros((2, 3, 64, 64), np.float32))) == ["predictions"]
        backend.close()

    @pytest.mark.parametrize(
        ("description", "message"),
        [
            (ExportDescription(("cat",), SIZE), "class_names must have 3 names .* got 1"),
            (ExportDescription(CLASSES, (96, 100)), r"multiples of 32, got \(96, 100\)"),
            (ExportDescription(CLASSES, SIZE, POINTS), "keypoint_names must have 0 names"),
        ],
    )
    def test_descriptions_that_do_not_fit(
        self,
        description: ExportDescription,
        message: str,
        make_detector: Callable[..., Any],
        tmp_path: Path,
    ) -> None:
        """Names and sizes are checked before anything is written."""
        with pytest.raises(InvalidModelInitParameterError, match=message):
            write_torch_package(make_detector("detect"), tmp_path / "m", description)
        assert not (tmp_path / "m").exists()
