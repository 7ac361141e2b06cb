"""The schema of `model_config.json`: what a package is and which of its files do what."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator

from inference_models.packages.network_config import InferenceConfig
from inference_models.packages.requirements import PackageRequirements
from inference_models.packages.tasks import Task


class RecommendedParameters(BaseModel):
    """Thresholds the maker of a model recommends; unknown keys are dropped."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    confidence: float | None = Field(default=None, ge=0, le=1)
    per_class_confidence: dict[str, Annotated[float, Field(ge=0, le=1)]] | None = Field(
        default=None, alias="perClassConfidence"
    )


class DetectionOutputs(BaseModel):
    """Which output of a graph with built-in suppression holds what.

    Attributes:
        boxes: name of the output (B, n, 4).
        scores: name of the output (B, n).
        classes: name of the output (B, n); a model of one class needs none.
        count: name of the output (B,) that says how many rows are real; all rows when None.
        box_format: order of the four numbers.
        box_unit: `network-px`, or `fraction` of the network input's sides.
        first_class_id: the number the graph gives to the first class name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    boxes: str
    scores: str
    classes: str | None = None
    count: str | None = None
    box_format: Literal["xyxy", "yxyx", "cxcywh"] = "xyxy"
    box_unit: Literal["network-px", "fraction"] = "network-px"
    first_class_id: int = 0


class KeypointEdge(BaseModel):
    """A line of the skeleton between two points, by index."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    start: int = Field(alias="from", ge=0)
    end: int = Field(alias="to", ge=0)


class ClassKeypoints(BaseModel):
    """The points of one class, by index in the network's output."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    object_class_id: int = Field(ge=0)
    keypoints: dict[int, str]
    edges: tuple[KeypointEdge, ...] = ()


class ModelConfig(PackageRequirements):
    """Content of `model_config.json`, what it says of the machine it needs included.

    `class_names`, `keypoints_metadata` and `inference_config` may stand here or in a file of their
    own beside it (`class_names.txt`, `keypoints_metadata.json`, `inference_config.json`), never in
    both places.
    """

    model_architecture: str = Field(min_length=1)
    backend_type: str = Field(min_length=1)
    task_type: Task | None = None
    model_id: str | None = None
    weights: str | None = None
    class_names: tuple[str, ...] | None = None
    keypoints_metadata: tuple[ClassKeypoints, ...] | None = None
    inference_config: InferenceConfig | None = None
    outputs: DetectionOutputs | None = None
    recommended_parameters: RecommendedParameters | None = None
    static_batch_size: PositiveInt | None = None

    @property
    def requirements(self) -> PackageRequirements:
        """What helps to choose between packages of one model."""
        return PackageRequirements(
            **{name: getattr(self, name) for name in PackageRequirements.model_fields}
        )

    @field_validator("weights")
    @classmethod
    def _stays_in_the_package(cls, value: str | None) -> str | None:
        if value is not None and (PurePath(value).name != value or value in ("", ".", "..")):
            raise ValueError(f'weights must be the name of a file in the package, got "{value}"')
        return value

    @field_validator("class_names")
    @classmethod
    def _names_are_given(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not value:
            raise ValueError("class_names is empty")
        return value
