"""Backends: opened weights that run forward."""

from inference_models.backends.backend import Backend, BackendOpener, BackendOptions, TensorSpec
from inference_models.backends.openers import built_in_backends
from inference_models.backends.threads import ThreadBudget, available_cores

__all__ = [
    "Backend",
    "BackendOpener",
    "BackendOptions",
    "TensorSpec",
    "ThreadBudget",
    "available_cores",
    "built_in_backends",
]
