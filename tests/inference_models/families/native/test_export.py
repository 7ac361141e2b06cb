"""Native detectors as ONNX: the same answers, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import built_in_backends
from inference_models.errors import InvalidModelInitParameterError, ModelRuntimeError
from inference_models.families import BUILT_IN_FAMILIES
from inference_models.families.native import NATIVE_FAMILIES, DetectorConfig, native_backends
from inference_models.families.native.config import STRIDES
from inference_models.manager import ModelManager

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")

from inference_models.families.native.anchors import make_anchors  # noqa: E402
from inference_models.families.native.detector import DeployedOutputs  # noqa: E402
from inference_models.families.native.export import (  # noqa: E402
    ExportDescription,
    export_onnx,
    onnx_model,
    require_parity,
    store_half_precision,
    write_onnx_package,
    write_torch_package,
)
from inference_models.families.native.graphs import InferenceGraph  # noqa: E402
from inference_models.families.native.head import BranchOutputs  # noqa: E402
from inference_models.families.native.oriented import oriented_detections  # noqa: E402
from inference_models.families.request import ClassTable, Request  # noqa: E402
from inference_models.packages import NetworkInput, load_package  # noqa: E402
from inference_models.preprocessing import plan_transform  # noqa: E402

CLASSES, POINTS = ("cat", "dog", "fox"), ("nose", "tail")
SIZE = (64, 96)
SLOW = pytest.mark.slow


def _description(task: str, **changes: Any) -> ExportDescription:
    points = POINTS if task == "pose" else ()
    return ExportDescription(CLASSES, SIZE, points, **changes)


@pytest.fixture(scope="module")
def exported(
    make_detector: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Any, Path]]:
    """The detector of a task and its ONNX file, written once."""
    made: dict[str, tuple[Any, Path]] = {}

    def export(task: str) -> tuple[Any, Path]:
        if task not in made:
            model = make_detector(task)
            path = tmp_path_factory.mktemp(task) / "model.onnx"
            export_onnx(model, path, _description(task))
            made[task] = model, path
        return made[task]

    return export


@pytest.fixture
def make_input(make_picture: Callable[..., np.ndarray]) -> Callable[[int], np.ndarray]:
    """Makes (n, 3, h, w) inputs of the network, float32 in 0..1."""

    def make(count: int) -> np.ndarray:
        pictures = [make_picture(SIZE, seed) for seed in range(count)]
        return np.stack(pictures).transpose(0, 3, 1, 2).astype(np.float32) / 255

    return make


@pytest.fixture
def manager() -> Iterator[ModelManager]:
    """A manager that knows native detectors."""
    with ModelManager(
        backends=built_in_backends() | native_backends(),
        families=(*BUILT_IN_FAMILIES, *NATIVE_FAMILIES),
    ) as one:
        yield one


class TestExportOnnx:
    """`export_onnx`."""

    @pytest.mark.parametrize(
        "task",
        [
            pytest.param("detect", marks=SLOW),
            "segment",
            pytest.param("oriented", marks=SLOW),
            pytest.param("pose", marks=SLOW),
        ],
    )
    def test_same_outputs(
        self,
        task: str,
        exported: Callable[[str], tuple[Any, Path]],
        make_input: Callable[[int], np.ndarray],
    ) -> None:
        """onnxruntime answers as torch, for one image and for several."""
        model, path = exported(task)
        for count in (1, 3):
            images = make_input(count)
            gaps = require_parity(model, path, images, _description(task))
            assert list(gaps) == ["predictions", "prototypes"][: 1 + (task == "segment")]

    def test_graph(self, exported: Callable[[str], tuple[Any, Path]]) -> None:
        """The file is valid, free of suppression, of foreign operators and of paths of the machine
        it was written on."""
        _, path = exported("segment")
        proto = onnx.load(path)
        onnx.checker.check_model(proto)
        assert [(one.domain, one.version) for one in proto.opset_import] == [("", 18)]
        assert proto.ir_version == 10
        kinds = {node.op_type for node in proto.graph.node}
        assert {"Conv", "TopK"} <= kinds
        assert not {"NonMaxSuppression", "BatchNormalization"} & kinds
        content = path.read_bytes()
        assert b".py" not in content
        assert str(Path.cwd()).encode() not in content
        parameters = sum(one.numel() for one in exported("segment")[0].deploy().parameters())
        assert path.stat().st_size < 4 * parameters + 400_000

    def test_parity_check_finds_another_network(
        self,
        exported: Callable[[str], tuple[Any, Path]],
        make_detector: Callable[..., Any],
        make_input: Callable[[int], np.ndarray],
    ) -> None:
        """The check fails on a file written from other weights."""
        _, path = exported("segment")
        images = make_input(1)
        with pytest.raises(ModelRuntimeError, match="does not answer as the network"):
            require_parity(make_detector("segment", seed=1), path, images, _description("segment"))


class TestThroughTheManager:
    """Exported detectors in the model manager."""

    @pytest.mark.parametrize(
        "task",
        [
            pytest.param("detect", marks=SLOW),
            "segment",
            pytest.param("pose", marks=SLOW),
        ],
    )
    def test_same_predictions_as_torch(
        self,
        task: str,
        manager: ModelManager,
        exported: Callable[[str], tuple[Any, Path]],
        pictures: list[np.ndarray],
        tmp_path: Path,
    ) -> None:
        """A lone ONNX file and a folder of torch weights report the same objects."""
        model, path = exported(task)
        write_torch_package(model, tmp_path / "t", _description(task), dtype="float32")
        params = {"confidence": 0.3, "max_detections": 40}
        by_torch = manager.infer(str(tmp_path / "t"), pictures, params)
        by_onnx = manager.infer(str(path), pictures, params)
        assert sum(map(len, by_torch)) > 10
        for ours, theirs in zip(by_onnx, by_torch, strict=True):
            assert ours.class_id.tolist() == theirs.class_id.tolist()
            np.testing.assert_allclose(ours.confidence, theirs.confidence, atol=1e-4)
            np.testing.assert_allclose(ours.xyxy, theirs.xyxy, atol=0.05)
            if task == "segment":
                differing = ours.masks.to_dense() != theirs.masks.to_dense()
                assert differing.mean() < 1e-4
            if task == "pose":
                np.testing.assert_allclose(ours.xy, theirs.xy, atol=0.05)
                assert ours.keypoint_names == theirs.keypoint_names

    def test_runs_without_torch(
        self,
        exported: Callable[[str], tuple[Any, Path]],
        manager: ModelManager,
        make_picture: Callable[..., np.ndarray],
        tmp_path: Path,
    ) -> None:
        """A process in which torch cannot be imported reports the same boxes and masks."""
        _, path = exported("segment")
        image = make_picture((40, 70), 5)
        np.save(tmp_path / "image.npy", image)
        code = (
            "import sys; sys.modules['torch'] = None\n"
            "import json, numpy as np\n"
            "from inference_models.families import BUILT_IN_FAMILIES\n"
            "from inference_models.families.native import NATIVE_FAMILIES\n"
            "from inference_models.manager import ModelManager\n"
            "manager = ModelManager(families=(*BUILT_IN_FAMILIES, *NATIVE_FAMILIES))\n"
            f"found = manager.infer({str(path)!r}, np.load({str(tmp_path / 'image.npy')!r}))[0]\n"
            "print(json.dumps([found.xyxy.tolist(), found.masks.areas.tolist()]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        boxes, areas = json.loads(done.stdout)
        here = manager.infer(str(path), image)[0]
        assert len(here) > 0
        np.testing.assert_allclose(boxes, here.xyxy, atol=1e-3)
        assert areas == here.masks.areas.tolist()

    @SLOW
    def test_folder_of_dense_rows(
        self,
        manager: ModelManager,
        make_detector: Callable[..., Any],
        pictures: list[np.ndarray],
        tmp_path: Path,
    ) -> None:
        """A written folder is a complete package: names, threshold, id, skeleton; the one-to-many
        branch reports the same objects with either backend."""
        description = _description(
            "pose", skeleton=[(0, 1)], model_id="animals/1", confidence=0.25, branch="one_to_many"
        )
        model = make_detector("pose")
        written = write_onnx_package(model, tmp_path / "o", description)
        read = load_package(tmp_path / "o")
        assert read == written
        assert (read.architecture, read.backend) == ("native-one-to-many", "onnx")
        assert read.class_names == CLASSES
        assert read.model_id == "animals/1"
        assert read.recommended.confidence == 0.25
        assert [one.keypoints for one in read.keypoints] == [dict(enumerate(POINTS))] * 3
        assert [(edge.start, edge.end) for edge in read.keypoints[2].edges] == [(0, 1)]
        write_torch_package(model, tmp_path / "t", description, dtype="float32")
        by_torch = manager.infer(str(tmp_path / "t"), pictures)
        by_onnx = manager.infer(str(tmp_path / "o"), pictures)
        assert sum(map(len, by_torch)) > 4
        for ours, theirs in zip(by_onnx, by_torch, strict=True):
            assert ours.class_id.tolist() == theirs.class_id.tolist()
            np.testing.assert_allclose(ours.xyxy, theirs.xyxy, atol=0.05)
            np.testing.assert_allclose(ours.xy, theirs.xy, atol=0.05)


class TestStoreHalfPrecision:
    """`store_half_precision`."""

    def test_rounded_weights(
        self,
        exported: Callable[[str], tuple[Any, Path]],
        make_input: Callable[[int], np.ndarray],
        tmp_path: Path,
    ) -> None:
        """Weights in half precision take half the place and give the answers of rounded weights."""
        model, plain = exported("segment")
        proto = onnx.load(plain)
        store_half_precision(proto)
        onnx.checker.check_model(proto)
        path = tmp_path / "half.onnx"
        onnx.save(proto, path)
        assert path.stat().st_size < 0.7 * plain.stat().st_size
        rounded = model.fuse()
        for parameter in rounded.parameters():
            if parameter.dim() > 1 and parameter.numel() >= 256:
                parameter.copy_(parameter.half().float())
        images = make_input(1)
        with torch.inference_mode():
            expected = InferenceGraph(rounded).eval()(torch.from_numpy(images))[0].numpy()
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found = session.run(None, {"images": images})[0]
        np.testing.assert_allclose(found[0, :, 4], expected[0, :, 4], atol=1e-5)
        unrounded = onnxruntime.InferenceSession(str(plain), providers=["CPUExecutionProvider"])
        other = unrounded.run(None, {"images": images})[0]
        assert np.abs(found - other)[..., 4].max() > 1e-5


class _Shallow(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Stands for a deployed detector: every answer comes straight from the pixels of its cell."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        self.prototypes = None
        torch.manual_seed(0)
        self.answers = torch.nn.Linear(3, 8 + 4 * config.keypoint_count)

    def forward(self, images: Any) -> DeployedOutputs:
        """Class logits, distances, an angle, and points with their spreads."""
        maps = [torch.nn.functional.avg_pool2d(images, stride) for stride in STRIDES]
        cells = torch.cat([one.flatten(2) for one in maps], 2).transpose(1, 2)
        anchors = make_anchors([one.shape[2:] for one in maps], STRIDES)
        answers = self.answers(4 * cells)
        logits, distances, angles, points = answers.split(
            [3, 4, 1, 4 * self.config.keypoint_count], -1
        )
        if self.config.task == "oriented":
            branch = BranchOutputs(logits, distances + 1, angles=9 * angles)
        else:
            points, spreads = points.unflatten(-1, (-1, 4)).chunk(2, -1)
            branch = BranchOutputs(
                logits, distances + 1, keypoints=points, keypoint_spreads=spreads
            )
        return DeployedOutputs(branch, anchors)


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Any, Any]]:
    """The decoding of a task behind a network of one layer, in torch and as a session of
    onnxruntime. A whole network takes long to export and adds nothing to the decoding."""

    def export(task: Any, rows: Any = "final") -> tuple[Any, Any]:
        config = DetectorConfig(task, "p", 3, keypoint_count=2 if task == "pose" else 0)
        graph = InferenceGraph(_Shallow(config), rows).eval()  # type: ignore[arg-type]
        path = tmp_path_factory.mktemp("shallow") / "model.onnx"
        path.write_bytes(onnx_model(graph, config, SIZE).SerializeToString())
        return graph, onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    return export


class TestDecodingInOnnx:
    """`onnx_model` of the decodings the segmenting detector does not have."""

    @pytest.mark.parametrize(
        ("task", "rows", "width"), [("pose", "final", 12), ("pose", "dense", 13)]
    )
    def test_same_rows(
        self,
        task: str,
        rows: str,
        width: int,
        shallow: Callable[..., tuple[Any, Any]],
        make_input: Callable[[int], np.ndarray],
    ) -> None:
        """onnxruntime decodes as torch does, row by row."""
        graph, session = shallow(task, rows)
        images = make_input(2)
        with torch.inference_mode():
            expected = graph(torch.from_numpy(images))[0].numpy()
        assert expected.shape == (2, 300 if rows == "final" else 126, width)
        np.testing.assert_allclose(session.run(None, {"images": images})[0], expected, atol=1e-3)

    def test_oriented(
        self, shallow: Callable[..., tuple[Any, Any]], make_input: Callable[[int], np.ndarray]
    ) -> None:
        """Rotated rows agree, their angles are canonical, and they become predictions."""
        graph, session = shallow("oriented")
        images = make_input(1)
        with torch.inference_mode():
            expected = graph(torch.from_numpy(images))[0].numpy()
        found = session.run(None, {"images": images})[0]
        np.testing.assert_allclose(found, expected, atol=1e-3)
        rows = found[0]
        assert rows.shape == (300, 7)
        assert (rows[:, 2] >= rows[:, 3]).all()
        assert np.ptp(rows[:126, 4]) > 1
        assert (np.abs(rows[:, 4] - np.pi / 4) <= np.pi / 2 + 1e-6).all()
        network = {"training_input_size": {"height": SIZE[0], "width": SIZE[1]}}
        transform = plan_transform((128, 192), NetworkInput.model_validate(network))
        request = Request(np.full(3, 0.4, np.float32), 0.3, 300, 3000, False, None, 1.0, 0.0)
        boxes = oriented_detections(rows, transform, request, ClassTable(CLASSES))
        assert len(boxes) > 3
        best = rows[0]
        assert boxes.xywhr[0, :4] == pytest.approx(best[:4] * 2, rel=1e-3)

    def test_oriented_has_no_dense_rows(self, shallow: Callable[..., tuple[Any, Any]]) -> None:
        """Nothing downstream could suppress dense rotated rows, so they are refused."""
        with pytest.raises(InvalidModelInitParameterError, match='rows of the form "final" only'):
            shallow("oriented", "dense")
