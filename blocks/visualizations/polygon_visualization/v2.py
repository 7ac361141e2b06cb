"""Polygon Visualization, version 2. The drawing is in `family`."""

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


class PolygonVisualizationManifestV2(PolygonManifest):
    model_config = describe(
        NAME,
        SHORT_DESCRIPTION,
        LONG_DESCRIPTION + " Detections without masks are not drawn.",
        SEARCH_KEYWORDS,
        "v2",
    )
    type: Literal["roboflow_core/polygon_visualization@v2"]


class PolygonVisualizationBlockV2(PolygonBlock):
    draws_boxes_without_masks = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PolygonVisualizationManifestV2
