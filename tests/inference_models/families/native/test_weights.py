"""Weights files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    InvalidModelInitParameterError,
    ModelNotFoundError,
)

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from inference_models.families.native.weights import (  # noqa: E402
    FORMAT,
    load_detector,
    read_config,
    save_weights,
)


class TestSaveWeights:
    """`save_weights`."""

    @pytest.mark.parametrize("task", ["detect", "segment", "oriented", "pose"])
    def test_round_trip(self, task: str, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """A detector comes back bit for bit, ready to run, and no random number is drawn."""
        model = make_detector(task)
        path = tmp_path / "new" / "model.safetensors"
        save_weights(model, path)
        state = torch.get_rng_state()
        loaded = load_detector(path)
        assert torch.equal(torch.get_rng_state(), state)
        assert loaded.config == model.config == read_config(path)
        assert not loaded.training
        assert all(one.requires_grad for one in loaded.parameters())
        own, read = model.state_dict(), loaded.state_dict()
        assert own.keys() == read.keys()
        assert all(torch.equal(own[name], read[name]) for name in own)

    def test_half_precision(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """Kernels are rounded to half precision, vectors are not; what is loaded is float32."""
        model = make_detector("segment")
        path = tmp_path / "model.safetensors"
        save_weights(model, path, dtype="float16")
        stored = safetensors.load_file(str(path))
        read = load_detector(path).state_dict()
        for name, value in model.state_dict().items():
            if value.dim() > 1:
                assert stored[name].dtype is torch.float16
                assert torch.equal(read[name], value.half().float())
            else:
                assert torch.equal(read[name], value)
        # 2 bytes a parameter, and the bookkeeping of the vectors.
        count = sum(one.numel() for one in model.parameters())
        assert 2 * count < path.stat().st_size < 2 * count + 200_000

    def test_one_branch(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """A file with one branch runs that branch and says so when the other is asked for."""
        model = make_detector("segment")
        path = tmp_path / "model.safetensors"
        save_weights(model, path, branches=("one_to_one",))
        names = safetensors.load_file(str(path)).keys()
        assert not any(name.startswith(("head.one_to_many.", "semantic.")) for name in names)
        loaded = load_detector(path, branches=("one_to_one",))
        images = torch.rand(1, 3, 64, 64)
        with torch.inference_mode():
            expected = model(images).one_to_one.class_logits
            assert torch.equal(loaded.deploy()(images).branch.class_logits, expected)
        for branches in (None, ("one_to_many",)):
            with pytest.raises(
                CorruptedModelPackageError, match=r"missing, such as head\.one_to_many\.boxes\.0"
            ):
                load_detector(path, branches=branches)

    def test_other_values(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """Averaged weights can be written in place of the model's own."""
        model = make_detector("detect")
        state = {name: value * 0.5 for name, value in model.state_dict().items()}
        path = tmp_path / "model.safetensors"
        save_weights(model, path, state=state)
        read = load_detector(path).state_dict()
        name = "backbone.stem.0.conv.weight"
        assert torch.equal(read[name], state[name])
        state.pop(name)
        with pytest.raises(InvalidModelInitParameterError, match=f"they differ at {name}"):
            save_weights(model, path, state=state)

    def test_no_branch(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """A file without a branch could not run."""
        with pytest.raises(InvalidModelInitParameterError, match="branches must be one or both"):
            save_weights(make_detector("detect"), tmp_path / "x.safetensors", branches=())


class TestLoadDetector:
    """`load_detector`."""

    def test_missing_file(self, tmp_path: Path) -> None:
        """A path without a file is named."""
        with pytest.raises(ModelNotFoundError, match=r"no weights at .*none"):
            load_detector(tmp_path / "none.safetensors")

    def test_pickles_are_not_read(self, make_detector: Callable[..., Any], tmp_path: Path) -> None:
        """A pickled checkpoint is no safetensors file, whatever its name."""
        path = tmp_path / "model.safetensors"
        torch.save(make_detector("detect").state_dict(), path)
        with pytest.raises(CorruptedModelPackageError, match="is no safetensors file"):
            load_detector(path)

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            ({}, f"metadata must say format {FORMAT} 1, got None None"),
            ({"format": FORMAT, "format_version": "2"}, f"got '{FORMAT}' '2'"),
            ({"format": FORMAT, "format_version": "1"}, "configuration of a native .* is no JSON"),
            (
                {
                    "format": FORMAT,
                    "format_version": "1",
                    "config": json.dumps({"task": "detect", "scale": "q", "class_count": 1}),
                },
                "scale must be one of",
            ),
        ],
    )
    def test_foreign_files(self, metadata: dict[str, str], message: str, tmp_path: Path) -> None:
        """A safetensors file of something else is refused with what it says of itself."""
        path = tmp_path / "model.safetensors"
        safetensors.save_file({"a": torch.zeros(1)}, str(path), metadata)
        with pytest.raises(CorruptedModelPackageError, match=message):
            load_detector(path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda tensors: tensors.pop("neck.up8.join.conv.weight"), "1 weights are missing"),
            (lambda tensors: tensors.update(extra=torch.zeros(1)), "extra is no weight of it"),
            (
                lambda tensors: tensors.update({"backbone.stem.0.conv.weight": torch.zeros(3)}),
                r"wrong shape: backbone\.stem\.0\.conv\.weight \[3\], expected \[8, 3, 3, 3\]",
            ),
        ],
    )
    def test_wrong_tensors(
        self,
        change: Callable[[dict[str, Any]], Any],
        message: str,
        make_detector: Callable[..., Any],
        tmp_path: Path,
    ) -> None:
        """Missing, unknown and misshapen weights are named."""
        path = tmp_path / "model.safetensors"
        model = make_detector("detect")
        save_weights(model, path)
        with safetensors.safe_open(str(path), "pt") as file:
            metadata = file.metadata()
        tensors = safetensors.load_file(str(path))
        change(tensors)
        safetensors.save_file(tensors, str(path), metadata)
        with pytest.raises(CorruptedModelPackageError, match=message):
            load_detector(path)
