"""What a manager tells of its models. Holds nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inference_models.manager.statistics import DispatchStatistics
from inference_models.packages.model_config import ClassKeypoints
from inference_models.packages.tasks import Task


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known of a model without loading it.

    Attributes:
        model_id: the id it was asked for by.
        task: what it does.
        architecture: family of the network.
        backend: what runs it.
        class_names: names by class id.
        keypoints: points of each class.
        parameters: names of the parameters it takes.
        location: where its package lies.
    """

    model_id: str
    task: Task
    architecture: str
    backend: str
    class_names: tuple[str, ...]
    keypoints: tuple[ClassKeypoints, ...]
    parameters: frozenset[str]
    location: Path


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """State of one model of a manager.

    Attributes:
        model_ids: every id, path and alias it was asked for by.
        task: what it does.
        loaded: whether it is in memory.
        nbytes: bytes it is charged with, 0 when not in memory.
        in_use: calls under way.
        loads: how often it was loaded.
        statistics: what happened to its calls since it was loaded; None when it is not in memory or
            its calls never wait for each other.
    """

    model_ids: tuple[str, ...]
    task: Task
    loaded: bool
    nbytes: int
    in_use: int
    loads: int
    statistics: DispatchStatistics | None = None
