"""Optimiser, learning rate and averaged weights of the training loop."""

from __future__ import annotations

from inference_models.training.optimisation.average import WeightAverage
from inference_models.training.optimisation.musgd import MuSGD, orthogonalise
from inference_models.training.optimisation.schedule import branch_share, learning_rate_factor

__all__ = ["MuSGD", "WeightAverage", "branch_share", "learning_rate_factor", "orthogonalise"]
