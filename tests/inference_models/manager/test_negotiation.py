"""Which of several packages runs: every rule on its own, and the order of those left."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    NoModelPackagesAvailableError,
    UnknownBackendTypeError,
)
from inference_models.manager.negotiation import PackagePreferences, choose_package
from inference_models.manager.runtime_environment import (
    RuntimeEnvironment,
)
from inference_models.packages import ModelPackage
from inference_models.packages.network_config import InferenceConfig
from inference_models.packages.requirements import PackageRequirements
from inference_models.packages.tasks import Task

CPU = RuntimeEnvironment(
    onnxruntime=(1, 20, 1),
    onnx_providers=("CPUExecutionProvider",),
    torch=(2, 13, 0),
    safetensors=(0, 5, 0),
    os="linux 6.1",
)
GPU = replace(
    CPU,
    device="cuda:0",
    onnx_providers=("CUDAExecutionProvider", "CPUExecutionProvider"),
    tensorrt=(10, 3, 0),
    compute_capability=(9, 0),
    device_name="NVIDIA H200",
    cuda=(12, 4),
    driver=(550, 54),
)
MADE_HERE = {
    "cuda_device_cc": "9.0",
    "cuda_device_name": "NVIDIA H200",
    "cuda_version": "12.2",
    "trt_version": "10.3.0.26",
    "driver_version": "535.104.5",
}


def package(backend: str, name: str | None = None, batch: int | None = None, **facts: Any) -> Any:
    """A package with these requirements; nothing of it is on disk."""
    inference = {
        "network_input": {"training_input_size": {"height": 64, "width": 64}},
        "forward_pass": {"static_batch_size": batch},
    }
    return ModelPackage(
        location=Path("/models/m/1/packages") / (name or backend),
        weights=Path("/nowhere"),
        architecture="yolov8",
        task=Task.OBJECT_DETECTION,
        backend=backend,
        class_names=("cat",),
        inference=InferenceConfig.model_validate(inference),
        requirements=PackageRequirements.model_validate(facts),
    )


def engine(name: str = "trt", environment: Any = MADE_HERE, **facts: Any) -> ModelPackage:
    """An engine compiled on the machine of `GPU`, but for the changes."""
    batch = facts.pop("batch", None)
    made = package(
        "trt",
        name,
        batch,
        environment_requirements=environment,
        trt_package_details=facts.pop("details", {}),
        **facts,
    )
    return made  # type: ignore[no-any-return]


def reason(one: ModelPackage, environment: RuntimeEnvironment, **wishes: Any) -> str | None:
    """Why a package is ruled out, None when it is not."""
    try:
        choose_package([one], environment, PackagePreferences(**wishes))
    except NoModelPackagesAvailableError as error:
        text = error.message.removeprefix("no package of the model runs here (")
        return text.removesuffix(")").partition(": ")[2]
    return None


class TestTensorRt:
    """Engines, which run where they were compiled for."""

    def test_the_machine_it_was_made_on(self) -> None:
        """Same GPU and TensorRT, an older driver and another minor CUDA: it runs."""
        assert reason(engine(), GPU) is None

    @pytest.mark.parametrize(
        ("environment", "text"),
        [
            (CPU, "TensorRT engines need a CUDA device"),
            (replace(GPU, tensorrt=None), "tensorrt is not installed"),
            (replace(GPU, torch=None), "torch is not installed, which holds the memory of engines"),
            (replace(GPU, compute_capability=None), "there is no CUDA device"),
            (
                replace(GPU, compute_capability=(8, 9)),
                "compiled for compute capability 9.0, the device has 8.9",
            ),
            (
                replace(GPU, device_name="NVIDIA H100"),
                "compiled for NVIDIA H200 alone, the device is NVIDIA H100",
            ),
            (
                replace(GPU, tensorrt=(10, 4, 0)),
                "compiled with TensorRT 10.3.0, 10.4.0 is installed",
            ),
            (replace(GPU, cuda=(13, 0)), "compiled with CUDA 12.2, 13.0 is here"),
            (replace(GPU, driver=(530, 1)), "needs the driver 535.104.5, 530.1 is installed"),
        ],
    )
    def test_other_machines(self, environment: RuntimeEnvironment, text: str) -> None:
        """One fact that differs rules the engine out, and is named with both values."""
        assert reason(engine(), environment) == text

    def test_jetson(self) -> None:
        """Engines of another major release of Jetson Linux do not run."""
        made = engine(environment={**MADE_HERE, "driver_version": None, "l4t_version": "36.4.3"})
        assert reason(made, replace(GPU, l4t=(36, 2))) is None
        assert reason(made, replace(GPU, l4t=(35, 4))) == "compiled on L4T 36.4.3, 35.4 is here"

    def test_same_capability(self) -> None:
        """Compiled for a capability, it runs on other GPUs of it, and on no other."""
        made = engine(details={"same_cc_compatible": True})
        assert reason(made, replace(GPU, device_name="NVIDIA H100")) is None
        assert "capability" in str(reason(made, replace(GPU, compute_capability=(10, 0))))

    @pytest.mark.parametrize(
        ("installed", "runs"),
        [((10, 3, 0), True), ((10, 9, 0), True), ((10, 2, 0), False), ((11, 0, 0), False)],
    )
    def test_forward_compatible(self, installed: Any, runs: bool) -> None:
        """It runs on newer releases of the same major version, not on older ones; without the
        runtime for that on its own release only."""
        details = {"trt_forward_compatible": True}
        there = replace(GPU, tensorrt=installed)
        found = reason(engine(details=details), there, engine_host_code_allowed=True)
        assert (found is None) is runs
        excluded = engine(details={**details, "trt_lean_runtime_excluded": True})
        assert (reason(excluded, there) is None) is (installed == (10, 3, 0))

    def test_host_code(self) -> None:
        """An engine that brings host code needs the host's leave."""
        made = engine(details={"trt_forward_compatible": True})
        assert reason(made, GPU) == (
            "its engine brings code that runs on the host, which this host does not allow"
        )
        assert reason(made, GPU, engine_host_code_allowed=True) is None

    @pytest.mark.parametrize(
        ("environment", "text"),
        [
            (None, "does not say which GPU and which TensorRT it was compiled for"),
            ({"cuda_device_cc": "9.0"}, "does not say which TensorRT it was compiled with"),
        ],
    )
    def test_unknown_origin(self, environment: Any, text: str) -> None:
        """Among several packages, an engine that does not say where it runs is not tried."""
        assert reason(engine(environment=environment), GPU) == text


