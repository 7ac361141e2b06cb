"""Chains of operations on detections of the tensor side: what the tensor siblings of the filter and
the transformation block share.
"""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.kinds.tensor_predictions.recognition import is_tensor_detections
from blocks.transformations.detections_operations import DetectionsOperations
from execution_engine.kinds.representation import TENSOR


class TensorDetectionsOperations(DetectionsOperations):
    """Comes before the block of a version among the bases of its tensor sibling.

    Operations look into values through codecs only, so that the same chain works on both sides.
    """

    representation: ClassVar[str] = TENSOR

    def checked(self, value: Any) -> Any:
        """What the last operation gave, if it is detections."""
        if not is_tensor_detections(value):
            raise ValueError(
                f"the operations must give detections, the last one gave {type(value).__name__}"
            )
        return value
