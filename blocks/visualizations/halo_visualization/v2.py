"""Halo Visualization, version 2. The drawing is in `family`."""

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


class HaloVisualizationManifestV2(HaloManifest):
    model_config = describe(
        NAME,
        SHORT_DESCRIPTION,
        LONG_DESCRIPTION + " Detections without masks are not drawn.",
        SEARCH_KEYWORDS,
        "v2",
    )
    type: Literal["roboflow_core/halo_visualization@v2"]


class HaloVisualizationBlockV2(HaloBlock):
    draws_boxes_without_masks = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return HaloVisualizationManifestV2
