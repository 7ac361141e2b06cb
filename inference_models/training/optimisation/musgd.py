"""MuSGD: momentum whose update of matrices is partly orthogonalised.

The orthogonalisation is the Newton-Schulz iteration of Muon (arXiv 2502.16982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_EPS = 1e-7
_SCALE = 0.2


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """A matrix with the same singular vectors and singular values drawn towards 1.

    The values are not made exactly 1: they land between about 0.7 and 1.2, those of a square matrix
    that are near 0 stay small, and zeros stay zeros.

    Args:
        matrix: (rows, columns), or (n, rows, columns) for n matrices at once.
        steps: iterations.
    """
    a, b, c = _COEFFICIENTS
    values = matrix.float()
    tall = values.shape[-2] > values.shape[-1]
    if tall:
        values = values.mT
    values = values / (values.norm(dim=(-2, -1), keepdim=True) + _EPS)
    for _ in range(steps):
        gram = values @ values.mT
        if gram.dim() == 3:
            product = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
            values = torch.baddbmm(values, product, values, beta=a)
        else:
            product = torch.addmm(gram, gram, gram, beta=b, alpha=c)
            values = torch.addmm(values, product, values, beta=a)
    if tall:
        values = values.mT
    return values.to(matrix.dtype)


class MuSGD(torch.optim.Optimizer):
    """Nesterov momentum; matrices move by half of it and half of its orthogonalised form.

    Vectors and scalars move by plain Nesterov momentum without decay. Kernels count as matrices of
    their output channels. Parameters without a gradient stay untouched, their momentum included.

    Args:
        params: parameters or groups.
        lr: learning rate.
        momentum: factor of the past, 0 <= momentum < 1.
        weight_decay: added share of the weights of matrices.
        muon_gain: factor of the orthogonalised update.
        sgd_gain: factor of the plain update of matrices.
        ns_steps: Newton-Schulz iterations.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        momentum: float = 0.95,
        weight_decay: float = 5e-4,
        muon_gain: float = 0.5,
        sgd_gain: float = 0.5,
        ns_steps: int = 5,
    ) -> None:
        if lr < 0:
            raise ValueError(f"lr must be at least 0, got {lr}")
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum must be in [0, 1), got {momentum}")
        if weight_decay < 0:
            raise ValueError(f"weight_decay must be at least 0, got {weight_decay}")
        if isinstance(ns_steps, bool) or not isinstance(ns_steps, int) or ns_steps < 1:
            raise ValueError(f"ns_steps must be a whole number of at least 1, got {ns_steps!r}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "muon_gain": muon_gain,
            "sgd_gain": sgd_gain,
            "ns_steps": ns_steps,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; returns the loss of the closure where there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            live = [parameter for parameter in group["params"] if parameter.grad is not None]
            if live:
                self._step_group(group, live)
        return loss

    def _step_group(self, group: dict[str, Any], live: list[Tensor]) -> None:
        gradients = [parameter.grad for parameter in live if parameter.grad is not None]
        buffers = []
        for parameter in live:
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(parameter)
            buffers.append(state["momentum_buffer"])
        torch._foreach_mul_(buffers, group["momentum"])
        torch._foreach_add_(buffers, gradients)
        updates = list(torch._foreach_mul(buffers, group["momentum"]))
        torch._foreach_add_(updates, gradients)
        turned = _orthogonalised(live, updates, group["ns_steps"])
        for parameter, update, direction in zip(live, updates, turned, strict=True):
            if direction is not None:
                longest = max(parameter.shape[0], parameter[0].numel())
                gain = group["muon_gain"] * _SCALE * longest**0.5
                update.mul_(group["sgd_gain"]).add_(direction, alpha=gain)
                update.add_(parameter, alpha=group["weight_decay"])
            parameter.add_(update, alpha=-group["lr"])


def _orthogonalised(
    parameters: list[Tensor], updates: list[Tensor], steps: int
) -> list[Tensor | None]:
    """The orthogonalised update of each matrix, None for vectors.

    Matrices of the same shape go together: networks have many small ones, and the calls cost more
    than the arithmetic.
    """
    buckets: dict[tuple[object, ...], list[int]] = {}
    for place, update in enumerate(updates):
        if update.dim() >= 2:
            key = (update.shape[0], update[0].numel(), update.dtype, update.device)
            buckets.setdefault(key, []).append(place)
    results: list[Tensor | None] = [None] * len(updates)
    for places in buckets.values():
        stack = torch.stack([updates[place].flatten(1) for place in places])
        for place, matrix in zip(places, orthogonalise(stack, steps), strict=True):
            results[place] = matrix.reshape(parameters[place].shape)
    return results
