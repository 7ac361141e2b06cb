"""Which of several packages of one model runs here: what rules a package out, and which is best of
those left. Opens no weights.

A package is ruled out by the first rule it breaks, and every rule gives its reason, so that an
empty choice explains itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inference_models.errors import (
    NoModelPackagesAvailableError,
    UnknownBackendTypeError,
    nearest_name_hint,
)
from inference_models.manager.runtime_environment import RuntimeEnvironment
from inference_models.packages.package import ModelPackage
from inference_models.packages.requirements import (
    EnvironmentRequirements,
    TrtPackageDetails,
    Version,
)

# Best first, as far as speed goes.
_BACKENDS = ("trt", "onnx", "torch", "torch-script")
_QUANTIZATIONS = ("int8", "fp16", "fp32", "unknown", "bf16")
# What is taken when nobody asks: integer weights change answers too much for that.
_QUANTIZATIONS_OF_DEVICE = {
    "cpu": ("unknown", "fp32", "bf16"),
    "cuda": ("unknown", "fp32", "fp16"),
}
# The onnxruntime release that first runs an opset; later releases run all before.
_ONNXRUNTIME_OF_OPSET: Mapping[int, Version] = {
    19: (1, 15),
    20: (1, 17),
    21: (1, 18),
    22: (1, 21),
    23: (1, 22),
}
_ONNXRUNTIME_OF_NEWER_OPSETS: Version = (1, 23)
# The parts of a TensorRT version that count; the fourth numbers builds.
_RELEASE = 3
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


@dataclass(frozen=True, slots=True)
class PackagePreferences:
    """What a host asks for; None for no wish.

    Attributes:
        backends: names of backends, in no order.
        quantization: number formats of weights, in no order.
        batch_size: images that must run at once, (smallest, largest).
        engine_host_code_allowed: whether a TensorRT engine may run code on the host that it brings.
    """

    backends: tuple[str, ...] | None = None
    quantization: tuple[str, ...] | None = None
    batch_size: tuple[int, int] | None = None
    engine_host_code_allowed: bool = False


@dataclass(frozen=True, slots=True)
class PackageChoice:
    """Packages that run here, best first, and why the others do not.

    Attributes:
        ranked: packages, best first.
        discarded: name of the package and reason, in the order they were given.
    """

    ranked: tuple[ModelPackage, ...]
    discarded: tuple[tuple[str, str], ...]


def choose_package(
    packages: Sequence[ModelPackage],
    environment: RuntimeEnvironment,
    preferences: PackagePreferences | None = None,
    implements: Callable[[ModelPackage], str | None] | None = None,
) -> PackageChoice:
    """Sorts out the packages of one model. The choice depends on the facts alone, not on the order
    of the packages.

    Args:
        packages: all packages of the model, with different names of their folders.
        environment: what this machine can run.
        preferences: what the host asks for.
        implements: why this build cannot run a package, None when it can.

    Raises:
        UnknownBackendTypeError: a backend is asked for that does not exist.
        NoModelPackagesAvailableError: no package is left; the message lists every reason.
    """
    wishes = preferences or PackagePreferences()
    present = {package.backend for package in packages}
    for name in wishes.backends or ():
        if name not in _BACKENDS and name not in present:
            raise UnknownBackendTypeError(
                f'no backend "{name}"; known: {", ".join(_BACKENDS)}',
                hint=nearest_name_hint(name, _BACKENDS),
            )
    rules = (
        implements or (lambda package: None),
        lambda package: _against_wishes(package, wishes, environment),
        lambda package: _against_environment(package, environment, wishes),
    )
    left, discarded = [], []
    for package in packages:
        reason = next((why for rule in rules if (why := rule(package)) is not None), None)
        if reason is None:
            left.append(package)
        else:
            discarded.append((package.location.name, reason))
    if not left:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in discarded)
        raise NoModelPackagesAvailableError(
            f"no package of the model runs here ({reasons or 'there are none'})"
        )
    ranked = sorted(left, key=lambda package: _rank(package, environment))
    return PackageChoice(tuple(ranked), tuple(discarded))


def _against_wishes(
    package: ModelPackage, wishes: PackagePreferences, environment: RuntimeEnvironment
) -> str | None:
    if wishes.backends is not None and package.backend not in wishes.backends:
        return f'backend "{package.backend}" was not asked for'
    accepted = wishes.quantization or _QUANTIZATIONS_OF_DEVICE.get(
        environment.device_type, _QUANTIZATIONS_OF_DEVICE["cuda"]
    )
    found = package.requirements.quantization
    if found not in accepted:
        asked = "was not asked for" if wishes.quantization else "must be asked for on this device"
        return f"quantization {found} {asked}"
    if wishes.batch_size is not None:
        return _against_batch(package, wishes.batch_size)
    return None


def _against_batch(package: ModelPackage, wanted: tuple[int, int]) -> str | None:
    least, most = wanted
    static = package.inference.forward_pass.static_batch_size
    if static is not None:
        if least <= static <= most:
            return None
        return f"static batch size {static} is outside of {least}..{most}"
    details = package.requirements.trt_package_details
    if details is None or details.min_dynamic_batch_size is None:
        return None
    smallest = details.min_dynamic_batch_size
    largest = details.max_dynamic_batch_size or smallest
    if smallest <= least and most <= largest:
        return None
    return f"dynamic batch sizes {smallest}..{largest} do not hold {least}..{most}"


def _against_environment(
    package: ModelPackage, environment: RuntimeEnvironment, wishes: PackagePreferences
) -> str | None:
    if package.backend == "onnx":
        return _against_onnxruntime(package, environment)
    if package.backend == "trt":
        return _against_tensorrt(package, environment, wishes.engine_host_code_allowed)
    if package.backend not in _BACKENDS:
        # A backend that the host brought itself.
        return None
    if environment.torch is None:
        return "torch is not installed"
    if package.backend == "torch":
        return "safetensors is not installed" if environment.safetensors is None else None
    details = package.requirements.torch_script_package_details
    if details is not None:
        if environment.device_type not in details.supported_device_types:
            return f"made for {', '.join(details.supported_device_types)}, not for this device"
        if environment.torch < details.torch_version:
            return (
                f"needs torch {_text(details.torch_version)}, "
                f"{_text(environment.torch)} is installed"
            )
    return None


def _against_onnxruntime(package: ModelPackage, environment: RuntimeEnvironment) -> str | None:
    if environment.onnxruntime is None:
        return "onnxruntime is not installed"
    provider = _PROVIDERS.get(environment.device_type)
    if provider is None:
        return f'onnxruntime is not run on the device "{environment.device}"'
    if provider not in environment.onnx_providers:
        return f"onnxruntime has no {provider} here"
    details = package.requirements.onnx_package_details
    if details is None:
        return None
    if provider in details.incompatible_providers:
        return f"does not run on {provider}"
    needed = _ONNXRUNTIME_OF_NEWER_OPSETS
    if details.opset <= max(_ONNXRUNTIME_OF_OPSET):
        needed = _ONNXRUNTIME_OF_OPSET.get(details.opset, (0,))
    if environment.onnxruntime < needed:
        return (
            f"opset {details.opset} needs onnxruntime {_text(needed)}, "
            f"{_text(environment.onnxruntime)} is installed"
        )
    return None


def _against_tensorrt(
    package: ModelPackage, environment: RuntimeEnvironment, host_code_allowed: bool
) -> str | None:
    if environment.device_type != "cuda":
        return "TensorRT engines need a CUDA device"
    if environment.tensorrt is None:
        return "tensorrt is not installed"
    if environment.torch is None:
        return "torch is not installed, which holds the memory of engines"
    if environment.compute_capability is None:
        return "there is no CUDA device"
    details = package.requirements.trt_package_details or TrtPackageDetails()
    if details.brings_host_code and not host_code_allowed:
        return "its engine brings code that runs on the host, which this host does not allow"
    made_on = package.requirements.environment_requirements
    if made_on is None:
        return "does not say which GPU and which TensorRT it was compiled for"
    return _against_machine(made_on, details, environment)


def _against_machine(
    made_on: EnvironmentRequirements, details: TrtPackageDetails, environment: RuntimeEnvironment
) -> str | None:
    """Engines run on the GPU and the libraries they were compiled for, except where they were
    compiled to be compatible."""
    capability = environment.compute_capability
    assert capability is not None
    assert environment.tensorrt is not None
    if made_on.cuda_device_cc != capability:
        return (
            f"compiled for compute capability {_text(made_on.cuda_device_cc)}, "
            f"the device has {_text(capability)}"
        )
    named = made_on.cuda_device_name
    if named not in (None, environment.device_name) and not details.same_cc_compatible:
        return f"compiled for {named} alone, the device is {environment.device_name}"
    if made_on.trt_version is None:
        return "does not say which TensorRT it was compiled with"
    built, here = made_on.trt_version[:_RELEASE], environment.tensorrt[:_RELEASE]
    if built != here:
        # On another release an engine needs the lean runtime of its own, which it may leave out.
        newer = details.trt_forward_compatible and built[:1] == here[:1] and built < here
        if not newer or details.trt_lean_runtime_excluded:
            return f"compiled with TensorRT {_text(built)}, {_text(here)} is installed"
    if _differ(made_on.cuda_version, environment.cuda, 1):
        return (
            f"compiled with CUDA {_text(made_on.cuda_version)}, {_text(environment.cuda)} is here"
        )
    if _differ(made_on.l4t_version, environment.l4t, 1):
        return f"compiled on L4T {_text(made_on.l4t_version)}, {_text(environment.l4t)} is here"
    driver = made_on.driver_version
    if driver is not None and environment.driver is not None and environment.driver < driver:
        return f"needs the driver {_text(driver)}, {_text(environment.driver)} is installed"
    return None


def _differ(one: Version | None, other: Version | None, places: int) -> bool:
    """Whether two versions are known and differ in their first places."""
    return one is not None and other is not None and one[:places] != other[:places]


def _rank(package: ModelPackage, environment: RuntimeEnvironment) -> tuple[object, ...]:
    """A key that sorts the best package first; the name of its folder decides last, so that the
    choice is always the same."""
    requirements = package.requirements
    static = package.inference.forward_pass.static_batch_size
    onnx = requirements.onnx_package_details
    made_on = requirements.environment_requirements
    trt = requirements.trt_package_details or TrtPackageDetails()
    largest = trt.max_dynamic_batch_size or 0
    known = package.backend in _BACKENDS
    return (
        _BACKENDS.index(package.backend) if known else len(_BACKENDS),
        _QUANTIZATIONS.index(requirements.quantization),
        not requirements.trusted_source,
        static is not None,
        static or 0,
        -(onnx.opset if onnx is not None else 0),
        *_distances(made_on, environment),
        len(onnx.incompatible_providers) if onnx is not None else 0,
        -(largest - (trt.min_dynamic_batch_size or 0)),
        package.location.name,
    )


def _distances(
    made_on: EnvironmentRequirements | None, environment: RuntimeEnvironment
) -> tuple[bool, ...]:
    """Whether each fact of the machine a package was compiled on differs from this one's."""
    if made_on is None:
        return (True,) * 5
    return (
        made_on.trt_version != environment.tensorrt,
        made_on.cuda_device_name != environment.device_name,
        made_on.cuda_version != environment.cuda,
        made_on.driver_version != environment.driver,
        made_on.os_version != environment.os,
    )


def _text(version: Version | None) -> str:
    return "unknown" if version is None else ".".join(map(str, version))
