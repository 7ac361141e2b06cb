"""Keypoints of detections by joint, with the joints that are missing. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.visualizations.drawable import FARTHEST
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

MOST_JOINTS = 4096
COCO_JOINTS = (
    "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder",
    "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee",
    "right_knee", "left_ankle", "right_ankle",
)  # fmt: skip

Slots = dict[int, tuple[str, float, float]]
"""Name, x and y of the joints of one instance by joint id."""


@dataclass(frozen=True, slots=True)
class Joints:
    """The joints of all instances of one class.

    Attributes:
        xy: (n, k, 2) px, joint j at place j; 0 where it is missing.
        present: (n, k).
        names: k names, empty for joints that no instance has.
    """

    xy: NDArray[np.float64]
    present: NDArray[np.bool_]
    names: list[str]

    def key_points(self) -> sv.KeyPoints:
        """The joints as annotators take them."""
        import supervision as sv

        return sv.KeyPoints(xy=self.xy.astype(np.float32), visible=self.present)


def joints_by_class(detections: sv.Detections, at_least: int = 0) -> Iterator[Joints]:
    """The joints of each class of detections.

    A joint is known by its class id, not by its place in the list: models leave out joints that
    they do not see. It is missing when it is not in the list, when a coordinate is no finite
    number, or at (0, 0), which is how models mark joints that they did not find.

    Args:
        detections: n rows, n > 0, with the keypoint columns of `keys.py`.
        at_least: smallest number of joints.

    Raises:
        ValueError: the detections have no keypoints, or an id is too large to be one of a joint.
    """
    columns = [
        detections.data.get(key)
        for key in (keys.KEYPOINTS_CLASS_ID, keys.KEYPOINTS_CLASS_NAME, keys.KEYPOINTS_XY)
    ]
    if any(column is None for column in columns):
        raise InvalidFieldValueError(
            "Field `predictions` must have keypoints (columns keypoints_xy, keypoints_class_id and "
            f"keypoints_class_name), got the columns {sorted(detections.data)}."
        )
    instances = [_slots(*row) for row in zip(*columns, strict=True)]
    classes = detections.class_id
    if classes is None:
        classes = np.zeros(len(detections), np.int64)
    for class_id in np.unique(classes):
        yield _joints([instances[row] for row in np.flatnonzero(classes == class_id)], at_least)


def _slots(ids: Any, names: Any, points: Any) -> Slots:
    # Slots without a name are padding.
    return {
        int(joint): (str(name), float(point[0]), float(point[1]))
        for joint, name, point in zip(ids, names, points, strict=True)
        if name and joint >= 0
    }


def _joints(instances: list[Slots], at_least: int) -> Joints:
    names: dict[int, str] = {}
    for slots in instances:
        for joint, (name, _, _) in slots.items():
            names.setdefault(joint, name)
    count = max(at_least, 1 + max(names, default=-1))
    if count > MOST_JOINTS:
        raise InvalidFieldValueError(
            f"Field `predictions`: keypoint class ids must lie below {MOST_JOINTS}, "
            f"got {count - 1}."
        )
    if names and {_plain(name) for name in names.values()} <= _COCO:
        # That no instance shows its last joints does not make the skeleton another one.
        count = max(count, len(COCO_JOINTS))
    xy = np.zeros((len(instances), count, 2))
    for row, slots in enumerate(instances):
        for joint, (_, x, y) in slots.items():
            xy[row, joint] = x, y
    present = np.isfinite(xy).all(axis=2) & (xy != 0).any(axis=2)
    xy[~present] = 0.0
    np.clip(xy, -FARTHEST, FARTHEST, out=xy)
    return Joints(xy, present, [names.get(joint, "") for joint in range(count)])


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


_COCO = frozenset(COCO_JOINTS)
