"""The detector this package trains itself: upright boxes, masks, rotated boxes, keypoints.

Importing this package loads no torch. `detector` holds the network, `weights` its files, `export`
the way to packages that run with and without torch.
"""

from inference_models.families.native.config import SCALES, DetectorConfig, DetectorTask, Scale
from inference_models.families.native.openers import native_backends
from inference_models.families.native.table import NATIVE_FAMILIES

__all__ = [
    "NATIVE_FAMILIES",
    "SCALES",
    "DetectorConfig",
    "DetectorTask",
    "Scale",
    "native_backends",
]
