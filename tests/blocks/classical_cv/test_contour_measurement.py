"""`contour_measurement`: what is refused. The measures are held by the recorded cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.contour_measurement.family import measure_contours


class TestMeasureContours:
    @pytest.mark.parametrize(
        ("contours", "message"),
        [
            (5, "`contours` must be a list of outlines, got int"),
            ("text", "`contours` must be a list of outlines, got str"),
            ([np.zeros((0, 1, 2))], "entry 0 must hold points"),
            ([np.zeros((3, 1, 2)), np.zeros(5)], r"entry 1 must hold points .* shape \(5,\)"),
        ],
    )
    def test_no_outlines(self, contours: Any, message: str) -> None:
        """What is no list of outlines is refused by field, type and place."""
        with pytest.raises(ValueError, match=message):
            measure_contours(contours, 0)
