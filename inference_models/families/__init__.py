"""Families of networks and the pipeline that turns their raw outputs into predictions."""

from inference_models.families.catalogue import BUILT_IN_FAMILIES, family_of
from inference_models.families.descriptor import Family, MaskRule
from inference_models.families.parameters import (
    PARAMETERS_OF_TASK,
    InferenceParameters,
    ParameterDefaults,
    masks_resolution_factor,
)
from inference_models.families.pipeline import PostProcessor, Prediction

__all__ = [
    "BUILT_IN_FAMILIES",
    "PARAMETERS_OF_TASK",
    "Family",
    "InferenceParameters",
    "MaskRule",
    "ParameterDefaults",
    "PostProcessor",
    "Prediction",
    "family_of",
    "masks_resolution_factor",
]
