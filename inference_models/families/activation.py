"""Activations that networks leave to the post-processing."""

from __future__ import annotations

import numpy as np


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), float32, without overflow."""
    values = values.astype(np.float32)
    decay = np.exp(-np.abs(values))
    return np.where(values >= 0, np.float32(1), decay) / (1 + decay)


def softmax(values: np.ndarray) -> np.ndarray:
    """exp(x) divided by the sum of it over the last axis, float32, without overflow."""
    powers = np.exp(values.astype(np.float32) - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
