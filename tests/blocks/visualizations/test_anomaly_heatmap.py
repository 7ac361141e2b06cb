"""`anomaly_heatmap_visualization@v1`: scale, colours and shapes of anomaly maps."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.visualizations.anomaly_heatmap_visualization.v1 import (
    anomaly_plane,
    colour_scale,
    levels,
)
from tests.blocks.visualizations.scenes import HEIGHT, WIDTH, picture, run

PLANE = np.linspace(0, 2, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)


def colour(plane: Any = PLANE, **fields: Any) -> np.ndarray:
    inputs = {"anomaly_map": plane}
    return run("anomaly_heatmap_v1", inputs=inputs, **{"anomaly_threshold": 0.5} | fields)


class TestLevels:
    def test_scale(self) -> None:
        """0 is the beginning, the threshold the middle, the end is never passed."""
        values = np.array([-3.0, 0.0, 0.5, 1.5, 1e30], np.float32)
        assert levels(values, 0.5).tolist() == [0, 0, 128, 191, 255]


class TestAnomalyHeatmap:
    @pytest.mark.parametrize("name", ["JET", "TURBO", "INFERNO", "VIRIDIS", "HOT"])
    def test_opaque_maps(self, name: str) -> None:
        """The colours of OpenCV's map, mixed evenly with the image."""
        level = np.rint(PLANE.astype(np.float64) / (PLANE + 0.5) * 255).astype(np.uint8)
        heat = cv2.applyColorMap(level, getattr(cv2, f"COLORMAP_{name}"))
        expected = cv2.addWeighted(heat, 0.6, picture(), 0.4, 0)
        apart = np.abs(colour(color_map=name, opacity=0.6).astype(int) - expected).max(axis=2)
        # A value between two levels may fall to either.
        assert (apart <= 1).mean() > 0.999

    def test_fading_map(self) -> None:
        """ROBOFLOW leaves parts without anomaly clear, and ends in red."""
        result = colour(np.zeros((4, 4)), opacity=1.0)
        assert (result == picture()).all()
        assert colour(np.full((4, 4), 1e9), opacity=1.0)[5, 5].tolist() == [0, 0, 255]
        colours, shares = colour_scale("ROBOFLOW")
        assert colours[0].tolist() == [0, 255, 255]
        assert (np.diff(shares) >= 0).all()

    def test_stretched(self) -> None:
        """A map of any resolution covers the whole image."""
        coarse = np.zeros((2, 2))
        coarse[:, 1] = 9.0
        changed = (colour(coarse) != picture()).any(axis=(0, 2))
        assert not changed[: WIDTH // 4].any()
        assert changed[3 * WIDTH // 4 :].all()

    @pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan"), float("inf")])
    def test_threshold(self, threshold: float) -> None:
        """The threshold must be a number above 0."""
        with pytest.raises(ValueError, match="`anomaly_threshold` must be a number"):
            colour(anomaly_threshold=threshold)


class TestAnomalyPlane:
    @pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (3, 4, 1), (1, 1, 3, 4), (1, 3, 4, 1)])
    def test_axes_of_length_one(self, shape: tuple[int, ...]) -> None:
        """Axes of batches and channels are taken off."""
        plane = np.arange(12.0).reshape(3, 4)
        assert (anomaly_plane(plane.reshape(shape)) == plane).all()

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.zeros((2, 3, 4)), r"must have the shape \(h, w\), got \(2, 3, 4\)"),
            (np.zeros(5), r"must have the shape \(h, w\), got \(5,\)"),
            (np.zeros((0, 4)), r"must have the shape \(h, w\), got \(0, 4\)"),
            (np.array([[np.nan]]), "holds values that are not finite"),
            (np.array([["a"]]), "must hold numbers"),
            (None, "must hold numbers"),
        ],
    )
    def test_refused(self, value: Any, message: str) -> None:
        """What is no plane of numbers is named."""
        with pytest.raises(ValueError, match=f"`anomaly_map` {message}"):
            anomaly_plane(value)
