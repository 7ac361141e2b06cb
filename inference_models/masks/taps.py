"""Interpolation weights of one axis: bilinear, half-pixel centres, antialiased where the axis
shrinks.

The weights are those of `torch.nn.functional.interpolate(mode="bilinear", antialias=True,
align_corners=False)` for float32 input, bit by bit: every step is done in float32 in the same
order. Nothing here touches mask values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class AxisTaps:
    """How the samples of one axis make up its outputs.

    Attributes:
        source: number of samples.
        target: number of outputs.
        weights: (target, k) float32; `weights[i, t]` belongs to sample `low[i] + t`.
        low: (target,) sample of the first weight.
        first, last: (target,) lowest and highest sample with a weight that is not zero, both
            non-decreasing.
    """

    source: int
    target: int
    weights: npt.NDArray[np.float32]
    low: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]

    def interpolate(
        self,
        samples: npt.NDArray[np.float32],
        first_sample: int,
        begin: int,
        end: int,
        out: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        """The outputs begin..end (exclusive) of many lines at once.

        Weighted samples are added one by one with a single rounding each, as fused multiply-adds
        do: the product and the sum are exact in float64, then rounded to float32.

        Args:
            samples: (s, m) samples `first_sample` and following of m lines; all that these outputs
                give weight to.
            first_sample: number of the first of them.
            begin, end: range of outputs.
            out: (end - begin, m) to write to; a new array when None.

        Returns:
            (end - begin, m) float32.
        """
        if self.source == self.target:
            same = samples[begin - first_sample : end - first_sample]
            if out is None:
                return same.astype(np.float32)
            out[...] = same
            return out
        weights = self.weights[begin:end]
        place = self.low[begin:end] - first_sample
        # Samples without weight may lie beyond those given; any number then does in their place.
        result = samples.take(place, axis=0, out=out, mode="clip")
        result *= weights[:, :1]
        exact = samples.astype(np.float64)
        for tap in range(1, weights.shape[1]):
            term = exact.take(place + tap, axis=0, mode="clip")
            term *= weights[:, tap : tap + 1]
            term += result
            result[...] = term
        return result

    def matrix(self) -> npt.NDArray[np.float32]:
        """The weights as a (target, source) matrix."""
        matrix = np.zeros((self.target, self.source), np.float32)
        outputs = np.arange(self.target)
        for tap in range(self.weights.shape[1]):
            inside = self.low + tap < self.source
            matrix[outputs[inside], self.low[inside] + tap] = self.weights[inside, tap]
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The outputs of an axis that does not shrink, grouped by the pair of samples they lie between.

    Segment j holds the outputs between samples j - 1 and j; segment 0 and segment `source` lie
    outside of the samples and hold none. Outputs outside of the first and last sample centre belong
    to the nearest inner segment.

    Attributes:
        begin, end: (source + 1,) half-open range of outputs of each segment.
        weight_low, weight_high: (target,) float32 weights of the two samples of an output's
            segment.
        spacing: samples per output.
    """

    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    weight_low: npt.NDArray[np.float32]
    weight_high: npt.NDArray[np.float32]
    spacing: float


def axis_taps(source: int, target: int) -> AxisTaps:
    """The weights that turn `source` samples into `target` outputs."""
    scale = np.float32(source) / np.float32(target)
    support = scale if scale >= 1 else np.float32(1)
    inverse = np.float32(1) / scale if scale >= 1 else np.float32(1)
    half = np.float32(0.5)
    centres = scale * (np.arange(target, dtype=np.float32) + half)
    low = np.maximum((centres - support + half).astype(np.int64), 0)
    count = np.minimum((centres + support + half).astype(np.int64), source) - low
    taps = np.arange(int(count.max()))
    distance = ((taps + low[:, None]).astype(np.float32) - centres[:, None] + half) * inverse
    weights = np.maximum(np.float32(1) - np.abs(distance), np.float32(0))
    weights[taps >= count[:, None]] = 0
    total = np.zeros(target, np.float32)
    for tap in taps:
        total += weights[:, tap]
    weights /= total[:, None]
    used = weights != 0
    first = low + used.argmax(axis=1)
    last = low + len(taps) - 1 - used[:, ::-1].argmax(axis=1)
    return AxisTaps(source, target, weights, low, first, last)


def axis_segments(taps: AxisTaps) -> Segments:
    """The segments of an axis with `target >= source`; every output then has at most two
    neighbouring samples."""
    source, target = taps.source, taps.target
    # A single sample leaves nothing to lie between: all outputs then repeat it.
    low = np.minimum(taps.first, max(source - 2, 0))
    begin = np.searchsorted(low, np.arange(-1, source))
    end = np.searchsorted(low, np.arange(-1, source), side="right")
    begin[0] = end[0] = 0
    begin[source] = end[source] = target
    outputs = np.arange(target)
    # An output exactly on a sample may keep that sample's weight in its second place: look both up
    # by sample.
    padded = np.zeros((target, taps.weights.shape[1] + 2), np.float32)
    padded[:, 1:-1] = taps.weights
    place = low - taps.low + 1
    return Segments(begin, end, padded[outputs, place], padded[outputs, place + 1], source / target)
