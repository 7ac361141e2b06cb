"""Polygon Visualization, version 1. The drawing is in `family`."""

from __future__ import annotations

from typing import Literal

from blocks.visualizations.manifest import describe
from blocks.visualizations.polygon_visualization.family import (
    LONG_DESCRIPTION,
    NAME,
    SEARCH_KEYWORDS,
    SHORT_DESCRIPTION,
    PolygonBlock,
    PolygonManifest,
)
from execution_engine.block_api import WorkflowBlockManifest


class PolygonVisualizationManifest(PolygonManifest):
    model_config = describe(
        NAME,
        SHORT_DESCRIPTION,
        LONG_DESCRIPTION + " Detections without masks are drawn as boxes.",
        SEARCH_KEYWORDS,
        "v1",
    )
    type: Literal["roboflow_core/polygon_visualization@v1", "PolygonVisualization"]


class PolygonVisualizationBlockV1(PolygonBlock):
    draws_boxes_without_masks = True

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PolygonVisualizationManifest
