"""What a package says of the machine it needs and of how it was made: the schema. Comparing it with
a machine is the business of the model manager."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    model_validator,
)

Quantization = Literal["fp32", "fp16", "bf16", "int8", "unknown"]
Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    """The leading numbers of a version: `10.3.0.26` -> (10, 3, 0, 26), `2.13.0+cpu` -> (2, 13, 0).

    Raises:
        ValueError: the text does not begin with a number.
    """
    found = re.match(r"\d+(\.\d+)*", text)
    if found is None:
        raise ValueError(f"a version must begin with numbers, got {text!r}")
    return tuple(int(part) for part in found.group().split("."))


def _version(value: Any) -> Any:
    return parse_version(value) if isinstance(value, str) else value


VersionField = Annotated[Version, BeforeValidator(_version)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="ignore", frozen=True, populate_by_name=True, protected_namespaces=()
    )


class EnvironmentRequirements(_Part):
    """The machine a compiled package was made on.

    Attributes:
        cuda_device_cc: compute capability of its GPU.
        cuda_device_name: name of the GPU.
        cuda_version: CUDA the engine was compiled with.
        trt_version: TensorRT it was compiled with.
        driver_version: driver of the GPU; servers.
        l4t_version: release of Jetson Linux; Jetson devices.
        os_version: operating system.
    """

    cuda_device_cc: VersionField
    cuda_device_name: str | None = None
    cuda_version: VersionField | None = None
    trt_version: VersionField | None = None
    driver_version: VersionField | None = None
    l4t_version: VersionField | None = None
    os_version: str | None = None


class TrtPackageDetails(_Part):
    """How an engine was compiled.

    Attributes:
        min_dynamic_batch_size: smallest batch, with the two after it or not at all.
        opt_dynamic_batch_size: batch it is tuned for; decides nothing.
        max_dynamic_batch_size: largest batch.
        same_cc_compatible: it runs on every GPU of the compute capability, not on the same model
            of GPU only.
        trt_forward_compatible: it runs on newer releases of TensorRT of the same major version.
        trt_lean_runtime_excluded: it leaves out the runtime, code for the host, that this needs,
            and so runs on the release it was compiled with.
    """

    min_dynamic_batch_size: PositiveInt | None = None
    opt_dynamic_batch_size: PositiveInt | None = None
    max_dynamic_batch_size: PositiveInt | None = None
    same_cc_compatible: bool = False
    trt_forward_compatible: bool = False
    trt_lean_runtime_excluded: bool = False

    @property
    def brings_host_code(self) -> bool:
        """Whether the engine holds code that runs on the host."""
        return self.trt_forward_compatible and not self.trt_lean_runtime_excluded


class OnnxPackageDetails(_Part):
    """What an ONNX file needs."""

    opset: PositiveInt
    incompatible_providers: tuple[str, ...] = ()


class TorchScriptPackageDetails(_Part):
    """What a TorchScript file needs."""

    supported_device_types: tuple[str, ...]
    torch_version: VersionField


class TrtConfig(_Part):
    """Content of `trt_config.json`: the batches an engine takes."""

    static_batch_size: PositiveInt | None = None
    least: PositiveInt | None = Field(
        default=None, validation_alias=AliasChoices("dynamic_batch_size_min", "min")
    )
    tuned: PositiveInt | None = Field(
        default=None, validation_alias=AliasChoices("dynamic_batch_size_opt", "opt")
    )
    most: PositiveInt | None = Field(
        default=None, validation_alias=AliasChoices("dynamic_batch_size_max", "max")
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> TrtConfig:
        bounds = (self.least, self.tuned, self.most)
        if self.static_batch_size is not None:
            if any(bound is not None for bound in bounds):
                raise ValueError("static_batch_size and dynamic batch sizes exclude each other")
        elif None in bounds or sorted(bounds) != list(bounds):  # type: ignore[type-var]
            raise ValueError(
                "needs static_batch_size, or dynamic_batch_size_min <= dynamic_batch_size_opt <= "
                "dynamic_batch_size_max"
            )
        return self


class PackageRequirements(_Part):
    """What helps to choose between packages of one model, as `model_config.json` says it.

    Attributes:
        quantization: number format of the weights.
        trusted_source: whether who gave the package is vouched for.
        dynamic_batch_size_supported: whether any number of images runs at once; decides nothing,
            since the graph itself tells.
        model_features: what the package can beside its task; decides nothing.
        environment_requirements: the machine a compiled package was made on.
        trt_package_details, onnx_package_details, torch_script_package_details: of each backend.
    """

    quantization: Quantization = "unknown"
    trusted_source: bool = False
    dynamic_batch_size_supported: bool | None = None
    model_features: dict[str, Any] = Field(default_factory=dict)
    environment_requirements: EnvironmentRequirements | None = None
    trt_package_details: TrtPackageDetails | None = None
    onnx_package_details: OnnxPackageDetails | None = None
    torch_script_package_details: TorchScriptPackageDetails | None = None
