"""Copies of values for blocks that declare that they write in place. Knows no prediction type."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from execution_engine.block_api.batch import Batch
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry


def private_copy(value: Any, codecs: CodecRegistry) -> Any:
    """A copy of a value that a block may write to: images, arrays, predictions and containers of
    them.
    """
    if value is None:
        return None
    if isinstance(value, WorkflowImageData):
        return value.writable_copy()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Batch):
        return Batch([private_copy(item, codecs) for item in value], lambda: value.indices)
    if isinstance(value, list):
        return [private_copy(item, codecs) for item in value]
    if isinstance(value, Mapping):
        return {key: private_copy(item, codecs) for key, item in value.items()}
    codec = codecs.for_value(value)
    if codec is not None and codec.offers("copy"):
        return codec.copy(value)
    return copy.deepcopy(value)
