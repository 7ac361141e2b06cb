"""Model packages on disk: their schema, reading and writing them."""

from inference_models.packages.loader import load_package, package_from_config
from inference_models.packages.model_config import (
    ClassKeypoints,
    DetectionOutputs,
    ModelConfig,
    RecommendedParameters,
)
from inference_models.packages.network_config import InferenceConfig, NetworkInput
from inference_models.packages.package import ModelPackage
from inference_models.packages.tasks import Task
from inference_models.packages.writer import write_package

__all__ = [
    "ClassKeypoints",
    "DetectionOutputs",
    "InferenceConfig",
    "ModelConfig",
    "ModelPackage",
    "NetworkInput",
    "RecommendedParameters",
    "Task",
    "load_package",
    "package_from_config",
    "write_package",
]
