"""What the tensor siblings of all model blocks have: tensors in, predictions as the model made them
out. What a single task does differently belongs to its family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from blocks.kinds.detections import keys
from blocks.kinds.detections.masks import rle_column
from blocks.kinds.tensor_predictions.columns import with_lineage
from blocks.models.classification_rows import Classified
from blocks.models.model_block import ModelBlock
from execution_engine.block_api import WorkflowImageData
from execution_engine.kinds.representation import CPU, TENSOR

if TYPE_CHECKING:
    from blocks.kinds.tensor_predictions.columns import TensorDetections


class TensorModel(ModelBlock):
    """Comes before the block of a version among the bases of its tensor sibling."""

    representation: ClassVar[str] = TENSOR

    @property
    def device(self) -> str:
        """Torch device of the models, and so of the predictions."""
        return str(getattr(self._manager, "device", CPU))

    def pixels(self, image: WorkflowImageData) -> Any:
        """(3, h, w) RGB or (1, h, w) uint8 tensor."""
        return image.tensor_image

    def placed(
        self,
        prediction: Any,
        image: WorkflowImageData,
        prediction_type: str,
        inference_id: str,
        with_rle: bool,
    ) -> TensorDetections:
        """The prediction with tensors on the device of the models, and its lineage.

        The areas of a semantic segmentation become instances, as they do on the numpy side.
        """
        if hasattr(prediction, "to_instances"):
            prediction, with_rle = prediction.to_instances(), True
        masks = getattr(prediction, "masks", None)
        found = prediction.to_torch(self.device)
        if masks is not None and (with_rle or masks.on_own_grid):
            found = found.replace(data={**found.data, keys.RLE_MASK: rle_column(masks)})
        return with_lineage(found, image, prediction_type, inference_id)

    def classified(self, row: Classified) -> Any:
        """The prediction with its lineage in the metadata."""
        prediction: Any = row.with_lineage()
        return prediction.to_torch(self.device)
