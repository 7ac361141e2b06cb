"""Detections Stitch, version 1, on tensors.

Rows are few and masks are crops on the host, so that moving, joining and filtering have one
implementation, that of the numpy side; only the result goes back to the device of the children.
"""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.fusion.detections_stitch.overlap_filter import OverlapFilter
from blocks.fusion.detections_stitch.v1 import DetectionsStitchBlockV1
from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor
from execution_engine.block_api import Batch, BlockResult, WorkflowImageData
from execution_engine.kinds.representation import CPU, TENSOR


class DetectionsStitchTensorBlockV1(DetectionsStitchBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(
        self,
        reference_image: WorkflowImageData,
        predictions: Batch,
        overlap_filtering_strategy: OverlapFilter,
        iou_threshold: float,
    ) -> BlockResult:
        """`predictions`: the detections of all slices in px of the reference image, as tensors."""
        children = [child for child in predictions if child is not None]
        rows: Any = super().run(
            reference_image,
            Batch([to_numpy(child) for child in children], [(0,)] * len(children)),
            overlap_filtering_strategy,
            iou_threshold,
        )
        device = next((child.device for child in children), CPU)
        return {"predictions": to_tensor(rows["predictions"], device)}