class TestOtherBackends:
    """ONNX, torch, TorchScript."""

    @pytest.mark.parametrize(
        ("details", "environment", "text"),
        [
            ({}, replace(CPU, onnxruntime=None), "onnxruntime is not installed"),
            (
                {},
                replace(GPU, onnx_providers=("CPUExecutionProvider",)),
                "onnxruntime has no CUDAExecutionProvider here",
            ),
            ({}, replace(CPU, device="mps"), 'onnxruntime is not run on the device "mps"'),
            (
                {"opset": 17, "incompatible_providers": ["CPUExecutionProvider"]},
                CPU,
                "does not run on CPUExecutionProvider",
            ),
            ({"opset": 22}, CPU, "opset 22 needs onnxruntime 1.21, 1.20.1 is installed"),
            ({"opset": 25}, CPU, "opset 25 needs onnxruntime 1.23, 1.20.1 is installed"),
            ({"opset": 21}, CPU, None),
            ({"opset": 11}, replace(CPU, onnxruntime=(1, 4)), None),
            ({"opset": 23}, replace(CPU, onnxruntime=(2, 0)), None),
        ],
    )
    def test_onnx(self, details: Any, environment: RuntimeEnvironment, text: str | None) -> None:
        """Provider of the device, providers that fail, and the opset; an onnxruntime newer than
        any known runs what older ones run."""
        facts = {"onnx_package_details": details} if details else {}
        assert reason(package("onnx", **facts), environment) == text

    @pytest.mark.parametrize(
        ("environment", "text"),
        [
            (CPU, None),
            (replace(CPU, torch=None), "torch is not installed"),
            (replace(CPU, torch=(2, 4, 9)), "needs torch 2.5, 2.4.9 is installed"),
            (GPU, "made for cpu, not for this device"),
        ],
    )
    def test_torchscript(self, environment: RuntimeEnvironment, text: str | None) -> None:
        """Device and version of torch."""
        details = {"supported_device_types": ["cpu"], "torch_version": "2.5+cu121"}
        made = package("torch-script", torch_script_package_details=details)
        assert reason(made, environment) == text

    def test_torch(self) -> None:
        """Weights in safetensors need both libraries."""
        assert reason(package("torch"), CPU) is None
        lacking = replace(CPU, safetensors=None)
        assert reason(package("torch"), lacking) == "safetensors is not installed"


