"""The building blocks of the native detector: convolutions, bottlenecks, pooling and attention.
Knows no levels and no tasks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

# Channels of one attention head.
_HEAD_CHANNELS = 64
UnitFactory = Callable[[int], nn.Module]


class ConvNorm(nn.Module):
    """A convolution without bias, batch normalisation, and SiLU unless it is linear.

    Padding keeps the size at stride 1.

    Args:
        inputs: channels in.
        outputs: channels out.
        kernel: side of the kernel, odd.
        stride: step.
        groups: groups of channels; `inputs` for a depthwise convolution.
        linear: whether there is no activation.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        linear: bool = False,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False
        )
        self.norm: nn.Module | None = nn.BatchNorm2d(outputs)
        self.act = nn.Identity() if linear else nn.SiLU()

    def forward(self, images: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h / stride, w / stride)."""
        values = self.conv(images)
        if self.norm is not None:
            values = self.norm(values)
        activated: Tensor = self.act(values)
        return activated

    def fold_norm(self) -> None:
        """Moves the normalisation's running statistics into the convolution; inference only.

        Computed in double precision, so the fused network answers as the one it was made from does
        in evaluation mode, up to rounding.
        """
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm2d):
            return
        conv = self.conv
        assert norm.running_mean is not None
        assert norm.running_var is not None
        gain = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        weight = conv.weight.double() * gain.reshape(-1, 1, 1, 1)
        bias = norm.bias.double() - norm.running_mean.double() * gain
        conv.weight = nn.Parameter(weight.to(conv.weight.dtype), requires_grad=False)
        conv.bias = nn.Parameter(bias.to(conv.weight.dtype), requires_grad=False)
        self.norm = None


class Bottleneck(nn.Module):
    """Two 3x3 convolutions, added to the input where the channels allow it."""

    def __init__(self, inputs: int, outputs: int, expansion: float = 0.5) -> None:
        super().__init__()
        hidden = int(outputs * expansion)
        self.reduce = ConvNorm(inputs, hidden, 3)
        self.restore = ConvNorm(hidden, outputs, 3)
        self.residual = inputs == outputs

    def forward(self, values: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h, w)."""
        result: Tensor = self.restore(self.reduce(values))
        return values + result if self.residual else result


class CrossStage(nn.Module):
    """Bottlenecks on one of two 1x1 projections, both joined by a third.

    Args:
        inputs: channels in.
        outputs: channels out.
        repeats: bottlenecks.
    """

    def __init__(self, inputs: int, outputs: int, repeats: int) -> None:
        super().__init__()
        hidden = outputs // 2
        self.deep = ConvNorm(inputs, hidden)
        self.shallow = ConvNorm(inputs, hidden)
        self.join = ConvNorm(2 * hidden, outputs)
        self.units = nn.Sequential(*(Bottleneck(hidden, hidden, 1.0) for _ in range(repeats)))

    def forward(self, values: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h, w)."""
        parts = [self.units(self.deep(values)), self.shallow(values)]
        joined: Tensor = self.join(torch.cat(parts, 1))
        return joined


def bottleneck_unit(channels: int) -> nn.Module:
    """The plain unit of a split stage."""
    return Bottleneck(channels, channels, 1.0)


def cross_stage_unit(channels: int) -> nn.Module:
    """The deeper unit of a split stage."""
    return CrossStage(channels, channels, 1)


def attention_unit(channels: int) -> nn.Module:
    """The unit of the neck's last stage."""
    return nn.Sequential(CrossStage(channels, channels, 2), AttentionBlock(channels))


class SplitStage(nn.Module):
    """A chain of units on half of a projection; every intermediate result reaches the output.

    Args:
        inputs: channels in.
        outputs: channels out.
        repeats: units in the chain.
        expansion: channels of the chain per output channel.
        unit: makes a unit of so many channels.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        repeats: int,
        expansion: float = 0.5,
        unit: UnitFactory = bottleneck_unit,
    ) -> None:
        super().__init__()
        hidden = int(outputs * expansion)
        self.split = ConvNorm(inputs, 2 * hidden)
        self.join = ConvNorm((2 + repeats) * hidden, outputs)
        self.units = nn.ModuleList(unit(hidden) for _ in range(repeats))

    def forward(self, values: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h, w)."""
        parts = list(self.split(values).chunk(2, 1))
        for unit in self.units:
            parts.append(unit(parts[-1]))
        joined: Tensor = self.join(torch.cat(parts, 1))
        return joined


class PyramidPooling(nn.Module):
    """Three chained 5x5 max-poolings side by side, added to the input where the channels allow
    it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        hidden = inputs // 2
        self.reduce = ConvNorm(inputs, hidden)
        self.join = ConvNorm(4 * hidden, outputs)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.residual = inputs == outputs

    def forward(self, values: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h, w)."""
        parts = [self.reduce(values)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        joined: Tensor = self.join(torch.cat(parts, 1))
        return values + joined if self.residual else joined


class SpatialAttention(nn.Module):
    """Self-attention over all positions of a map, with a depthwise convolution of the values as
    position encoding."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.heads = max(1, channels // _HEAD_CHANNELS)
        self.value_channels = channels // self.heads
        self.key_channels = self.value_channels // 2
        self.factor = self.key_channels**-0.5
        per_head = 2 * self.key_channels + self.value_channels
        self.query_key_value = ConvNorm(channels, self.heads * per_head, linear=True)
        self.position = ConvNorm(channels, channels, 3, groups=channels, linear=True)
        self.project = ConvNorm(channels, channels, linear=True)

    def forward(self, values: Tensor) -> Tensor:
        """(b, channels, h, w) to the same shape; time and memory grow with (h * w) squared."""
        batch, channels, height, width = values.shape
        mixed = self.query_key_value(values)
        mixed = mixed.reshape(batch, self.heads, mixed.shape[1] // self.heads, height * width)
        query, key, value = mixed.split(
            [self.key_channels, self.key_channels, self.value_channels], 2
        )
        weights = (query.transpose(2, 3) @ key * self.factor).softmax(-1)
        attended = (value @ weights.transpose(2, 3)).reshape(batch, channels, height, width)
        position = self.position(value.reshape(batch, channels, height, width))
        result: Tensor = self.project(attended + position)
        return result


class AttentionBlock(nn.Module):
    """Attention and a two-layer mixing of channels, each added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.attention = SpatialAttention(channels)
        self.mix = nn.Sequential(
            ConvNorm(channels, 2 * channels), ConvNorm(2 * channels, channels, linear=True)
        )

    def forward(self, values: Tensor) -> Tensor:
        """(b, channels, h, w) to the same shape."""
        values = values + self.attention(values)
        result: Tensor = values + self.mix(values)
        return result


class AttentionStage(nn.Module):
    """Attention blocks on half of a projection.

    Args:
        channels: channels in and out.
        repeats: attention blocks.
    """

    def __init__(self, channels: int, repeats: int) -> None:
        super().__init__()
        hidden = channels // 2
        self.split = ConvNorm(channels, 2 * hidden)
        self.join = ConvNorm(2 * hidden, channels)
        self.units = nn.Sequential(*(AttentionBlock(hidden) for _ in range(repeats)))

    def forward(self, values: Tensor) -> Tensor:
        """(b, channels, h, w) to the same shape."""
        kept, attended = self.split(values).chunk(2, 1)
        joined: Tensor = self.join(torch.cat([kept, self.units(attended)], 1))
        return joined
