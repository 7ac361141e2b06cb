"""From an image to the network's input, and the way back for coordinates."""

from inference_models.preprocessing.geometry import ImageTransform, plan_transform
from inference_models.preprocessing.images import ColorOrder, as_image_list
from inference_models.preprocessing.preprocessor import PreProcessingOverrides, PreProcessor

__all__ = [
    "ColorOrder",
    "ImageTransform",
    "PreProcessingOverrides",
    "PreProcessor",
    "as_image_list",
    "plan_transform",
]
