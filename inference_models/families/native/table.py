"""What the native detector's packages are called and how the one pipeline reads their outputs. Data
only, no torch.

`graphs` writes the rows these families describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from inference_models.errors import ModelImplementationNotFoundError
from inference_models.families.descriptor import Family, MaskRule
from inference_models.families.native.config import TASKS, BranchName, DetectorTask
from inference_models.packages.tasks import Task

# Final rows of the one-to-one branch; every anchor of the one-to-many branch.
END_TO_END = "native"
ONE_TO_MANY = "native-one-to-many"
BRANCH_OF_ARCHITECTURE: Mapping[str, BranchName] = MappingProxyType(
    {END_TO_END: "one_to_one", ONE_TO_MANY: "one_to_many"}
)

# The name of the task of rotated boxes; packages of it load once the tasks of models have it.
ORIENTED_TASK = "oriented-object-detection"
_TASK_NAMES: Mapping[DetectorTask, str] = MappingProxyType(
    {
        "detect": Task.OBJECT_DETECTION.value,
        "segment": Task.INSTANCE_SEGMENTATION.value,
        "oriented": ORIENTED_TASK,
        "pose": Task.KEYPOINT_DETECTION.value,
    }
)
_POINT_VALUES = 3

# Probabilities are enlarged, not logits, as in the scoring of the training.
_MASK = MaskRule("protos", "sigmoid", threshold=0.5, cut_to_box=True)


def has_package_task(task: DetectorTask) -> bool:
    """Whether packages can declare a task."""
    return _TASK_NAMES[task] in set(Task)


def package_task(task: DetectorTask) -> Task:
    """The task a package of a native detector declares.

    Raises:
        ModelImplementationNotFoundError: packages cannot declare this task.
    """
    name = _TASK_NAMES[task]
    if not has_package_task(task):
        raise ModelImplementationNotFoundError(
            f'no package can hold a native detector of the task "{task}": models have no task '
            f'"{name}", they have {", ".join(Task)}'
        )
    return Task(name)


def _families() -> Iterator[Family]:
    for architecture, branch in BRANCH_OF_ARCHITECTURE.items():
        for task in TASKS:
            # Nothing suppresses rotated boxes, so they come from the one-to-one branch only.
            if has_package_task(task) and (task, branch) != ("oriented", "one_to_many"):
                yield _family(architecture, branch, package_task(task))


def _family(architecture: str, branch: BranchName, task: Task) -> Family:
    final = branch == "one_to_one"
    segments = task is Task.INSTANCE_SEGMENTATION
    return Family(
        (architecture,),
        task,
        {"predictions": 0, "protos": 1} if segments else {"predictions": 0},
        layout="rows",
        box_format="xyxy",
        score_rule="row" if final else "best-class",
        suppression="none" if final else "nms",
        mask=_MASK if segments else None,
        point_values=_POINT_VALUES if task is Task.KEYPOINT_DETECTION else 0,
    )


NATIVE_FAMILIES: tuple[Family, ...] = tuple(_families())
