"""How a model manager opens weights of the native detector. Torch loads when a package is
opened."""

from __future__ import annotations

from inference_models.backends.backend import Backend, BackendOpener, BackendOptions
from inference_models.errors import MissingDependencyError
from inference_models.packages.package import ModelPackage

TORCH_BACKEND = "torch"


def native_backends() -> dict[str, BackendOpener]:
    """Name to opener of the backends that run native detectors from their own weights."""
    return {TORCH_BACKEND: _open_torch}


def _open_torch(package: ModelPackage, options: BackendOptions) -> Backend:
    try:
        from inference_models.families.native.torch_backend import NativeTorchBackend
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        raise MissingDependencyError(
            f"{error.name} is needed to run {package.location} and is not installed",
            hint="pip install 'weftlens[torch]'",
        ) from error
    return NativeTorchBackend(package, options)
