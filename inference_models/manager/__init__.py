"""The manager of models: load, run, evict."""

from inference_models.families.parameters import InferenceParameters, ParameterDefaults
from inference_models.manager.batching import BatchingDispatcher, dynamic_batching
from inference_models.manager.call_context import CallContext, call_context
from inference_models.manager.descriptions import ModelDescription, ModelStatus
from inference_models.manager.dispatch import Dispatcher, InlineDispatcher
from inference_models.manager.manager import ModelManager
from inference_models.manager.model import Model
from inference_models.manager.statistics import DispatchStatistics

__all__ = [
    "BatchingDispatcher",
    "CallContext",
    "DispatchStatistics",
    "Dispatcher",
    "InferenceParameters",
    "InlineDispatcher",
    "Model",
    "ModelDescription",
    "ModelManager",
    "ModelStatus",
    "ParameterDefaults",
    "call_context",
    "dynamic_batching",
]
