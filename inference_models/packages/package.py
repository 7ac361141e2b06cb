"""`ModelPackage`: one loadable model on disk, completely described. Reading the description is
`loader`'s job."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from inference_models.errors import ModelNotFoundError
from inference_models.packages.model_config import (
    ClassKeypoints,
    DetectionOutputs,
    RecommendedParameters,
)
from inference_models.packages.network_config import InferenceConfig
from inference_models.packages.requirements import PackageRequirements
from inference_models.packages.tasks import Task


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """Where a model's files are and what they hold.

    Attributes:
        location: the folder or the lone file.
        weights: the file the backend opens.
        architecture: family of the network, such as `yolov8`.
        task: what it does.
        backend: name of the backend that runs the weights.
        class_names: names of the network's outputs by index, removed classes included.
        inference: description of input and raw outputs.
        outputs: names of the outputs of a detector with built-in suppression.
        keypoints: points of each class, empty for other tasks.
        recommended: thresholds the maker recommends.
        requirements: the machine it needs, and how it was made.
        model_id: the id the package gives itself.
        extra_files: the other files that define the model.
    """

    location: Path
    weights: Path
    architecture: str
    task: Task
    backend: str
    class_names: tuple[str, ...]
    inference: InferenceConfig
    outputs: DetectionOutputs | None = None
    keypoints: tuple[ClassKeypoints, ...] = ()
    recommended: RecommendedParameters = field(default_factory=RecommendedParameters)
    requirements: PackageRequirements = field(default_factory=PackageRequirements)
    model_id: str | None = None
    extra_files: tuple[Path, ...] = ()

    @property
    def removed_classes(self) -> frozenset[str]:
        """Classes of the network that are no classes of the model."""
        operations = self.inference.class_names_operations or ()
        return frozenset(operation.class_name for operation in operations)

    @property
    def nbytes(self) -> int:
        """Size of the weights and of the files that belong to them.

        Raises:
            ModelNotFoundError: a file is gone.
        """
        try:
            return sum(path.stat().st_size for path in (self.weights, *self.extra_files))
        except OSError as error:
            raise ModelNotFoundError(f"{self.location} is incomplete: {error}") from error
