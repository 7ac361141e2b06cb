"""What can be wrong with masks. Only exception classes live here."""

from __future__ import annotations

from inference_models.errors import InferenceModelsError


class MaskError(InferenceModelsError, ValueError):
    """Masks, or what was given to make them, contradict themselves."""

    code = "invalid_masks"


class MaskGridError(MaskError):
    """Two sets of masks live on grids that cannot be compared or joined pixel by pixel."""

    code = "mask_grids_differ"


class MalformedRLEError(MaskError):
    """A run-length code does not describe a mask of the size it names."""

    code = "malformed_rle"
