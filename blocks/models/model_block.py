"""What model blocks share: one call of the manager a batch, and rows that know their image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from blocks.kinds.detections.lineage import attach_lineage
from blocks.kinds.tensor_predictions.forms import reported_keypoints
from blocks.models.classification_rows import Classified
from execution_engine.block_api import Batch, WorkflowBlock, WorkflowImageData
from execution_engine.errors import WorkflowEnvironmentConfigurationError

if TYPE_CHECKING:
    import supervision as sv

Placed = Callable[[Any, WorkflowImageData, str, str, bool], Any]
LOCAL = "local"
REMOTE = "remote"


class ModelSource(Protocol):
    """What blocks ask of a model manager, or of the models of a server that stand in for one.

    One whose models run elsewhere says so by an attribute `execution_mode` that is `remote`.
    """

    def package(self, model_id: str) -> Any:
        """What is known of a model; its `task` says what it does."""

    def infer(self, model_id: str, images: Any, params: Mapping[str, Any]) -> list[Any]:
        """Predictions of a model, one an image."""


class ModelBlock(WorkflowBlock):
    """Base of blocks that run a model.

    Args:
        model_manager: the manager that owns the models.
        api_key: accepted since hosts of other engines give it; neither models of this process nor
            those of a server take it from here.
        step_execution_mode: `local` for models of this process, `remote` for those of a server;
            must be what `model_manager` does.

    Raises:
        WorkflowEnvironmentConfigurationError: no manager, or it runs models elsewhere than the
            execution mode says.
    """

    returns_futures = False

    def __init__(
        self,
        model_manager: ModelSource,
        api_key: str | None = None,
        step_execution_mode: str = LOCAL,
    ) -> None:
        if step_execution_mode not in (LOCAL, REMOTE):
            raise WorkflowEnvironmentConfigurationError(
                f"The init parameter 'step_execution_mode' is {step_execution_mode!r}; it must be "
                "'local' or 'remote'."
            )
        if model_manager is None:
            raise WorkflowEnvironmentConfigurationError(
                "The init parameter 'model_manager' is None; blocks that run models need one."
            )
        place = getattr(model_manager, "execution_mode", LOCAL)
        if place != step_execution_mode:
            raise WorkflowEnvironmentConfigurationError(
                f"The init parameter 'step_execution_mode' is {step_execution_mode!r}, but the "
                f"models of 'model_manager' are {place}. For models of a server, name the server "
                "in the settings (remote_server), or give the models of a RemoteServer."
            )
        self._manager = model_manager

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        """The manager and what says where models run."""
        return ["model_manager", "api_key", "step_execution_mode"]

    def infer(
        self,
        model_id: str,
        images: Batch[WorkflowImageData],
        parameters: Mapping[str, Any],
        task: str,
    ) -> list[Any]:
        """Predictions of the model, one an image.

        Args:
            model_id: the model.
            images: the batch.
            parameters: names and values; None means that nothing is asked for.
            task: task the model must do, such as `object-detection`.

        Raises:
            ValueError: the model does another task; errors of the manager pass through.
        """
        found = self._manager.package(model_id).task
        if found != task:
            raise ValueError(
                f"Field `model_id`: model '{model_id}' does {found.replace('-', ' ')}; this block "
                f"needs a model that does {task.replace('-', ' ')}."
            )
        asked = {name: value for name, value in parameters.items() if value is not None}
        return self._manager.infer(model_id, [self.pixels(image) for image in images], asked)

    def pixels(self, image: WorkflowImageData) -> Any:
        """An image as this block hands it to the model."""
        return image.numpy_image

    def placed(
        self,
        prediction: Any,
        image: WorkflowImageData,
        prediction_type: str,
        inference_id: str,
        with_rle: bool,
    ) -> Any:
        """What the model found on an image as it travels in a workflow, with its lineage."""
        return placed_detections(prediction, image, prediction_type, inference_id, with_rle)

    def classified(self, row: Classified) -> Any:
        """A classification as it travels in a workflow."""
        return row.dictionary()


def placed_detections(
    prediction: Any,
    image: WorkflowImageData,
    prediction_type: str,
    inference_id: str,
    with_rle: bool,
) -> sv.Detections:
    """What a model found on an image, as detections with their lineage."""
    if hasattr(prediction, "keypoint_confidence"):
        detections = reported_keypoints(prediction)
    else:
        rle = {"with_rle": True} if with_rle else {}
        detections = prediction.to_supervision(**rle)
    return attach_lineage(detections, image, prediction_type, inference_id)


def detection_rows(
    predictions: list[Any],
    images: Batch[WorkflowImageData],
    prediction_type: str,
    *,
    with_rle: bool = False,
    model_id: str | None = None,
    placed: Placed = placed_detections,
) -> list[dict[str, Any]]:
    """One result an image with `inference_id`, `predictions` and, when given, `model_id`.

    Args:
        predictions: what the model found, one an image.
        images: the images.
        prediction_type: such as `object-detection`.
        with_rle: give instances their COCO codes.
        model_id: the model, for blocks that report it.
        placed: makes what travels of what the model found on an image.
    """
    rows = []
    for prediction, image in zip(predictions, images, strict=True):
        inference_id = str(uuid4())
        found = placed(prediction, image, prediction_type, inference_id, with_rle)
        row: dict[str, Any] = {"inference_id": inference_id, "predictions": found}
        if model_id is not None:
            row["model_id"] = model_id
        rows.append(row)
    return rows
