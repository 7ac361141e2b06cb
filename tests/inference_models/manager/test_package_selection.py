"""Models of several packages, the machine they are chosen for, and what of a choice reaches the
backend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, built_in_backends
from inference_models.errors import (
    CorruptedModelPackageError,
    ModelNotFoundError,
    NoModelPackagesAvailableError,
)
from inference_models.families import BUILT_IN_FAMILIES
from inference_models.manager import ModelManager
from inference_models.manager.negotiation import PackagePreferences
from inference_models.manager.package_selection import PackageSelector
from inference_models.manager.resolution import ModelResolver
from inference_models.manager.runtime_environment import (
    describe_environment,
    parse_jetson_release,
)
from inference_models.packages import ModelPackage
from tests.inference_models.manager.test_negotiation import CPU, GPU, MADE_HERE, package, reason


def write_packages(folder: Path, networks: Any, **of: dict[str, Any]) -> None:
    """A model with a package a name; only ONNX packages have real weights."""
    for name, changes in of.items():
        config = networks.config(**changes)
        build = networks.anchor_free
        if config["backend_type"] != "onnx":
            config["weights"] = "weights"
            build = lambda path: path.write_bytes(b"x")  # noqa: E731
        networks.directory(folder / "packages" / name, config, build)


class TestModelsOfSeveralPackages:
    """`<model>/packages/<name>/model_config.json`."""

    def test_the_manager_takes_the_one_that_runs(self, networks: Any, tmp_path: Path) -> None:
        """On the CPU the ONNX package is run, though an engine would rank first."""
        write_packages(
            tmp_path / "m" / "1",
            networks,
            engine={"backend_type": "trt", "environment_requirements": MADE_HERE},
            half={"quantization": "fp16"},
            plain={"quantization": "fp32"},
        )
        with ModelManager(model_directories=[tmp_path]) as manager:
            assert manager.available_models() == ["m/1"]
            assert manager.describe("m/1").location.name == "plain"
            (found,) = manager.infer("m/1", networks.rectangles((64, 64), red=(8, 8, 40, 40)))
            assert len(found) == 1
        wishes = PackagePreferences(quantization=("fp16",))
        with ModelManager(model_directories=[tmp_path], preferences=wishes) as manager:
            assert manager.describe("m/1").location.name == "half"

    def test_on_a_machine_with_tensorrt(self, networks: Any, tmp_path: Path) -> None:
        """With the engine's GPU and TensorRT the engine is taken; without, the next one."""
        write_packages(
            tmp_path,
            networks,
            engine={"backend_type": "trt", "environment_requirements": MADE_HERE},
            plain={},
        )
        selector = PackageSelector(built_in_backends(), BUILT_IN_FAMILIES, "cuda")
        assert selector.package_at(tmp_path, GPU).backend == "trt"
        other = replace(GPU, tensorrt=(8, 6, 1))
        assert selector.package_at(tmp_path, other).backend == "onnx"

    def test_what_nothing_here_reads(self, networks: Any, tmp_path: Path) -> None:
        """A backend or a family that does not exist here rules a package out."""
        write_packages(
            tmp_path, networks,
            a={"backend_type": "coreml"}, b={"model_architecture": "yolov99"},
        )  # fmt: skip
        selector = PackageSelector(built_in_backends(), BUILT_IN_FAMILIES, "cpu")
        with pytest.raises(NoModelPackagesAvailableError) as caught:
            selector.package_at(tmp_path, CPU)
        assert 'a: there is no backend "coreml"' in caught.value.message
        assert 'b: there is no family "yolov99" for object-detection' in caught.value.message

    def test_a_lone_package_is_taken_as_it_is(self, networks: Any, tmp_path: Path) -> None:
        """Without a choice nothing is ruled out; opening it tells what is missing."""
        config = networks.config(quantization="int8", backend_type="trt", weights="weights")
        networks.directory(tmp_path, config, lambda path: path.write_bytes(b"x"))
        selector = PackageSelector(built_in_backends(), BUILT_IN_FAMILIES, "cpu")
        assert selector.package_at(tmp_path, CPU).requirements.quantization == "int8"

    def test_no_package(self, tmp_path: Path) -> None:
        """A model whose folder of packages is empty."""
        (tmp_path / "packages" / "a").mkdir(parents=True)
        selector = PackageSelector(built_in_backends(), BUILT_IN_FAMILIES, "cpu")
        with pytest.raises(CorruptedModelPackageError, match="holds no package"):
            selector.package_at(tmp_path, CPU)

    def test_versions_are_no_packages(self, networks: Any, tmp_path: Path) -> None:
        """A model's name alone does not stand for the choice among its versions."""
        networks.directory(tmp_path / "m" / "1", networks.config(), networks.anchor_free)
        with pytest.raises(ModelNotFoundError):
            ModelResolver([tmp_path]).resolve("m")


class TestDescribeEnvironment:
    """`describe_environment`."""

    def test_this_machine(self) -> None:
        """onnxruntime is there with its CPU provider; the CPU has no capability."""
        found = describe_environment("cpu")
        assert found.onnxruntime is not None
        assert found.onnxruntime >= (1, 20)
        assert "CPUExecutionProvider" in found.onnx_providers
        assert found.compute_capability is None
        assert found.device_type == "cpu"
        assert reason(package("onnx"), found) is None

    def test_jetson_release(self) -> None:
        """The release of Jetson Linux."""
        text = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64"
        assert parse_jetson_release(text) == (36, 4, 3)
        with pytest.raises(ValueError, match="must begin"):
            parse_jetson_release("Ubuntu")

    def test_options_reach_the_backend(self, networks: Any, tmp_path: Path) -> None:
        """The leave for host code goes from the manager to the backend."""
        networks.directory(tmp_path, networks.config(), networks.anchor_free)
        seen: list[BackendOptions] = []

        def opener(of: ModelPackage, options: BackendOptions) -> Any:
            seen.append(options)
            return built_in_backends()["onnx"](of, options)

        for allowed in (False, True):
            wishes = PackagePreferences(engine_host_code_allowed=allowed)
            with ModelManager(backends={"onnx": opener}, preferences=wishes) as manager:
                manager.infer(str(tmp_path), np.zeros((9, 9, 3), np.uint8))
        assert [one.engine_host_code_allowed for one in seen] == [False, True]
