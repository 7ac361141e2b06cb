"""What this machine can run: versions of libraries and facts of the device. Decides nothing."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from inference_models.packages.requirements import Version, parse_version

_ONNX_DISTRIBUTIONS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino")
_JETSON_RELEASE = Path("/etc/nv_tegra_release")
_DRIVER_VERSION = Path("/sys/module/nvidia/version")


@dataclass(frozen=True, slots=True)
class RuntimeEnvironment:
    """Facts that packages are compared with; None for what is not installed or not known.

    Attributes:
        device: `cpu`, `cuda` or `cuda:<n>`, where models run.
        onnxruntime: version of onnxruntime.
        onnx_providers: its execution providers, best first.
        torch: version of torch.
        safetensors: version of safetensors.
        tensorrt: version of TensorRT.
        compute_capability: of the device.
        device_name: name of the GPU.
        cuda: version of CUDA.
        driver: version of the GPU's driver.
        l4t: release of Jetson Linux.
        os: operating system and its release.
    """

    device: str = "cpu"
    onnxruntime: Version | None = None
    onnx_providers: tuple[str, ...] = ()
    torch: Version | None = None
    safetensors: Version | None = None
    tensorrt: Version | None = None
    compute_capability: Version | None = None
    device_name: str | None = None
    cuda: Version | None = None
    driver: Version | None = None
    l4t: Version | None = None
    os: str | None = None

    @property
    def device_type(self) -> str:
        """`cpu` or `cuda`."""
        return self.device.partition(":")[0]


def describe_environment(device: str) -> RuntimeEnvironment:
    """The environment of this process. Torch is imported only to look at a CUDA device."""
    capability = name = cuda = None
    torch_version = _installed("torch")
    if device.partition(":")[0] == "cuda" and torch_version is not None:
        capability, name, cuda = _cuda_device(device)
    return RuntimeEnvironment(
        device=device,
        onnxruntime=_first_installed(_ONNX_DISTRIBUTIONS),
        onnx_providers=_providers(),
        torch=torch_version,
        safetensors=_installed("safetensors"),
        tensorrt=_installed("tensorrt"),
        compute_capability=capability,
        device_name=name,
        cuda=cuda,
        driver=_version_in(_DRIVER_VERSION, parse_version),
        l4t=_version_in(_JETSON_RELEASE, parse_jetson_release),
        os=f"{platform.system()} {platform.release()}".lower(),
    )


def parse_jetson_release(text: str) -> Version:
    """`# R36 (release), REVISION: 4.3, ...` -> (36, 4, 3).

    Raises:
        ValueError: the text is no such release.
    """
    major, _, rest = text.partition("(release), REVISION:")
    return (*parse_version(major.replace("# R", "").strip()), *parse_version(rest.strip()))


def _installed(distribution: str) -> Version | None:
    """Version of a distribution whose package can be found."""
    try:
        return parse_version(version(distribution))
    except (PackageNotFoundError, ValueError):
        return None


def _first_installed(distributions: tuple[str, ...]) -> Version | None:
    found = (_installed(one) for one in distributions)
    return next((one for one in found if one is not None), None)


def _providers() -> tuple[str, ...]:
    if find_spec("onnxruntime") is None:
        return ()
    import onnxruntime

    return tuple(onnxruntime.get_available_providers())


def _cuda_device(device: str) -> tuple[Version | None, str | None, Version | None]:
    import torch

    if not torch.cuda.is_available():
        return None, None, None
    place = torch.device(device)
    cuda = torch.version.cuda
    return (
        tuple(torch.cuda.get_device_capability(place)),
        torch.cuda.get_device_name(place),
        None if cuda is None else parse_version(cuda),
    )


def _version_in(path: Path, parse: Callable[[str], Version]) -> Version | None:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
