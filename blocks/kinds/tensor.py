"""The codec of torch tensors as values of a workflow. Imports torch only to make one."""

from __future__ import annotations

from typing import Any

import numpy as np

from execution_engine.kinds.codec import DecodingContext, KindCodec
from execution_engine.kinds.json_form import json_form


class TensorCodec(KindCodec):
    """A tensor, written as nested lists."""

    kind = "tensor"
    python_type = "torch.Tensor"

    def serialise(self, value: Any) -> Any:
        """Nested lists of numbers, null for those that are none; raises `TypeError` for anything
        but a tensor of real numbers.
        """
        if not hasattr(value, "detach"):
            raise TypeError(f"a tensor was expected, got {type(value).__name__}")
        # Over lists, since numpy lacks some types of torch.
        return json_form(np.asarray(value.detach().cpu().tolist()))

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> Any:
        """A CPU tensor from nested lists of one shape, a tensor as given.

        Raises:
            ValueError: the value is neither.
            ImportError: torch is not installed.
        """
        if hasattr(value, "detach"):
            return value
        if not isinstance(value, (list, tuple)):
            raise ValueError(
                f"`{name}` must be nested lists of numbers, got {type(value).__name__}"
            )
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                f"`{name}` is a tensor and needs torch: pip install weftlens[torch]"
            ) from error
        try:
            return torch.tensor(value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"`{name}` must be nested lists of one shape: {error}") from error

    def copy(self, value: Any) -> Any:
        """A tensor with memory of its own."""
        return value.clone()
