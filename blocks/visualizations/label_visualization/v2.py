"""Label Visualization, version 2: letters that grow with the image. The drawing is in `family`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.parameters import choice
from blocks.visualizations.label_visualization.family import (
    LONG_DESCRIPTION,
    NAME,
    SEARCH_KEYWORDS,
    SHORT_DESCRIPTION,
    LabelBlock,
    LabelManifest,
    LabelStyle,
)
from blocks.visualizations.limits import SMALLEST_TEXT_SCALE
from blocks.visualizations.manifest import describe
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import STRING_KIND

if TYPE_CHECKING:
    import supervision as sv

_AUTOMATIC = {"Manual": False, "Automatic": True}


class LabelVisualizationManifestV2(LabelManifest):
    model_config = describe(
        NAME,
        SHORT_DESCRIPTION,
        LONG_DESCRIPTION + " With `text_size_mode` Automatic, letters grow with the image.",
        SEARCH_KEYWORDS,
        "v2",
    )
    type: Literal["roboflow_core/label_visualization@v2"]
    text_size_mode: Literal["Manual", "Automatic"] | Selector(kind=[STRING_KIND]) = Field(
        default="Manual",
        title="Text Size Mode",
        description=(
            "Whether scale and thickness of the letters are those given or follow from the size of "
            "the image."
        ),
        examples=["Automatic", "$inputs.text_size_mode"],
    )


class LabelVisualizationBlockV2(LabelBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LabelVisualizationManifestV2

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
        text_size_mode: str,
        text_scale: float,
        text_thickness: int,
        text_padding: int,
        border_radius: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the labels."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        if choice("text_size_mode", text_size_mode, _AUTOMATIC):
            text_scale, text_thickness = automatic_size(image.size)
        style = LabelStyle(
            text_position, text_color, text_scale, text_thickness, text_padding, border_radius
        )
        return self.label(image, predictions, colours, text, style)


def automatic_size(image_size: tuple[int, int]) -> tuple[float, int]:
    """Scale and thickness (px) of letters that are legible in an image (height, width)."""
    import supervision as sv

    size_wh = (image_size[1], image_size[0])
    scale = max(sv.calculate_optimal_text_scale(size_wh), SMALLEST_TEXT_SCALE)
    return scale, sv.calculate_optimal_line_thickness(size_wh)
