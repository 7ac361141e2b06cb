"""Mask Visualization, version 1, on tensors."""

from __future__ import annotations

from blocks.visualizations.mask_visualization.v1 import MaskVisualizationBlockV1
from blocks.visualizations.tensor_drawing import TensorDrawing


class MaskVisualizationTensorBlockV1(TensorDrawing, MaskVisualizationBlockV1):
    """Draws masks of predictions on tensors."""

    draws_masks = True
