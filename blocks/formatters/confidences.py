"""Confidences as language models write them. Knows no form of answers."""

from __future__ import annotations

import math
from typing import Any


class UnreadableAnswerError(ValueError):
    """What a model said has not the form it should have."""


def confidence_of(value: Any) -> float:
    """A confidence as a float in 0..1, also when it is written as text; 1 for None.

    Raises:
        UnreadableAnswerError: it is no number.
    """
    try:
        confidence = 1.0 if value is None else float(value)
    except OverflowError:
        confidence = 1.0 if value > 0 else 0.0
    except (TypeError, ValueError) as error:
        raise UnreadableAnswerError("a confidence is no number") from error
    if math.isnan(confidence):
        raise UnreadableAnswerError("a confidence is no number")
    return min(max(confidence, 0.0), 1.0)
