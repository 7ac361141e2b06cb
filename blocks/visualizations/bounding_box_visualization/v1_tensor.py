"""Bounding Box Visualization, version 1, on tensors."""

from __future__ import annotations

from blocks.visualizations.bounding_box_visualization.v1 import BoundingBoxVisualizationBlockV1
from blocks.visualizations.tensor_drawing import TensorDrawing


class BoundingBoxVisualizationTensorBlockV1(TensorDrawing, BoundingBoxVisualizationBlockV1):
    """Draws boxes of predictions on tensors."""
