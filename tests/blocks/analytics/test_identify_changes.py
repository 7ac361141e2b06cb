"""`identify_changes@v1`."""

from __future__ import annotations

import json
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from blocks.analytics.identify_changes.v1 import IdentifyChangesBlockV1
from execution_engine.errors import InvalidFieldValueError

EMA, SMA, WINDOW = (
    "Exponential Moving Average (EMA)", "Simple Moving Average (SMA)", "Sliding Window",
)  # fmt: skip
STRATEGIES = [EMA, SMA, WINDOW]


def feed(
    embeddings: Any,
    strategy: str = EMA,
    threshold: Any = 0.2,
    warmup: Any = 3,
    smoothing: Any = 0.1,
    window: Any = 10,
    block: IdentifyChangesBlockV1 | None = None,
) -> list[dict[str, Any]]:
    block = block or IdentifyChangesBlockV1()
    return [
        dict(block.run(strategy, item, threshold, warmup, smoothing, window))  # type: ignore[arg-type]
        for item in embeddings
    ]


def units(count: int, seed: int = 4) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(1, 0.3, (count, 5))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


class TestAverages:
    def test_exponential(self) -> None:
        """As the recurrence says, written out."""
        vectors = units(12)
        got = feed(vectors.tolist(), smoothing=0.25)
        mean, variance = vectors[0], np.zeros(5)
        for vector, row in zip(vectors[1:], got[1:], strict=True):
            mean = 0.75 * mean + 0.25 * vector
            variance = 0.75 * variance + 0.25 * (vector - mean) ** 2
            assert row["average"] == pytest.approx(mean.tolist())
            assert row["std"] == pytest.approx(np.sqrt(variance).tolist())

    def test_simple(self) -> None:
        """As NumPy says of all embeddings so far."""
        vectors = units(12)
        for end, row in enumerate(feed(vectors.tolist(), SMA), 1):
            assert row["average"] == pytest.approx(vectors[:end].mean(axis=0).tolist())
            spread = vectors[:end].std(axis=0, ddof=1 if end > 1 else 0)
            assert row["std"] == pytest.approx(spread.tolist(), abs=1e-12)

    def test_sliding(self) -> None:
        """As NumPy says of the last embeddings, the first one included."""
        vectors = units(12)
        for end, row in enumerate(feed(vectors.tolist(), WINDOW, window=4), 1):
            last = vectors[max(0, end - 4) : end]
            assert row["average"] == pytest.approx(last.mean(axis=0).tolist())
            assert row["std"] == pytest.approx(last.std(axis=0).tolist(), abs=1e-12)

    def test_length_does_not_count(self) -> None:
        """Embeddings are taken at length 1."""
        first = feed([[3, 4], [30, 40], [0, 2]])
        assert first[0]["average"] == [0.6, 0.8]
        assert first[1]["average"] == pytest.approx([0.6, 0.8])
        other = feed([[0.6, 0.8], [0.6, 0.8], [0, 1]])
        for key in ("average", "std", "percentile"):
            assert other[-1][key] == pytest.approx(first[-1][key])


