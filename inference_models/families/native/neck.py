"""The neck: mixes the backbone's maps from coarse to fine and back."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from inference_models.families.native.blocks import (
    ConvNorm,
    SplitStage,
    attention_unit,
    cross_stage_unit,
)
from inference_models.families.native.config import Scale


class Neck(nn.Module):
    """One way up to stride 8 and one way down again, joined at every level.

    Args:
        scale: depth and width.
        inputs: channels of the backbone's three maps.
    """

    def __init__(self, scale: Scale, inputs: tuple[int, int, int]) -> None:
        super().__init__()
        fine, middle, coarse = map(scale.channels, (256, 512, 1024))
        repeats = scale.repeats
        self.up16 = SplitStage(inputs[2] + inputs[1], middle, repeats, unit=cross_stage_unit)
        self.up8 = SplitStage(middle + inputs[0], fine, repeats)
        self.shrink8 = ConvNorm(fine, fine, 3, 2)
        self.down16 = SplitStage(fine + middle, middle, repeats)
        self.shrink16 = ConvNorm(middle, middle, 3, 2)
        self.down32 = SplitStage(middle + inputs[2], coarse, 1, unit=attention_unit)
        self.channels = (fine, middle, coarse)

    def forward(self, maps: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Maps at strides 8, 16 and 32 to maps of `self.channels` channels at the same strides."""
        stride8, stride16, stride32 = maps
        up16 = self.up16(torch.cat([_double(stride32), stride16], 1))
        fine = self.up8(torch.cat([_double(up16), stride8], 1))
        middle = self.down16(torch.cat([self.shrink8(fine), up16], 1))
        coarse = self.down32(torch.cat([self.shrink16(middle), stride32], 1))
        return fine, middle, coarse


def _double(values: Tensor) -> Tensor:
    return functional.interpolate(values, scale_factor=2.0, mode="nearest")
