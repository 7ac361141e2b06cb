"""Halo Visualization, version 1. The drawing is in `family`."""

from __future__ import annotations

from typing import Literal

from blocks.visualizations.halo_visualization.family import (
    LONG_DESCRIPTION,
    NAME,
    SEARCH_KEYWORDS,
    SHORT_DESCRIPTION,
    HaloBlock,
    HaloManifest,
)
from blocks.visualizations.manifest import describe
from execution_engine.block_api import WorkflowBlockManifest


class HaloVisualizationManifest(HaloManifest):
    model_config = describe(
        NAME,
        SHORT_DESCRIPTION,
        LONG_DESCRIPTION + " Detections without masks glow around their boxes.",
        SEARCH_KEYWORDS,
        "v1",
    )
    type: Literal["roboflow_core/halo_visualization@v1", "HaloVisualization"]


class HaloVisualizationBlockV1(HaloBlock):
    draws_boxes_without_masks = True

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return HaloVisualizationManifest