class TestScores:
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_first_ones(self, strategy: str) -> None:
        """The first two say nothing: there is nothing, or one value, to compare with."""
        for row in feed([[1, 0], [0, 1]], strategy, warmup=0):
            assert (row["z_score"], row["percentile"], row["is_outlier"]) == (0.0, 0.5, False)

    def test_exponential(self) -> None:
        """Cosines to the average before, scored by their own exponential moments."""
        vectors = units(9)
        got = feed(vectors.tolist())
        average, mean, variance = vectors[0], 0.0, 0.0
        for place, (vector, row) in enumerate(zip(vectors[1:], got[1:], strict=True)):
            value = cosine(vector, average)
            mean = value if place == 0 else 0.9 * mean + 0.1 * value
            variance = 0.9 * variance + 0.1 * (value - mean) ** 2
            expected = (value - mean) / math.sqrt(variance) if place else 0.0
            assert row["z_score"] == pytest.approx(expected)
            assert row["percentile"] == pytest.approx(1 - NormalDist().cdf(expected))
            average = 0.9 * average + 0.1 * vector

    @pytest.mark.parametrize("strategy", [SMA, WINDOW])
    def test_equal_weights(self, strategy: str) -> None:
        """Cosines scored by the moments of all, or of the last ones, each once."""
        vectors = units(15)
        got = feed(vectors.tolist(), strategy, window=6)
        cosines: list[float] = []
        for end in range(1, 15):
            before = vectors[:end] if strategy == SMA else vectors[max(0, end - 6) : end]
            cosines.append(cosine(vectors[end], before.mean(axis=0)))
            seen = cosines if strategy == SMA else cosines[-6:]
            if len(seen) == 1:
                continue
            spread = np.std(seen, ddof=1 if strategy == SMA else 0)
            assert got[end]["z_score"] == pytest.approx((cosines[-1] - np.mean(seen)) / spread)

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_change(self, strategy: str) -> None:
        """A sudden other embedding is an outlier with a high percentile; the usual ones before
        are none in most cases.
        """
        usual = np.random.default_rng(1).normal([1, 2, 3], 0.01, (40, 3)).tolist()
        got = feed([*usual, [3, -1, 0]], strategy, threshold=0.02)
        assert got[-1]["is_outlier"] is True
        assert got[-1]["percentile"] > 0.99
        assert sum(row["is_outlier"] for row in got[:-1]) < 8

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_no_change(self, strategy: str) -> None:
        """Embeddings that stay the same are never outliers, whatever rounding does."""
        base = np.random.default_rng(3).normal(size=512)
        rows = [(base * (1 + 1e-16 * i)).tolist() for i in range(60)]
        for row in feed(rows, strategy):
            assert (row["z_score"], row["percentile"], row["is_outlier"]) == (0.0, 0.5, False)

    def test_threshold(self) -> None:
        """Half of the threshold lies at either end."""
        vectors = units(30).tolist()
        for row in feed(vectors, threshold=0.4, warmup=0):
            expected = row["percentile"] <= 0.2 or row["percentile"] >= 0.8
            assert row["is_outlier"] is expected

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_zeros(self, strategy: str) -> None:
        """Zeros have no direction and agree with nothing."""
        got = feed([[0, 0], [1, 0], [0, 0], [-1, 0], [0, 0]], strategy)
        assert all(math.isfinite(row["z_score"]) for row in got)

    def test_json(self) -> None:
        """All outputs are plain JSON."""
        rows = feed(np.float32(units(5)))
        assert json.loads(json.dumps(rows)) == rows


class TestState:
    def test_warmup(self) -> None:
        """So many embeddings come first."""
        got = feed(units(6).tolist(), warmup=4, threshold=1)
        assert [row["warming_up"] for row in got] == [True] * 4 + [False] * 2
        assert [row["is_outlier"] for row in got] == [False] * 4 + [True] * 2

    def test_defaults_for_none(self) -> None:
        """Empty fields are the default weight and the longest window."""
        vectors = units(9).tolist()
        assert feed(vectors, smoothing=None) == feed(vectors, smoothing=0.1)
        assert feed(vectors, WINDOW, window=None) == feed(vectors, WINDOW, window=4096)

    def test_blocks_do_not_share(self) -> None:
        """Each step has its own history."""
        feed(units(5).tolist())
        assert feed([[1, 0]])[0]["std"] == [0, 0]

    def test_inputs_stay(self) -> None:
        """Arrays given in are neither written nor kept."""
        given = np.array([3.0, 4.0])
        block = IdentifyChangesBlockV1()
        feed([given], block=block)
        assert given.tolist() == [3.0, 4.0]
        given[:] = 0
        assert feed([[3.0, 4.0]], block=block)[0]["average"] == pytest.approx([0.6, 0.8])


class TestFields:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"strategy": "x"}, f"Field `strategy` must be one of `{EMA}`, `{SMA}`, `{WINDOW}`, "
                                "got 'x'."),
            ({"threshold": "a"}, "Field `threshold_percentile` must be a number from 0 to 1, got "
                                 "'a'."),
            ({"warmup": 1.5}, "Field `warmup` must be a whole number of at least 0, got 1.5."),
            ({"smoothing": 2}, "Field `smoothing_factor` must be a number from 0 to 1, got 2."),
            ({"window": 5000}, "Field `window_size` must be a whole number from 1 to 4096, got "
                               "5000."),
            ({"embeddings": [[1, 2], [1]]},
             "embedding must keep its length: it had 2 numbers, got 1"),
        ],
    )  # fmt: skip
    def test_refused(self, changed: dict[str, Any], message: str) -> None:
        """Bad values are refused by name."""
        with pytest.raises(InvalidFieldValueError) as error:
            feed(**{"embeddings": [[1.0, 2.0]], **changed})
        assert str(error.value) == message
