"""The manager of models: load, run, evict."""

from inference_models.families.parameters import InferenceParameters, ParameterDefaults
from inference_models.manager.dispatch import Dispatcher, InlineDispatcher
from inference_models.manager.manager import ModelDescription, ModelManager, ModelStatus
from inference_models.manager.model import Model

__all__ = [
    "Dispatcher",
    "InferenceParameters",
    "InlineDispatcher",
    "Model",
    "ModelDescription",
    "ModelManager",
    "ModelStatus",
    "ParameterDefaults",
]
