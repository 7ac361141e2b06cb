"""Which points a class has and where they stand in a row of raw outputs."""

from __future__ import annotations

import numpy as np

from inference_models.errors import CorruptedModelPackageError
from inference_models.families.request import ClassTable
from inference_models.packages.package import ModelPackage
from inference_models.packages.tasks import Task


class KeypointSlots:
    """The points of all classes of a model, by slot of the network's output.

    Args:
        package: its description of the points; `object_class_id` there is a class of the model.
        classes: the classes of the model.

    Attributes:
        count: slots the network answers with.
        names: for each class the names of its points by slot.
        used: (classes, slots) bool, whether a class uses a slot.

    Raises:
        CorruptedModelPackageError: a keypoint model does not describe its points.
    """

    def __init__(self, package: ModelPackage, classes: ClassTable) -> None:
        if package.task is Task.KEYPOINT_DETECTION and not package.keypoints:
            raise CorruptedModelPackageError(
                f"{package.location}: a keypoint model needs keypoints_metadata"
            )
        by_class = {one.object_class_id: one.keypoints for one in package.keypoints}
        slots = [slot for points in by_class.values() for slot in points]
        self.count = max(slots, default=-1) + 1
        self.used = np.zeros((len(classes.names), self.count), dtype=bool)
        names = []
        for class_id in range(len(classes.names)):
            points = by_class.get(class_id, {})
            self.used[class_id, list(points)] = True
            last = max(points, default=-1) + 1
            names.append(tuple(points.get(slot, "") for slot in range(last)))
        self.names = tuple(names)
