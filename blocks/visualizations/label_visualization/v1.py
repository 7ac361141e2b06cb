"""Label Visualization, version 1. The drawing is in `family`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from blocks.visualizations.label_visualization.family import (
    LONG_DESCRIPTION,
    NAME,
    SEARCH_KEYWORDS,
    SHORT_DESCRIPTION,
    LabelBlock,
    LabelManifest,
    LabelStyle,
)
from blocks.visualizations.manifest import describe
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class LabelVisualizationManifest(LabelManifest):
    model_config = describe(NAME, SHORT_DESCRIPTION, LONG_DESCRIPTION, SEARCH_KEYWORDS)
    type: Literal["roboflow_core/label_visualization@v1", "LabelVisualization"]


class LabelVisualizationBlockV1(LabelBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LabelVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        text: str,
        text_position: str,
        text_color: str,
        text_scale: float,
        text_thickness: int,
        text_padding: int,
        border_radius: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the labels."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        style = LabelStyle(
            text_position, text_color, text_scale, text_thickness, text_padding, border_radius
        )
        return self.label(image, predictions, colours, text, style)
