"""The parameters of one call: one frozen object with every name any stage knows. What they do
belongs to the stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from inference_models.errors import (
    InvalidMaskDecodeArgument,
    InvalidParameterError,
    nearest_name_hint,
)
from inference_models.packages.tasks import Task
from inference_models.preprocessing.preprocessor import PreProcessingOverrides

_MOST_BITS_WRITTEN = 200
_PRE_PROCESSING = frozenset(
    {"disable_static_crop", "disable_grayscale", "disable_contrast_enhancement"}
)
_DETECTION = _PRE_PROCESSING | {
    "confidence",
    "iou_threshold",
    "max_detections",
    "max_candidates",
    "class_agnostic_nms",
    "class_filter",
}

# The names a task has a use for; any other name is refused, so that no parameter is silently
# without effect.
PARAMETERS_OF_TASK: Mapping[Task, frozenset[str]] = {
    Task.OBJECT_DETECTION: _DETECTION,
    Task.INSTANCE_SEGMENTATION: _DETECTION | {"masks_resolution_factor"},
    Task.ORIENTED_OBJECT_DETECTION: _PRE_PROCESSING
    | {"confidence", "max_detections", "class_filter"},
    Task.KEYPOINT_DETECTION: _DETECTION | {"keypoint_confidence"},
    Task.SEMANTIC_SEGMENTATION: _PRE_PROCESSING | {"confidence"},
    Task.CLASSIFICATION: _PRE_PROCESSING,
    Task.MULTI_LABEL_CLASSIFICATION: _PRE_PROCESSING | {"confidence"},
}


@dataclass(frozen=True, slots=True)
class InferenceParameters:
    """What one call asks for; None means not asked for, so the model's or the host's default holds.

    Attributes:
        confidence: lowest score of a result in 0..1; `best` for the thresholds the package
            recommends; `default`.
        iou_threshold: two boxes that overlap more than this are one object, 0..1.
        max_detections: most results of an image, best scores first.
        max_candidates: most boxes that enter the suppression of overlaps.
        class_agnostic_nms: whether boxes of different classes suppress each other.
        class_filter: names of the classes to report; a name the model does not have matches
            nothing.
        masks_resolution_factor: 0 for masks on the network's own grid, 1 for the image's, between
            for between.
        keypoint_confidence: a point counts as visible when its confidence is above this, 0..1.
        disable_static_crop: look at the whole image although the package crops it.
        disable_grayscale: keep the colours although the package drops them.
        disable_contrast_enhancement: leave the contrast although the package enhances it.

    Raises:
        InvalidParameterError: a value is out of range.
    """

    confidence: float | Literal["best", "default"] | None = None
    iou_threshold: float | None = None
    max_detections: int | None = None
    max_candidates: int | None = None
    class_agnostic_nms: bool | None = None
    class_filter: tuple[str, ...] | None = None
    masks_resolution_factor: float | None = None
    keypoint_confidence: float | None = None
    disable_static_crop: bool | None = None
    disable_grayscale: bool | None = None
    disable_contrast_enhancement: bool | None = None

    def __post_init__(self) -> None:
        if self.confidence not in (None, "best", "default"):
            self._set("confidence", _fraction("confidence", self.confidence))
        for name in ("iou_threshold", "masks_resolution_factor", "keypoint_confidence"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, _fraction(name, value))
        for name in ("max_detections", "max_candidates"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, _count(name, value))
        for name in ("class_agnostic_nms", *_PRE_PROCESSING):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (bool, np.bool_)):
                raise InvalidParameterError(f"{name} must be true or false, got {value!r}")
        if self.class_filter is not None:
            self._set("class_filter", _names("class_filter", self.class_filter))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> InferenceParameters:
        """Parameters from names and values.

        Raises:
            InvalidParameterError: a name is unknown or a value is out of range.
        """
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise InvalidParameterError(
                    f'unknown parameter "{name}": expected one of {", ".join(known)}',
                    hint=nearest_name_hint(str(name), known),
                )
        return cls(**values)

    @property
    def given(self) -> frozenset[str]:
        """Names that were asked for."""
        names = (field.name for field in fields(self))
        return frozenset(name for name in names if getattr(self, name) is not None)

    @property
    def overrides(self) -> PreProcessingOverrides:
        """The steps of pre-processing to leave out."""
        return PreProcessingOverrides(
            disable_static_crop=bool(self.disable_static_crop),
            disable_grayscale=bool(self.disable_grayscale),
            disable_contrast_enhancement=bool(self.disable_contrast_enhancement),
        )

    def require_only(self, accepted: Collection[str], model: str) -> None:
        """Refuses a parameter that would have no effect.

        Raises:
            InvalidParameterError: a name outside of `accepted` was asked for.
        """
        for name in sorted(self.given.difference(accepted)):
            raise InvalidParameterError(
                f'parameter "{name}" has no effect on {model}, which takes '
                f"{', '.join(sorted(accepted))}"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class ParameterDefaults:
    """What holds where neither the call nor the package says anything; a host may choose others."""

    confidence: float = 0.4
    iou_threshold: float = 0.3
    max_detections: int = 300
    max_candidates: int = 3000
    class_agnostic_nms: bool = False
    masks_resolution_factor: float = 1.0
    keypoint_confidence: float = 0.0


def masks_resolution_factor(
    mask_decode_mode: str | None,
    tradeoff_factor: float | None = None,
    allow_reduced_resolution: bool = True,
) -> float:
    """The factor behind the mask decoding mode of workflows and of the HTTP API.

    Args:
        mask_decode_mode: `accurate`, `fast`, `tradeoff`, or None, which means accurate.
        tradeoff_factor: the factor in mode `tradeoff`, 0..1; not looked at in the other modes.
        allow_reduced_resolution: whether the caller can read masks on a grid that is not the
            image's.

    Raises:
        InvalidMaskDecodeArgument: the mode is unknown, or the factor is out of range.
    """
    if mask_decode_mode in (None, "accurate"):
        factor = 1.0
    elif mask_decode_mode == "fast":
        factor = 0.0
    elif mask_decode_mode == "tradeoff":
        try:
            factor = _fraction("tradeoff_factor", tradeoff_factor)
        except InvalidParameterError as error:
            raise InvalidMaskDecodeArgument(error.message) from error
    else:
        raise InvalidMaskDecodeArgument(
            f"mask_decode_mode must be accurate, fast or tradeoff, got {mask_decode_mode!r}",
            hint=nearest_name_hint(str(mask_decode_mode), ("accurate", "fast", "tradeoff")),
        )
    return factor if allow_reduced_resolution else 1.0


def _fraction(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
        raise InvalidParameterError(f"{name} must be a number, got {value!r}")
    if not 0.0 <= value <= 1.0:  # not for NaN either
        raise InvalidParameterError(
            f"{name} must be finite and in [0.0, 1.0], got {_number_text(value)}"
        )
    return float(value)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidParameterError(
            f"{name} must be a whole number of at least 1, got {_number_text(value)}"
        )
    return int(value)


def _number_text(value: Any) -> str:
    """Python refuses to write numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS_WRITTEN:
        return f"a whole number of {value.bit_length()} bits"
    return repr(value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise InvalidParameterError(f"{name} must be a list of class names, got {value!r}")
    return tuple(value)
