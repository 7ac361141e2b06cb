"""Prototype masks of the segmenting detector and its auxiliary class map. Masks of instances are
summed up elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from inference_models.families.native.blocks import ConvNorm


class PrototypeHead(nn.Module):
    """Adds up the levels at stride 8 and makes prototype masks at stride 4.

    Args:
        channels: channels of the levels.
        mask_channels: number of prototypes.
    """

    def __init__(self, channels: Sequence[int], mask_channels: int) -> None:
        super().__init__()
        width = channels[0]
        self.project16 = nn.Conv2d(channels[1], width, 1)
        self.project32 = nn.Conv2d(channels[2], width, 1)
        self.before = nn.Sequential(*(ConvNorm(width, width, 3) for _ in range(3)))
        self.after = nn.Sequential(ConvNorm(width, width, 3), nn.Conv2d(width, mask_channels, 1))

    def fuse_levels(self, maps: Sequence[Tensor]) -> Tensor:
        """(b, channels[0], h / 8, w / 8) sum of all levels."""
        fine = maps[0]
        size = fine.shape[2:]
        for project, values in zip((self.project16, self.project32), maps[1:], strict=True):
            fine = fine + functional.interpolate(project(values), size=size, mode="nearest")
        return fine

    def forward(self, fused: Tensor) -> Tensor:
        """(b, mask channels, h / 4, w / 4) prototypes from the sum of all levels."""
        doubled = functional.interpolate(self.before(fused), scale_factor=2.0, mode="nearest")
        prototypes: Tensor = self.after(doubled)
        return prototypes


class SemanticHead(nn.Module):
    """Scores the classes of every cell at stride 8; a training signal, never part of a deployed
    model."""

    def __init__(self, channels: int, class_count: int) -> None:
        super().__init__()
        self.classify = nn.Conv2d(channels, class_count, 1)

    def initialise_biases(self, prior: float) -> None:
        """Lets every class score start at `prior`."""
        assert self.classify.bias is not None
        nn.init.constant_(self.classify.bias, math.log(prior / (1 - prior)))

    def forward(self, fused: Tensor) -> Tensor:
        """(b, classes, h / 8, w / 8) logits."""
        logits: Tensor = self.classify(fused)
        return logits
