"""The TorchScript backend. All of it needs torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, built_in_backends
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    ModelRuntimeError,
)
from inference_models.packages import ModelPackage, load_package

torch = pytest.importorskip("torch")


class _Double(torch.nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:  # type: ignore[name-defined]
        return images * 2, [images.flatten(1).mean(1), images.half()]


class _Identity(torch.nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:  # type: ignore[name-defined]
        return {"same": images}


def _package(networks: Any, path: Path, module: Any, **changes: Any) -> ModelPackage:
    config = networks.config(backend_type="torch-script", **changes)
    scripted = torch.jit.script(module)
    torch.jit.save(scripted, str(path), _extra_files={"model_config.json": json.dumps(config)})
    return load_package(path)


class TestTorchScriptBackend:
    """`TorchScriptBackend`."""

    def test_nested_outputs_become_a_row(self, networks: Any, tmp_path: Path) -> None:
        """Tuples and lists of tensors are flattened in order and numbered."""
        package = _package(networks, tmp_path / "net.torchscript", _Double())
        backend = built_in_backends()["torch-script"](package, BackendOptions())
        batch = np.random.default_rng(0).random((2, 3, 64, 64), np.float32)
        outputs = backend.forward(batch)
        assert list(outputs) == ["output0", "output1", "output2"]
        np.testing.assert_array_equal(outputs["output0"], batch * 2)
        assert outputs["output2"].dtype == np.float16

    def test_a_network_that_hands_its_input_through_does_not_share_it(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """The input may be used again without changing an answer."""
        package = _package(networks, tmp_path / "net.torchscript", _Identity())
        backend = built_in_backends()["torch-script"](package, BackendOptions())
        batch = np.zeros((1, 3, 64, 64), np.float32)
        outputs = backend.forward(batch)
        batch += 1
        assert not outputs["same"].any()

    def test_the_input_follows_from_the_package(self, networks: Any, tmp_path: Path) -> None:
        """The archive tells no shapes, so the package does, static batch included."""
        package = _package(networks, tmp_path / "net.torchscript", _Double(), static_batch_size=3)
        backend = built_in_backends()["torch-script"](package, BackendOptions())
        assert backend.input.shape == (3, 3, 64, 64)

    def test_a_failing_network_is_named(self, networks: Any, tmp_path: Path) -> None:
        """The error names the file and the input."""
        package = _package(networks, tmp_path / "net.torchscript", torch.nn.Linear(5, 5))
        backend = built_in_backends()["torch-script"](package, BackendOptions())
        with pytest.raises(ModelRuntimeError, match=r"net\.torchscript failed on an input \[1, 3"):
            backend.forward(np.zeros((1, 3, 64, 64), np.float32))
        assert backend.nbytes == (25 + 5) * 4

    def test_a_pickle_is_not_run(self, networks: Any, tmp_path: Path) -> None:
        """An archive whose data are a Python pickle with a call in it opens nothing and calls
        nothing."""
        path = tmp_path / "net.torchscript"
        torch.save({"state": torch.zeros(1)}, path)
        with pytest.raises(CorruptedModelPackageError):
            load_package(path)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
    def test_a_device_that_is_not_there_is_named(self, networks: Any, tmp_path: Path) -> None:
        """Asking for a device that torch cannot use is an error."""
        package = _package(networks, tmp_path / "net.torchscript", _Double())
        with pytest.raises(EnvironmentConfigurationError, match="finds no CUDA device"):
            built_in_backends()["torch-script"](package, BackendOptions(device="cuda"))
