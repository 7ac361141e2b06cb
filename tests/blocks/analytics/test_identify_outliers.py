"""`identify_outliers@v1`."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest

from blocks.analytics.identify_outliers.v1 import IdentifyOutliersBlockV1
from execution_engine.errors import InvalidFieldValueError


def feed(
    embeddings: Any,
    threshold: Any = 0.05,
    warmup: Any = 3,
    window: Any = 32,
    block: IdentifyOutliersBlockV1 | None = None,
) -> list[dict[str, Any]]:
    block = block or IdentifyOutliersBlockV1()
    return [dict(block.run(item, threshold, warmup, window)) for item in embeddings]  # type: ignore[arg-type]


def directions(*degrees: float) -> list[list[float]]:
    return [[float(np.cos(np.radians(d))), float(np.sin(np.radians(d)))] for d in degrees]


class TestPercentile:
    def test_by_hand(self) -> None:
        """Directions 0, 10, 20, 90: the mean direction is nearest to 20, and 90 is farthest."""
        got = feed(directions(0, 10, 20, 90), warmup=0)
        assert [row["percentile"] for row in got] == [0.5, 0.25, 0.5 / 3, 0.0]
        assert got[-1]["is_outlier"] is True

    def test_brute_force(self) -> None:
        """As ranks in a loop over the window, when nothing agrees exactly as much."""
        embeddings = np.random.default_rng(2).normal(1, 0.4, (60, 7))
        got = feed(embeddings.tolist(), window=20)
        for end, row in enumerate(got, 1):
            if end <= 3:
                assert row == {"is_outlier": False, "percentile": 0.5, "warming_up": True}
                continue
            units = [e / np.linalg.norm(e) for e in embeddings[max(0, end - 20) : end]]
            mean = sum(units) / np.linalg.norm(sum(units))
            worse = sum(float(u @ mean) < float(units[-1] @ mean) for u in units)
            percentile = worse / len(units)
            assert row["percentile"] == pytest.approx(percentile)
            assert row["is_outlier"] is (percentile < 0.05 or percentile > 0.95)
            assert row["warming_up"] is False

    def test_a_glaring_one(self) -> None:
        """It is found at once after the warm-up, also far from the others by length only not."""
        usual = np.random.default_rng(0).normal([5, 5, 5], 0.01, (10, 3)).tolist()
        got = feed([*usual, [-1, 0, 5]])
        assert got[-1] == {"is_outlier": True, "percentile": 0.0, "warming_up": False}

    @pytest.mark.parametrize("noise", [0, 1e-16])
    def test_all_the_same(self, noise: float) -> None:
        """Embeddings that never change have no outlier, whatever rounding does."""
        base = np.random.default_rng(3).normal(size=512)
        rows = [(base * (1 + noise * i)).tolist() for i in range(40)]
        got = feed(rows)
        assert not any(row["is_outlier"] for row in got)
        assert got[-1]["percentile"] == pytest.approx(0.5, abs=0.02)

    def test_no_direction(self) -> None:
        """Embeddings that cancel each other, or of zeros, say nothing."""
        assert feed([[1, 0], [-1, 0]], warmup=0)[-1]["percentile"] == 0.5
        assert feed([[0, 0], [0, 0]], warmup=0)[-1]["is_outlier"] is False


class TestState:
    def test_window(self) -> None:
        """Old embeddings are forgotten."""
        block = IdentifyOutliersBlockV1()
        feed(directions(*[0] * 50), window=4, block=block)
        got = feed(directions(90, 90, 90, 90, 90), window=4, block=block)
        assert got[0]["percentile"] == 0.0
        assert got[-1]["percentile"] == 0.375  # three others, all the same: 1.5 of 4
        assert len(block._window._window) == 4

    def test_no_window(self) -> None:
        """Without a window the memory is bounded all the same."""
        block = IdentifyOutliersBlockV1()
        feed([[1.0, 0.0]] * 4100, window=None, block=block)
        assert len(block._window._window) == 4096

    def test_blocks_do_not_share(self) -> None:
        """Each step has its own history."""
        first, second = IdentifyOutliersBlockV1(), IdentifyOutliersBlockV1()
        feed(directions(0, 0, 0, 0), block=first)
        assert feed(directions(90), block=second)[0]["warming_up"] is True

    def test_inputs_stay(self) -> None:
        """A later change of an array given in changes nothing inside, and it is not written."""
        given = np.array([3.0, 4.0])
        block = IdentifyOutliersBlockV1()
        feed([given], block=block)
        assert given.tolist() == [3.0, 4.0]
        given[:] = 0
        assert block._window._window[0].tolist() == [0.6, 0.8]

    def test_threads(self) -> None:
        """Calls at once lose nothing."""
        block = IdentifyOutliersBlockV1()
        threads = [Thread(target=feed, args=([[1.0, 0.0]] * 200,), kwargs={"block": block,
                   "window": None}) for _ in range(4)]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(block._window._window) == 800


class TestFields:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"threshold": 2}, "Field `threshold_percentile` must be a number from 0 to 1, got 2."),
            ({"warmup": -1}, "Field `warmup` must be a whole number of at least 0, got -1."),
            ({"window": 0}, "Field `window_size` must be a whole number from 1 to 4096, got 0."),
            ({"embeddings": ["x"]}, "embedding must be a list of numbers, got str"),
            ({"embeddings": [[1, 2], [1, 2, 3]]},
             "embedding must keep its length: it had 2 numbers, got 3"),
            ({"embeddings": [[float("inf"), 1]]}, "embedding holds numbers that are not finite"),
        ],
    )  # fmt: skip
    def test_refused(self, changed: dict[str, Any], message: str) -> None:
        """Bad values are refused by name."""
        with pytest.raises(InvalidFieldValueError) as error:
            feed(**{"embeddings": [[1.0, 2.0]], **changed})
        assert str(error.value) == message

    @pytest.mark.parametrize(("threshold", "outlier"), [(0, False), (0.3, True)])
    def test_threshold(self, threshold: float, outlier: bool) -> None:
        """The share of both ends."""
        assert feed(directions(0, 1, 2, 90), threshold)[-1]["is_outlier"] is outlier

    def test_row_of_a_model(self) -> None:
        """A (1, n) array is one embedding; one number is enough."""
        assert feed([np.float32([[1, 2]]), [1, 2]])[1]["warming_up"] is True
        assert feed([[5.0]] * 5)[-1]["is_outlier"] is False
