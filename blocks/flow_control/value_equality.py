"""Whether two values that travel between steps are the same. Knows no gates."""

from __future__ import annotations

from typing import Any

import numpy as np

from execution_engine.block_api import WorkflowImageData


def same_value(first: Any, second: Any) -> bool:
    """Whether two values are equal, arrays and images by content, NaN equal to NaN.

    Values whose comparison fails or gives no clear answer count as different.
    """
    if first is second:
        return True
    if first is None or second is None:
        return False
    if isinstance(first, WorkflowImageData) and isinstance(second, WorkflowImageData):
        return np.array_equal(first.numpy_image, second.numpy_image)
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return _same_array(first, second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same_value(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return (
            type(first) is type(second)
            and len(first) == len(second)
            and all(same_value(one, other) for one, other in zip(first, second, strict=True))
        )
    if isinstance(first, float) and isinstance(second, float) and first != first:
        return second != second
    return _plainly_equal(first, second)


def _same_array(first: Any, second: Any) -> bool:
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
        return False
    if first.shape != second.shape:
        return False
    numeric = first.dtype.kind in "fc" and second.dtype.kind in "fc"
    return bool(np.array_equal(first, second, equal_nan=numeric))


def _plainly_equal(first: Any, second: Any) -> bool:
    try:
        answer = first == second
        # Tensors answer element by element.
        reduce_all = getattr(answer, "all", None)
        return bool(reduce_all() if callable(reduce_all) else answer)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return False
