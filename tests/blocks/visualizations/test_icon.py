"""`icon_visualization@v1`: size, place and transparency of the icon."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.visualizations.icon_visualization.v1 import fit_icon, overlay
from tests.blocks.visualizations.scenes import frame, objects, picture, run

RED = np.full((10, 10, 3), (0, 0, 255), np.uint8)


def bounds(result: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of what is red."""
    rows, columns = np.nonzero((result == (0, 0, 255)).all(axis=2))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def put(icon: np.ndarray = RED, detections: Any = None, **fields: Any) -> np.ndarray:
    return run("icon_v1", detections, inputs={"icon": frame(icon)}, **fields)


class TestIcon:
    @pytest.mark.parametrize(
        ("place", "expected"),
        [
            ((5, 7), (5, 7, 25, 27)),
            ((-5, 7), (135, 7, 155, 27)),
            ((5, -7), (5, 93, 25, 113)),
            ((150, 110), (150, 110, 160, 120)),
            ((0, 0), (0, 0, 20, 20)),
        ],
    )
    def test_static(self, place: tuple[int, int], expected: tuple[int, ...]) -> None:
        """Places count from the left and top, negative ones from the right and bottom edge."""
        fields = {"mode": "static", "icon_width": 20, "icon_height": 20}
        result = put(**fields, x_position=place[0], y_position=place[1])
        assert bounds(result) == expected

    def test_dynamic(self) -> None:
        """The middle of the icon stands at a place of each detection."""
        fields = {"icon_width": 20, "icon_height": 20, "position": "BOTTOM_RIGHT"}
        assert bounds(put(detections=objects()[:1], **fields)) == (60, 80, 80, 100)
        changed = (put(detections=objects(), **fields) != picture()).any(axis=2)
        assert all(changed[y, x] for x, y in ((70, 90), (139, 99), (149, 114)))

    @pytest.mark.parametrize(
        ("missing", "message"),
        [
            ({"mode": "dynamic", "predictions": None}, "`predictions` must be given"),
            ({"mode": "dynamic", "position": None}, "`position` must be one of"),
            ({"mode": "static", "x_position": None}, "`x_position` must be a whole number"),
        ],
    )
    def test_mode_needs_a_field(self, missing: dict[str, Any], message: str) -> None:
        """A field that the mode needs and nothing gives is named."""
        with pytest.raises(ValueError, match=message):
            run("icon_v1", objects(), inputs=missing)

    def test_static_needs_no_detections(self) -> None:
        """A fixed icon is put on images without predictions."""
        result = run("icon_v1", inputs={"predictions": None, "icon": frame(RED)}, mode="static")
        assert bounds(result) == (10, 10, 74, 74)


class TestFitIcon:
    def test_proportions(self) -> None:
        """A wide icon stands in the middle of its box, the rest lets the image through."""
        paint, share = fit_icon(np.full((10, 40, 3), 200, np.uint8), (20, 20))
        assert paint.shape == (20, 20, 3)
        assert (share[..., 0] > 0).sum(axis=0).tolist() == [5] * 20
        assert np.flatnonzero(share[:, 0, 0]).tolist() == [7, 8, 9, 10, 11]

    @pytest.mark.parametrize("icon", [picture(8, 8), picture(8, 8, None), picture(8, 8, 1)])
    def test_same_size(self, icon: np.ndarray) -> None:
        """An icon of the size of its box is drawn as it is, grey ones in BGR."""
        pixels = np.zeros((8, 8, 3), np.uint8)
        overlay(pixels, *fit_icon(icon, (8, 8)), (0, 0))
        assert (pixels == icon.reshape(8, 8, -1)).all()

    def test_transparency(self) -> None:
        """A half transparent pixel mixes with the image, a fully transparent one leaves it."""
        icon = np.array([[[200, 100, 0, 255], [200, 100, 0, 51], [9, 9, 9, 0]]], np.uint8)
        pixels = np.full((1, 3, 3), 50, np.uint8)
        overlay(pixels, *fit_icon(icon, (3, 1)), (0, 0))
        assert pixels.tolist() == [[[200, 100, 0], [80, 60, 40], [50, 50, 50]]]

    def test_colour_of_transparent_pixels_does_not_bleed(self) -> None:
        """Scaling does not mix in colours that cannot be seen."""
        icon = np.zeros((4, 4, 4), np.uint8)
        icon[:, :2], icon[:, 2:] = (0, 0, 255, 255), (0, 255, 0, 0)
        pixels = np.zeros((2, 2, 3), np.uint8)
        overlay(pixels, *fit_icon(icon, (2, 2)), (0, 0))
        assert pixels[..., 1].max() == 0

    def test_as_supervision(self) -> None:
        """A half transparent icon looks as `sv.draw_image` draws it."""
        icon = picture(9, 9, 4)
        expected = sv.draw_image(picture(), icon, 1.0, sv.Rect(11, 13, 9, 9))
        pixels = picture()
        overlay(pixels, *fit_icon(icon, (9, 9)), (11, 13))
        assert np.abs(pixels.astype(int) - expected).max() <= 1

    def test_no_pixels(self) -> None:
        """An icon without pixels is refused."""
        with pytest.raises(ValueError, match=r"`icon` must be an image with pixels, got shape \(0"):
            fit_icon(np.zeros((0, 4, 3), np.uint8), (3, 3))


class TestOverlay:
    @pytest.mark.parametrize("corner", [(-30, 0), (0, -30), (160, 0), (0, 120), (9999, 9999)])
    def test_outside(self, corner: tuple[int, int]) -> None:
        """An icon outside the image changes nothing."""
        pixels = picture()
        overlay(pixels, *fit_icon(RED, (20, 20)), corner)
        assert (pixels == picture()).all()
