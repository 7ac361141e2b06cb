"""What the tensor siblings of visualizations share.

Drawing is done by supervision and OpenCV on pixels of the host: the drawn image holds an array, and
makes a tensor of it when a later step asks for one. Nothing is drawn here.
"""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.kinds.tensor_predictions.forms import to_numpy
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.kinds.representation import TENSOR


class TensorDrawing(VisualizationBlock):
    """Comes before the block of a version among the bases of its tensor sibling.

    Attributes:
        draws_masks: whether the block looks at masks; those of others are not unpacked.
    """

    representation: ClassVar[str] = TENSOR
    draws_masks: ClassVar[bool] = False

    def rows(self, predictions: Any) -> Any:
        """The predictions as `sv.Detections`."""
        return to_numpy(predictions, masks=self.draws_masks)