class TestWishes:
    """What the host asks for."""

    @pytest.mark.parametrize(
        ("environment", "taken"),
        [(CPU, {"unknown", "fp32", "bf16"}), (GPU, {"unknown", "fp32", "fp16"})],
    )
    def test_quantization(self, environment: RuntimeEnvironment, taken: set[str]) -> None:
        """Number formats that change answers are taken only when asked for."""
        for quantization in ("unknown", "fp32", "fp16", "bf16", "int8"):
            made = package("onnx", quantization=quantization)
            refused = None if quantization in taken else (
                f"quantization {quantization} must be asked for on this device"
            )  # fmt: skip
            assert reason(made, environment) == refused
            assert reason(made, environment, quantization=(quantization,)) is None
            assert reason(made, environment, quantization=("other",)) == (
                f"quantization {quantization} was not asked for"
            )

    def test_backend(self) -> None:
        """Only asked backends; one that does not exist is an error of its own."""
        assert reason(package("onnx"), CPU, backends=("torch",)) == (
            'backend "onnx" was not asked for'
        )
        with pytest.raises(UnknownBackendTypeError, match='did you mean "onnx"'):
            choose_package([package("onnx")], CPU, PackagePreferences(backends=("onxx",)))

    @pytest.mark.parametrize(
        ("facts", "wanted", "text"),
        [
            ({"batch": 4}, (1, 4), None),
            ({"batch": 4}, (1, 3), "static batch size 4 is outside of 1..3"),
            ({}, (1, 64), None),
            (
                {"details": {"min_dynamic_batch_size": 1, "max_dynamic_batch_size": 8}},
                (2, 16),
                "dynamic batch sizes 1..8 do not hold 2..16",
            ),
            (
                {"details": {"min_dynamic_batch_size": 1, "max_dynamic_batch_size": 16}},
                (2, 16),
                None,
            ),
        ],
    )
    def test_batch(self, facts: Any, wanted: tuple[int, int], text: str | None) -> None:
        """A static batch lies in the wished range, a dynamic one holds it."""
        assert reason(engine(**facts), GPU, batch_size=wanted) == text


def names(
    packages: list[ModelPackage], environment: RuntimeEnvironment, **wishes: Any
) -> list[str]:
    """Names of the ranked packages, the same for every order they come in."""
    orders = {
        tuple(
            one.location.name
            for one in choose_package(order, environment, PackagePreferences(**wishes)).ranked
        )
        for order in itertools.permutations(packages)
    }
    assert len(orders) == 1
    return list(orders.pop())


class TestRanking:
    """`choose_package` of several that run."""

    def test_backends(self) -> None:
        """Compiled before general, general before eager."""
        packages = [package(name) for name in ("torch-script", "torch", "onnx")] + [engine()]
        assert names(packages, GPU) == ["trt", "onnx", "torch", "torch-script"]
        assert names(packages, CPU) == ["onnx", "torch", "torch-script"]

    def test_within_a_backend(self) -> None:
        """Number format, trust, dynamic batch, small static batch, high opset, then the name."""
        packages = [
            package("onnx", "half", quantization="fp16"),
            package("onnx", "trusted", quantization="fp32", trusted_source=True),
            package("onnx", "dynamic new", quantization="fp32", onnx_package_details={"opset": 20}),
            package("onnx", "dynamic old", quantization="fp32", onnx_package_details={"opset": 17}),
            package("onnx", "two", batch=2, quantization="fp32"),
            package("onnx", "b eight", batch=8, quantization="fp32"),
        ]
        assert names(packages, GPU) == [
            "half", "trusted", "dynamic new", "dynamic old", "two", "b eight",
        ]  # fmt: skip
        same = [package("onnx", name) for name in ("b", "c", "a")]
        assert names(same, CPU) == ["a", "b", "c"]

    def test_engines(self) -> None:
        """The exact TensorRT wins over a compatible one, the exact GPU over one of its kind."""
        compatible = {"trt_forward_compatible": True}
        kind = {"same_cc_compatible": True}
        here = {**MADE_HERE, "trt_version": "10.3.0"}
        packages = [
            engine("older", {**here, "trt_version": "10.0.1"}, details=compatible),
            engine("exact", here),
            engine("kin", {**here, "cuda_device_name": "NVIDIA H100"}, details=kind),
        ]
        assert names(packages, GPU, engine_host_code_allowed=True) == ["exact", "kin", "older"]

    def test_nothing_left(self) -> None:
        """The error has every package with its reason."""
        packages = [engine(), package("onnx", quantization="int8")]
        with pytest.raises(NoModelPackagesAvailableError) as caught:
            choose_package(packages, CPU)
        assert caught.value.message == (
            "no package of the model runs here (trt: TensorRT engines need a CUDA device; "
            "onnx: quantization int8 must be asked for on this device)"
        )

    def test_backends_of_the_host(self) -> None:
        """A backend that the host brought runs behind those that are known."""
        assert names([package("own"), package("torch-script")], CPU) == ["torch-script", "own"]
