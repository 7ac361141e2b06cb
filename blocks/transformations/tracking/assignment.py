"""Which track gets which box. Knows no motion and no life of tracks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pairs(NamedTuple):
    """Pairs of a row and a column, and what is left over; positions, (k,) each, in order."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    free_rows: NDArray[np.intp]
    free_columns: NDArray[np.intp]


def best_pairs(gains: NDArray[np.float64], allowed: NDArray[np.bool_]) -> Pairs:
    """The allowed pairs that gain the most together; each row and column is in one pair at most.

    Args:
        gains: (n, m), what a pair gains, above 0 for allowed pairs.
        allowed: (n, m), which pairs may be made.
    """
    rows = columns = np.zeros(0, np.intp)
    if allowed.any():
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(np.where(allowed, gains, 0.0), maximize=True)
        is_pair = allowed[rows, columns]
        rows, columns = rows[is_pair], columns[is_pair]
    return Pairs(
        rows,
        columns,
        np.setdiff1d(np.arange(gains.shape[0]), rows),
        np.setdiff1d(np.arange(gains.shape[1]), columns),
    )
