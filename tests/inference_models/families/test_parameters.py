"""The parameters of a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from inference_models.errors import InvalidMaskDecodeArgument, InvalidParameterError
from inference_models.families.parameters import (
    PARAMETERS_OF_TASK,
    InferenceParameters,
    masks_resolution_factor,
)
from inference_models.packages import Task


class TestInferenceParameters:
    """`InferenceParameters`."""

    def test_an_unknown_name_raises(self) -> None:
        """A name no stage knows is refused, with the nearest one."""
        with pytest.raises(InvalidParameterError, match=r'"iou_treshold".*"iou_threshold"\?'):
            InferenceParameters.from_mapping({"iou_treshold": 0.3})

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("confidence", 1.5),
            ("confidence", "high"),
            ("confidence", math.nan),
            ("iou_threshold", -0.1),
            ("iou_threshold", True),
            ("masks_resolution_factor", math.inf),
            ("max_detections", 0),
            ("max_candidates", 2.5),
            ("class_agnostic_nms", "yes"),
            ("class_filter", "person"),
            ("class_filter", [1]),
            ("disable_static_crop", 1),
        ],
    )
    def test_a_value_out_of_range_is_named(self, name: str, value: Any) -> None:
        """The error says which parameter and what it got."""
        with pytest.raises(InvalidParameterError, match=name) as caught:
            InferenceParameters.from_mapping({name: value})
        assert repr(value) in str(caught.value)

    def test_numbers_of_numpy_are_numbers(self) -> None:
        """Values computed with numpy are accepted and kept as plain ones."""
        parameters = InferenceParameters(
            confidence=np.float32(0.5),
            max_detections=np.int64(3),
            class_filter=["a"],  # type: ignore[arg-type]
        )
        assert parameters == InferenceParameters(0.5, max_detections=3, class_filter=("a",))
        assert type(parameters.max_detections) is int

    def test_zero_is_a_value(self) -> None:
        """A threshold of zero was asked for; None was not."""
        assert InferenceParameters(confidence=0.0, iou_threshold=None).given == {"confidence"}

    def test_a_parameter_without_effect_is_refused(self) -> None:
        """Masks have no place in a detector."""
        accepted = PARAMETERS_OF_TASK[Task.OBJECT_DETECTION]
        InferenceParameters(confidence=0.1).require_only(accepted, "the model")
        with pytest.raises(InvalidParameterError, match=r"masks_resolution_factor.*the model"):
            InferenceParameters(masks_resolution_factor=0.0).require_only(accepted, "the model")

    def test_every_name_has_a_task_that_uses_it(self) -> None:
        """No parameter exists that no task takes."""
        names = set().union(*PARAMETERS_OF_TASK.values())
        assert names == set(InferenceParameters.__dataclass_fields__)


class TestMasksResolutionFactor:
    """`masks_resolution_factor`."""

    @pytest.mark.parametrize(
        ("mode", "factor", "expected"),
        [
            (None, None, 1.0),
            ("accurate", 0.3, 1.0),
            ("fast", 0.3, 0.0),
            ("tradeoff", 0.3, 0.3),
            ("tradeoff", 1, 1.0),
        ],
    )
    def test_modes(self, mode: str | None, factor: float | None, expected: float) -> None:
        """Each mode has its factor; the trade-off factor counts in its own mode only."""
        assert masks_resolution_factor(mode, factor) == expected

    def test_callers_that_cannot_read_reduced_masks_get_full_ones(self) -> None:
        """Without consent the factor is one whatever the mode."""
        for mode in ("fast", "tradeoff"):
            assert masks_resolution_factor(mode, 0.2, allow_reduced_resolution=False) == 1.0

    @pytest.mark.parametrize(
        ("mode", "factor"), [("Fast", 0.0), ("", 0.0), ("tradeoff", 1.1), ("tradeoff", None)]
    )
    def test_what_is_no_mode_raises(self, mode: str, factor: float | None) -> None:
        """An unknown mode or a factor out of range is refused, allowed or not."""
        for allowed in (True, False):
            with pytest.raises(InvalidMaskDecodeArgument):
                masks_resolution_factor(mode, factor, allow_reduced_resolution=allowed)
