"""Factors that depend on how far a training is: learning rate and weights of the branches."""

from __future__ import annotations


def learning_rate_factor(
    step: int, total_steps: int, warmup_steps: int, final_factor: float
) -> float:
    """Factor of the learning rate in a step: a linear rise, then a linear fall.

    Args:
        step: the step from 0.
        total_steps: steps of the whole training.
        warmup_steps: steps of the rise; none when 0.
        final_factor: factor in the last step.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
    return 1 - (1 - final_factor) * progress


def branch_share(epoch: float, epochs: int, initial: float = 0.8, final: float = 0.1) -> float:
    """Weight of the one-to-many branch in an epoch, falling linearly from first to last.

    Args:
        epoch: the epoch from 0; a fraction says how far it is.
        epochs: epochs of the whole training.
        initial: weight in the first epoch.
        final: weight in the last epoch.
    """
    return max(1 - epoch / max(epochs - 1, 1), 0.0) * (initial - final) + final
