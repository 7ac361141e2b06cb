"""From a checkpoint to a package that runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pytorch_lightning")
pytest.importorskip("onnxscript")

from inference_models.errors import (  # noqa: E402
    CorruptedModelPackageError,
    ModelNotFoundError,
    ModelRuntimeError,
)
from inference_models.families.native.export import ExportDescription  # noqa: E402
from inference_models.families.native.weights import load_detector  # noqa: E402
from inference_models.packages import load_package  # noqa: E402
from inference_models.training import packaging, parts_seg  # noqa: E402
from inference_models.training.packaging import (  # noqa: E402
    read_checkpoint,
    write_trained_package,
)
from inference_models.training.scenes import PART_CLASSES  # noqa: E402


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command leaves behind after four steps of a small training."""
    folder = tmp_path_factory.mktemp("parts")
    options = ["--out", str(folder), "--epochs", "2", "--scenes", "4", "--batch", "2"]
    options += ["--size", "64", "--scale", "p", "--workers", "0", "--threads", "1"]
    options += ["--evaluate", "2", "--watch", "2", "--export-size", "128", "--precision", "32-true"]
    assert parts_seg.main(options) == 0
    return folder


class TestCommand:
    def test_leaves_a_package(self, out: Path) -> None:
        """Configuration, both kinds of weights, scores and a model card."""
        folder = out / "parts-seg" / "1"
        names = {path.name for path in folder.iterdir()}
        assert names == {
            "README.md",
            "model_config.json",
            "scores.json",
            "weights.onnx",
            "weights.safetensors",
        }
        package = load_package(folder)
        assert package.model_id == "parts-seg/1"
        assert package.class_names == PART_CLASSES
        scores = json.loads((folder / "scores.json").read_text())
        assert set(scores) >= {"map", "map_50", "segm_map", "segm_map_50"}
        assert all(0 <= value <= 1 for value in scores.values())

    def test_model_card_names_the_scores(self, out: Path) -> None:
        """What it was trained on, its classes and its scores."""
        card = (out / "parts-seg" / "1" / "README.md").read_text()
        assert card.startswith("# parts-seg/1\n")
        assert "generated scenes" in card
        assert ", ".join(PART_CLASSES) in card
        assert "| segm_map |" in card

    def test_safetensors_are_the_averaged_weights(self, out: Path) -> None:
        """Both branches load again; they are the averages, in half precision."""
        trained = read_checkpoint(out / "last.ckpt")
        loaded = load_detector(out / "parts-seg" / "1" / "weights.safetensors")
        expected = trained.network.state_dict()
        for name, value in loaded.state_dict().items():
            assert torch.allclose(value.float(), expected[name].float(), rtol=1e-3, atol=1e-3)

    def test_goes_on_where_it_stopped(self, out: Path) -> None:
        """A finished training is not trained again."""
        before = read_checkpoint(out / "last.ckpt")
        options = ["--out", str(out), "--epochs", "2", "--scenes", "4", "--batch", "2"]
        options += ["--size", "64", "--scale", "p", "--workers", "0", "--threads", "1"]
        options += [
            "--evaluate",
            "1",
            "--watch",
            "2",
            "--export-size",
            "64",
            "--precision",
            "32-true",
        ]
        assert parts_seg.main(options) == 0
        after = read_checkpoint(out / "last.ckpt")
        assert after.steps == before.steps == 4


class TestReadCheckpoint:
    def test_missing(self, tmp_path: Path) -> None:
        """The message names the path."""
        with pytest.raises(ModelNotFoundError, match="no checkpoint at"):
            read_checkpoint(tmp_path / "none.ckpt")

    def test_other_file(self, tmp_path: Path) -> None:
        """A file of other tensors is no checkpoint."""
        path = tmp_path / "other.ckpt"
        torch.save({"state_dict": {}}, path)
        with pytest.raises(CorruptedModelPackageError, match="no checkpoint of a detector"):
            read_checkpoint(path)


class TestWriteTrainedPackage:
    def test_answers_as_the_network(self, out: Path, tmp_path: Path) -> None:
        """Rows of the ONNX file are near those of the network before the rounding."""
        onnxruntime = pytest.importorskip("onnxruntime")
        trained = read_checkpoint(out / "last.ckpt")
        description = ExportDescription(trained.class_names, (64, 64), model_id="x/1")
        images = np.random.default_rng(0).random((1, 3, 64, 64), dtype=np.float32)
        package = write_trained_package(trained, tmp_path, description, {}, ["About."], images)
        session = onnxruntime.InferenceSession(str(package.weights))
        rows = session.run(None, {"images": images})[0][0]
        with torch.inference_mode():
            outputs = trained.network.deploy()(torch.from_numpy(images))
        scores = outputs.branch.class_logits.sigmoid().amax(-1)[0].sort(descending=True).values
        assert np.allclose(rows[:84, 4], scores[:84].numpy(), atol=5e-3)

    def test_refuses_a_file_of_another_network(self, out: Path, tmp_path: Path) -> None:
        """A box the network is sure of must be in the answers of the file."""
        trained = read_checkpoint(out / "last.ckpt")
        description = ExportDescription(trained.class_names, (64, 64), model_id="x/1")
        images = np.zeros((1, 3, 64, 64), dtype=np.float32)
        package = write_trained_package(trained, tmp_path, description, {}, ["About."], images)
        with torch.no_grad():
            trained.network.head.one_to_one.classes[0][-1].bias[0] = 3.0
        with pytest.raises(ModelRuntimeError, match="image 0 lacks the box"):
            packaging._require_same_answers(trained.network, package.weights, images)
