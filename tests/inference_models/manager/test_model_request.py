"""From the fields of a route to the parameters of a call."""

from __future__ import annotations

from typing import Any

import pytest

from inference_models.errors import InvalidMaskDecodeArgument, InvalidParameterError
from inference_models.manager.model_request import model_request

SEGMENT = "instance-segmentation"


class TestModelRequest:
    """`model_request`."""

    @pytest.mark.parametrize(
        ("fields", "factor"),
        [
            ({}, 1.0),
            ({"mask_decode_mode": "accurate"}, 1.0),
            ({"mask_decode_mode": "accurate", "tradeoff_factor": 0.25}, 1.0),
            ({"mask_decode_mode": "fast"}, 0.0),
            ({"mask_decode_mode": "fast", "tradeoff_factor": 0.25}, 0.0),
            ({"mask_decode_mode": "tradeoff", "tradeoff_factor": 0.25}, 0.25),
        ],
    )
    @pytest.mark.parametrize("opt_in", [True, False, None])
    def test_factor(self, fields: dict[str, Any], factor: float, opt_in: bool | None) -> None:
        """The mode is the factor with the opt-in, and full resolution without it."""
        found = model_request(SEGMENT, {**fields, "allow_reduced_mask_resolution": opt_in})
        assert found.parameters.masks_resolution_factor == (factor if opt_in else 1.0)
        assert found.options.allow_reduced_mask_resolution is bool(opt_in)

    @pytest.mark.parametrize("opt_in", [True, False])
    def test_unknown_mode(self, opt_in: bool) -> None:
        """An unknown mode is refused with the modes there are, whatever the opt-in."""
        with pytest.raises(
            InvalidMaskDecodeArgument,
            match="must be accurate, fast or tradeoff, got 'quick'",
        ):
            model_request(
                SEGMENT, {"mask_decode_mode": "quick", "allow_reduced_mask_resolution": opt_in}
            )

    @pytest.mark.parametrize("factor", [None, -0.1, 1.1, "half", float("nan")])
    def test_factor_out_of_range(self, factor: Any) -> None:
        """Mode tradeoff needs a factor in [0, 1]."""
        with pytest.raises(InvalidMaskDecodeArgument, match="tradeoff_factor must be"):
            model_request(SEGMENT, {"mask_decode_mode": "tradeoff", "tradeoff_factor": factor})

    def test_the_rest_passes_through(self) -> None:
        """Other fields are parameters of the same name; None means not asked for."""
        fields = {
            "confidence": 0.25,
            "iou_threshold": 0.5,
            "max_detections": 7,
            "max_candidates": None,
            "class_filter": ["cat"],
            "class_agnostic_nms": True,
            "response_mask_format": "rle",
        }
        found = model_request(SEGMENT, fields)
        assert found.parameters.given == {
            "confidence",
            "iou_threshold",
            "max_detections",
            "class_filter",
            "class_agnostic_nms",
            "masks_resolution_factor",
        }
        assert found.parameters.class_filter == ("cat",)
        assert found.options.response_mask_format == "rle"

    def test_classification_lists_by_threshold(self) -> None:
        """The threshold of a classification is one of the answer, not of the network."""
        found = model_request("classification", {"confidence": 0.5})
        assert found.parameters.given == frozenset()
        assert found.options.min_confidence == 0.5
        assert model_request("classification", {"confidence": "best"}).options.min_confidence == 0

    @pytest.mark.parametrize(
        ("task", "fields", "text"),
        [
            (
                "object-detection",
                {"mask_decode_mode": "fast"},
                'field "mask_decode_mode" has no effect on object-detection',
            ),
            (SEGMENT, {"max_detection": 3}, 'did you mean "max_detections"'),
            (SEGMENT, {"masks_resolution_factor": 0.5}, "has no effect"),
            (SEGMENT, {"response_mask_format": "png"}, "polygon, rle"),
            ("classification", {"confidence": 2}, "confidence must be"),
        ],
    )
    def test_refusals(self, task: str, fields: dict[str, Any], text: str) -> None:
        """A field without effect, unknown or out of range is refused by name."""
        with pytest.raises(InvalidParameterError, match=text):
            model_request(task, fields)
