"""`dimension_collapse@v1`."""

from __future__ import annotations

from blocks.fusion.dimension_collapse.v1 import DimensionCollapseBlockV1
from execution_engine.block_api import Batch


class TestRun:
    def test_gathers_in_order(self) -> None:
        """The elements of the batch become a list of their own."""
        batch = Batch([70, 50, 70], [(0, 0), (0, 1), (0, 2)])
        result = DimensionCollapseBlockV1().run(batch)
        assert result == {"output": [70, 50, 70]}
        assert result["output"] is not batch.content
