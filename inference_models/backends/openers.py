"""The backends that come with the package, by the name packages use. Their libraries load when one
is opened."""

from __future__ import annotations

from inference_models.backends.backend import Backend, BackendOpener, BackendOptions
from inference_models.packages.package import ModelPackage


def built_in_backends() -> dict[str, BackendOpener]:
    """Name to opener of every backend of this package."""
    # Imported late: the opener lives beside its family, which builds on this package.
    from inference_models.families.native.openers import native_backends

    return {
        "onnx": _open_onnx,
        "torch-script": _open_torchscript,
        "trt": _open_tensorrt,
        **native_backends(),
    }


def _open_onnx(package: ModelPackage, options: BackendOptions) -> Backend:
    from inference_models.backends.onnx import OnnxBackend

    return OnnxBackend(package, options)


def _open_torchscript(package: ModelPackage, options: BackendOptions) -> Backend:
    from inference_models.backends.torchscript import TorchScriptBackend

    return TorchScriptBackend(package, options)


def _open_tensorrt(package: ModelPackage, options: BackendOptions) -> Backend:
    from inference_models.backends.tensorrt import TensorRtBackend

    return TensorRtBackend(package, options)
