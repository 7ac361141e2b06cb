from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.per_class_confidence_filter.v1 import PerClassConfidenceFilterBlockV1
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import an_image, some

IMAGE = an_image()
ROWS = some(
    [[0, 0, 5, 5]] * 4, IMAGE, names=["a", "a", "b", "c"], scores=[0.7, 0.69, 0.4, 0.3]
)  # fmt: skip


def keep(rows: sv.Detections, thresholds: Any, default: float = 0.3) -> sv.Detections:
    result: Any = PerClassConfidenceFilterBlockV1().run(Batch([rows]), thresholds, default)
    return result[0]["predictions"]


class TestFilter:
    def test_thresholds(self) -> None:
        """Each class has its threshold, others the default; reaching it is enough."""
        assert keep(ROWS, {"a": 0.7, "b": 0.5}).data["detection_id"].tolist() == ["d0", "d3"]

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_edge_in_every_precision(self, dtype: Any) -> None:
        """A score that was written as the threshold reaches it, in whatever precision."""
        rows = some([[0, 0, 5, 5]] * 99)
        rows.confidence = (np.arange(1, 100) / 100).astype(dtype)
        for percent in range(1, 100):
            assert len(keep(rows, {"a": percent / 100})) == 100 - percent

    def test_nothing_left(self) -> None:
        """When nothing is left the columns stay."""
        empty = keep(ROWS, {}, 1.0)
        assert len(empty) == 0
        assert empty.data.keys() == ROWS.data.keys()
        assert empty.metadata["parent_id"] == "image"

    def test_no_rows(self) -> None:
        """No detections need no confidences."""
        empty = some([], IMAGE)
        empty.confidence = None
        assert keep(empty, {"a": 0.5}) is empty

    @pytest.mark.parametrize("missing", ["confidence", "class_name"])
    def test_missing(self, missing: str) -> None:
        """What the filter needs is named when it is not there."""
        rows = some([[0, 0, 5, 5]])
        if missing == "confidence":
            rows.confidence = None
        else:
            del rows.data["class_name"]
        with pytest.raises(ValueError, match=f"must carry `{missing}`"):
            keep(rows, {})

    @pytest.mark.parametrize("threshold", ["0.5", None, True])
    def test_not_a_number(self, threshold: Any) -> None:
        """Thresholds that came through a reference are checked."""
        with pytest.raises(ValueError, match=r"must hold numbers, got .* for 'a'"):
            keep(ROWS, {"a": threshold})
