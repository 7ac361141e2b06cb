"""What a native detector is made of: task, scale, classes. Plain data, so that packages and tools
read it without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Literal, get_args

from inference_models.errors import InvalidModelInitParameterError, nearest_name_hint

DetectorTask = Literal["detect", "segment", "oriented", "pose"]
TASKS: tuple[DetectorTask, ...] = get_args(DetectorTask)
BranchName = Literal["one_to_one", "one_to_many"]
BRANCHES: tuple[BranchName, ...] = get_args(BranchName)

# Downsampling of the three levels the head works on; inputs are multiples of the last.
STRIDES = (8, 16, 32)
INPUT_MULTIPLE = STRIDES[-1]
# Numbers a keypoint has in the head: x, y and how uncertain each of them is.
KEYPOINT_VALUES = 4
_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of the base architecture a model has.

    Attributes:
        depth: factor on the repeats of its stages.
        width: factor on its channels.
        max_channels: limit on the base channels before the factor.
    """

    depth: float
    width: float
    max_channels: int

    def channels(self, base: int) -> int:
        """Channels at this scale for a base width."""
        return int(min(base, self.max_channels) * self.width)

    @property
    def repeats(self) -> int:
        """Units of a stage."""
        return max(1, round(_REPEATS * self.depth))


SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        # The two below nano are for training on a CPU; the others are the published ones.
        "p": Scale(0.5, 0.125, 512),
        "t": Scale(0.5, 0.1875, 768),
        "n": Scale(0.5, 0.25, 1024),
        "s": Scale(0.5, 0.5, 1024),
        "m": Scale(0.5, 1.0, 512),
        "l": Scale(1.0, 1.0, 512),
        "x": Scale(1.0, 1.5, 512),
    }
)


@dataclass(frozen=True, slots=True)
class DetectorConfig:
    """Everything that decides the shapes of a native detector's weights.

    Attributes:
        task: `detect` for upright boxes, `segment` for boxes with masks, `oriented` for rotated
            boxes, `pose` for boxes with keypoints.
        scale: a name of `SCALES`.
        class_count: classes the head scores.
        keypoint_count: points of each object; 0 for every task but `pose`.
        mask_channels: prototype masks an instance's mask is summed from; used by `segment`.
        input_channels: channels of the image.

    Raises:
        InvalidModelInitParameterError: a value is unknown, out of range or contradicts the task.
    """

    task: DetectorTask
    scale: str
    class_count: int
    keypoint_count: int = 0
    mask_channels: int = 32
    input_channels: int = 3

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InvalidModelInitParameterError(
                f'task must be one of {", ".join(TASKS)}, got "{self.task}"',
                hint=nearest_name_hint(str(self.task), TASKS),
            )
        if self.scale not in SCALES:
            raise InvalidModelInitParameterError(
                f'scale must be one of {", ".join(SCALES)}, got "{self.scale}"'
            )
        for name in ("class_count", "mask_channels", "input_channels"):
            value = getattr(self, name)
            if not _is_count(value) or value < 1:
                raise InvalidModelInitParameterError(
                    f"{name} must be a whole number of at least 1, got {value!r}"
                )
        if not _is_count(self.keypoint_count) or (self.keypoint_count > 0) != (self.task == "pose"):
            expected = "at least 1" if self.task == "pose" else "0"
            raise InvalidModelInitParameterError(
                f'keypoint_count must be {expected} for the task "{self.task}", '
                f"got {self.keypoint_count!r}"
            )

    @property
    def widths(self) -> Scale:
        """The scale behind the name."""
        return SCALES[self.scale]

    @property
    def row_extras(self) -> int:
        """Numbers of a final row behind box, score and class."""
        if self.task == "segment":
            return self.mask_channels
        return 3 * self.keypoint_count

    def to_json(self) -> str:
        """The configuration as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> DetectorConfig:
        """The configuration that `to_json` wrote.

        Raises:
            InvalidModelInitParameterError: the text is no configuration.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InvalidModelInitParameterError(
                f"the configuration of a native detector is no JSON: {error}"
            ) from error
        known = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or not {"task", "scale", "class_count"} <= values.keys():
            raise InvalidModelInitParameterError(
                f"the configuration of a native detector must name task, scale and class_count, "
                f"got {text[:80]}"
            )
        unknown = sorted(values.keys() - known)
        if unknown:
            raise InvalidModelInitParameterError(
                f'the configuration of a native detector has no "{unknown[0]}": '
                f"expected {', '.join(sorted(known))}",
                hint=nearest_name_hint(unknown[0], known),
            )
        return cls(**values)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
