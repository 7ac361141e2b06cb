"""How calls reach a loaded model. The place for queues and dynamic batching: a manager makes one
dispatcher a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from inference_models.families.parameters import InferenceParameters
from inference_models.families.pipeline import Prediction
from inference_models.manager.model import Model
from inference_models.manager.statistics import DispatchStatistics
from inference_models.preprocessing.images import ColorOrder


class Dispatcher(Protocol):
    """Takes the calls for one model and answers them."""

    def run(
        self, images: Any, parameters: InferenceParameters, color_order: ColorOrder | None
    ) -> list[Prediction]:
        """Predictions for each image of a call; called from several threads at once."""

    def statistics(self) -> DispatchStatistics | None:
        """What happened to the calls so far; None when the dispatcher does not count."""

    def close(self) -> None:
        """Ends what the dispatcher runs by itself. No call is under way and none will come."""


DispatcherFactory = Callable[[Model], Dispatcher]


class InlineDispatcher:
    """Runs each call on the thread it comes from."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def run(
        self, images: Any, parameters: InferenceParameters, color_order: ColorOrder | None
    ) -> list[Prediction]:
        """Predictions for each image of a call."""
        return self._model.infer(images, parameters, color_order)

    def statistics(self) -> None:
        """Calls that never wait are not counted."""

    def close(self) -> None:
        """There is nothing to end."""
