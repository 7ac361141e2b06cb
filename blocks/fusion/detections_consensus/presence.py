"""Whether the objects that were asked for are there, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.fusion.detections_consensus.merging import Aggregation
from blocks.kinds.detections import keys

if TYPE_CHECKING:
    import supervision as sv

_REDUCERS: dict[str, Callable[[Any], Any]] = {"average": np.mean, "max": np.max, "min": np.min}


def presence(
    detections: sv.Detections,
    required_objects: int | Mapping[str, int] | None,
    class_aware: bool,
    aggregation: Aggregation,
) -> tuple[bool, dict[str, float]]:
    """Whether enough objects are there, and a confidence a class (or of `any_object`).

    Args:
        detections: what sources agree on.
        required_objects: how many objects there must be, in all or of each named class; at least
            one object when None.
        class_aware: without it numbers of classes are added up, and one confidence is given.
        aggregation: how the confidences of several objects become one.

    Returns:
        False and no confidence when there are too few objects or none at all.
    """
    if len(detections) == 0:
        return False, {}
    if isinstance(required_objects, Mapping) and not class_aware:
        required_objects = sum(required_objects.values())
    names = [str(name) for name in detections.data[keys.CLASS_NAME]]
    if isinstance(required_objects, Mapping):
        if any(names.count(name) < least for name, least in required_objects.items()):
            return False, {}
    elif len(detections) < (required_objects or 0):
        return False, {}
    confidences = np.asarray(detections.confidence, dtype=np.float64)
    reduce = _REDUCERS[aggregation]
    if not class_aware:
        return True, {"any_object": float(reduce(confidences))}
    of_class = np.array(names)
    return True, {
        name: float(reduce(confidences[of_class == name])) for name in dict.fromkeys(names)
    }
