"""The backbone: an image to feature maps at strides 8, 16 and 32."""

from __future__ import annotations

from torch import Tensor, nn

from inference_models.families.native.blocks import (
    AttentionStage,
    ConvNorm,
    PyramidPooling,
    SplitStage,
    cross_stage_unit,
)
from inference_models.families.native.config import Scale

# A thin stage spends a quarter of its channels on its chain.
_THIN = 0.25


class Backbone(nn.Module):
    """Five halvings of the image, each but the first followed by a stage.

    Args:
        scale: depth and width.
        input_channels: channels of the image.
    """

    def __init__(self, scale: Scale, input_channels: int = 3) -> None:
        super().__init__()
        half, quarter, eighth, sixteenth, last = map(scale.channels, (64, 128, 256, 512, 1024))
        repeats = scale.repeats
        self.stem = nn.Sequential(
            ConvNorm(input_channels, half, 3, 2),
            ConvNorm(half, quarter, 3, 2),
            SplitStage(quarter, eighth, repeats, _THIN),
        )
        self.stride8 = nn.Sequential(
            ConvNorm(eighth, eighth, 3, 2), SplitStage(eighth, sixteenth, repeats, _THIN)
        )
        self.stride16 = nn.Sequential(
            ConvNorm(sixteenth, sixteenth, 3, 2),
            SplitStage(sixteenth, sixteenth, repeats, unit=cross_stage_unit),
        )
        self.stride32 = nn.Sequential(
            ConvNorm(sixteenth, last, 3, 2),
            SplitStage(last, last, repeats, unit=cross_stage_unit),
            PyramidPooling(last, last),
            AttentionStage(last, repeats),
        )
        self.channels = (sixteenth, sixteenth, last)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(b, channels, h, w) to maps of `self.channels` channels at strides 8, 16 and 32."""
        stride8 = self.stride8(self.stem(images))
        stride16 = self.stride16(stride8)
        return stride8, stride16, self.stride32(stride16)
