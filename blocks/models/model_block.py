"""What model blocks share: one call of the manager a batch, and rows that know their image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from blocks.kinds.detections.lineage import attach_lineage
from execution_engine.block_api import Batch, WorkflowBlock, WorkflowImageData
from execution_engine.errors import WorkflowEnvironmentConfigurationError

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager

LOCAL = "local"


class ModelBlock(WorkflowBlock):
    """Base of blocks that run a model.

    Args:
        model_manager: the manager that owns the models.
        api_key: key of a platform; models of this process need none.
        step_execution_mode: only `local` is served.

    Raises:
        WorkflowEnvironmentConfigurationError: another execution mode, or no manager.
    """

    returns_futures = False

    def __init__(
        self,
        model_manager: ModelManager,
        api_key: str | None = None,
        step_execution_mode: str = LOCAL,
    ) -> None:
        if step_execution_mode != LOCAL:
            raise WorkflowEnvironmentConfigurationError(
                f"The init parameter 'step_execution_mode' is {step_execution_mode!r}; this build "
                "runs models in its own process only, so it must be 'local'."
            )
        if model_manager is None:
            raise WorkflowEnvironmentConfigurationError(
                "The init parameter 'model_manager' is None; blocks that run models need one."
            )
        self._manager = model_manager
        self._api_key = api_key

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
        return self._manager.infer(model_id, [image.numpy_image for image in images], asked)


def detection_rows(
    predictions: list[Any],
    images: Batch[WorkflowImageData],
    prediction_type: str,
    *,
    with_rle: bool = False,
    model_id: str | None = None,
) -> list[dict[str, Any]]:
    """One result an image with `inference_id`, `predictions` and, when given, `model_id`.

    Args:
        predictions: what the model found, one an image.
        images: the images.
        prediction_type: such as `object-detection`.
        with_rle: give instances their COCO codes.
        model_id: the model, for blocks that report it.
    """
    rows = []
    for prediction, image in zip(predictions, images, strict=True):
        inference_id = str(uuid4())
        rle = {"with_rle": True} if with_rle else {}
        detections = attach_lineage(
            prediction.to_supervision(**rle), image, prediction_type, inference_id
        )
        row: dict[str, Any] = {"inference_id": inference_id, "predictions": detections}
        if model_id is not None:
            row["model_id"] = model_id
        rows.append(row)
    return rows
