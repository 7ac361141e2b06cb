"""`cosine_similarity@v1`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.math.cosine_similarity.v1 import CosineSimilarityBlockV1


def similarity(first: Any, second: Any) -> float:
    return CosineSimilarityBlockV1().run(first, second)["similarity"]


class TestRun:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ([1.0, 2.0, 3.0], [2.0, 1.0, 0.5], 0.6415330278717847),
            ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], -1.0),
            ([1, 0], [0, 5], 0.0),
            ([3.0], [7.0], 1.0),
            ([0.0, 0.0], [1.0, 0.0], 0.0),  # no direction
            (np.float32([[1, 1]]), [1, 1], 1.0),  # a row of a model's output
            ([1e200, 1e200], [1e-200, 1e-200], 1.0),  # squares out of range
        ],
    )
    def test_table(self, first: Any, second: Any, expected: float) -> None:
        """Known angles give their cosine, as a plain float."""
        result = similarity(first, second)
        assert type(result) is float
        assert result == pytest.approx(expected)

    @given(
        st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8),
        st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8),
    )
    def test_properties(self, first: list[float], second: list[float]) -> None:
        """The result is symmetric, lies in [-1, 1] and does not depend on length."""
        size = min(len(first), len(second))
        a, b = np.array(first[:size]), np.array(second[:size])
        result = similarity(a, b)
        assert -1.0 <= result <= 1.0
        assert similarity(b, a) == pytest.approx(result)
        assert similarity(2.0 * a, b) == pytest.approx(result)

    @pytest.mark.parametrize(
        ("first", "second", "message"),
        [
            ([1, 2], [1, 2, 3], "embedding_1 of 2 and embedding_2 of 3 numbers"),
            ([], [], r"embedding_1 must be one row of numbers, got an array of shape \(0,\)"),
            ([[1, 2], [3, 4]], [1, 2], "embedding_1 must be one row"),
            (["x"], [1], "embedding_1 must be a list of numbers, got list"),
            ([1], [float("nan")], "embedding_2 holds numbers that are not finite"),
        ],
    )
    def test_bad_embeddings_are_named(self, first: Any, second: Any, message: str) -> None:
        """What cannot be compared is named with its field."""
        with pytest.raises(ValueError, match=message):
            similarity(first, second)
