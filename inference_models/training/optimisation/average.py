"""Exponential moving average of a model's weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class WeightAverage:
    """A slow copy of all floating parameters and buffers of a model.

    The decay starts small, decay * (1 - exp(-updates / warmup)), so that the average does not
    remember the first weights for long.

    Args:
        model: the model to follow; its state dict's names are used.
        decay: greatest decay.
        warmup: updates after which the decay is 63 % of it.
    """

    def __init__(self, model: nn.Module, decay: float = 0.9999, warmup: float = 2000.0) -> None:
        self.decay = decay
        self.warmup = warmup
        self.updates = 0
        self.shadow = {name: value.detach().clone() for name, value in _floating(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Moves the average towards the model's weights."""
        self.updates += 1
        decay = self.decay * (1 - math.exp(-self.updates / self.warmup))
        live = _floating(model)
        shadow = list(self.shadow.values())
        torch._foreach_lerp_(shadow, [live[name] for name in self.shadow], 1 - decay)

    @contextmanager
    def applied_to(self, model: nn.Module) -> Iterator[None]:
        """The model has the averaged weights inside the block and its own again behind it."""
        live = {name: value.detach().clone() for name, value in _floating(model).items()}
        self._copy(self.shadow, model)
        try:
            yield
        finally:
            self._copy(live, model)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on."""
        return {"shadow": self.shadow, "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes up a saved state.

        Raises:
            ValueError: it has other names than the model.
        """
        if state["shadow"].keys() != self.shadow.keys():
            raise ValueError("the averaged weights are those of another model")
        for name, value in state["shadow"].items():
            self.shadow[name].copy_(value)
        self.updates = int(state["updates"])

    @staticmethod
    @torch.no_grad()
    def _copy(values: Mapping[str, Tensor], model: nn.Module) -> None:
        live = _floating(model)
        for name, value in values.items():
            live[name].copy_(value)


def _floating(model: nn.Module) -> dict[str, Tensor]:
    state = model.state_dict(keep_vars=False)
    return {name: value for name, value in state.items() if value.is_floating_point()}
