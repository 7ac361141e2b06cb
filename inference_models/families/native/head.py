"""The dual head: two branches of the same form, one trained to answer many times for an object, one
to answer once. Decoding is not done here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from inference_models.families.native.blocks import ConvNorm
from inference_models.families.native.config import KEYPOINT_VALUES, DetectorConfig

# Score every class starts from, so that the first steps are not spent on unlearning background.
PRIOR_SCORE = 0.01
_LEAST_CHANNELS = 16
# Place of the plain convolution in a stem.
_LAST = 4


@dataclass(frozen=True, slots=True)
class BranchOutputs:
    """Raw answers of one branch at all a anchors of b images; see `anchors` for their order.

    Attributes:
        class_logits: (b, a, classes).
        distances: (b, a, 4) left, top, right, bottom in units of the stride.
        coefficients: (b, a, mask channels) weights of the prototypes in (-1, 1), task `segment`.
        angles: (b, a, 1) radians, unbounded, task `oriented`.
        keypoints: (b, a, k, 2) offsets x, y from the anchor in units of the stride, task `pose`.
        keypoint_spreads: (b, a, k, 2) logits of the standard deviation along x and y as a share of
            the box, task `pose`.
    """

    class_logits: Tensor
    distances: Tensor
    coefficients: Tensor | None = None
    angles: Tensor | None = None
    keypoints: Tensor | None = None
    keypoint_spreads: Tensor | None = None


class Branch(nn.Module):
    """One branch: a stem for each kind of answer and each level.

    The stem of the task is added by `add_task_stem` after all branches have their boxes and
    classes, so that the same seed gives those the same first weights in every task.

    Args:
        config: task and classes.
        channels: channels of the levels.
    """

    def __init__(self, config: DetectorConfig, channels: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        self.boxes = _stems(channels, 3, 4)
        self.classes = _stems(channels, 3, config.class_count)
        self.coefficients: nn.ModuleList | None = None
        self.angles: nn.ModuleList | None = None
        self.keypoints: nn.ModuleList | None = None

    def add_task_stem(self, channels: Sequence[int]) -> None:
        """Adds what the task needs beside boxes and classes."""
        config = self.config
        if config.task == "segment":
            self.coefficients = _stems(channels, 3, config.mask_channels)
        elif config.task == "oriented":
            self.angles = _stems(channels, 2, 1)
        elif config.task == "pose":
            self.keypoints = _stems(channels, 3, KEYPOINT_VALUES * config.keypoint_count)

    def initialise_biases(self, prior: float = PRIOR_SCORE) -> None:
        """Lets every class score start at `prior`."""
        for stem in self.classes:
            last = stem.get_submodule(str(_LAST))
            assert isinstance(last, nn.Conv2d)
            assert last.bias is not None
            nn.init.constant_(last.bias, math.log(prior / (1 - prior)))

    def forward(self, maps: Sequence[Tensor]) -> BranchOutputs:
        """Answers for the maps of all levels, fine to coarse."""
        logits, distances = _answers(self.classes, maps), _answers(self.boxes, maps)
        coefficients = angles = keypoints = spreads = None
        if self.coefficients is not None:
            coefficients = _answers(self.coefficients, maps).tanh()
        if self.angles is not None:
            angles = _answers(self.angles, maps)
        if self.keypoints is not None:
            values = _answers(self.keypoints, maps)
            values = values.unflatten(-1, (self.config.keypoint_count, KEYPOINT_VALUES))
            keypoints, spreads = values.chunk(2, -1)
        return BranchOutputs(logits, distances, coefficients, angles, keypoints, spreads)


class DualHead(nn.Module):
    """Two branches without common weights.

    Args:
        config: task and classes.
        channels: channels of the levels.
    """

    def __init__(self, config: DetectorConfig, channels: Sequence[int]) -> None:
        super().__init__()
        self.one_to_many = Branch(config, channels)
        self.one_to_one = Branch(config, channels)
        self.one_to_many.add_task_stem(channels)
        self.one_to_one.add_task_stem(channels)

    def forward(self, maps: Sequence[Tensor]) -> tuple[BranchOutputs, BranchOutputs]:
        """Answers of the one-to-many and of the one-to-one branch."""
        return self.one_to_many(maps), self.one_to_one(maps)


def _stems(channels: Sequence[int], divisor: int, outputs: int) -> nn.ModuleList:
    return nn.ModuleList(
        _stem(width, max(_LEAST_CHANNELS, width // divisor), outputs) for width in channels
    )


def _stem(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two pairs of a depthwise 3x3 and a 1x1 convolution, then a plain 1x1 with bias."""
    return nn.Sequential(
        ConvNorm(inputs, inputs, 3, groups=inputs),
        ConvNorm(inputs, hidden),
        ConvNorm(hidden, hidden, 3, groups=hidden),
        ConvNorm(hidden, hidden),
        nn.Conv2d(hidden, outputs, 1),
    )


def _answers(stems: nn.ModuleList, maps: Sequence[Tensor]) -> Tensor:
    """(b, a, outputs): the levels one after the other, each row by row."""
    levels = [stem(values).flatten(2) for stem, values in zip(stems, maps, strict=True)]
    return torch.cat(levels, 2).transpose(1, 2)
