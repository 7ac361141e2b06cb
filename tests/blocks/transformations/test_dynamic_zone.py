from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.transformations.dynamic_zone.polygons import (
    convex_hull,
    fitted,
    scaled,
    simplified,
)
from blocks.transformations.dynamic_zone.v1 import DynamicZoneBlockV1
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))


def zones(
    rows: Any, corners: int = 4, scale: float = 1, fit: bool = False, share: float = 1
) -> dict[str, Any]:
    result: Any = DynamicZoneBlockV1().run(Batch([rows]), corners, scale, fit, share)
    return result[0]


def polygon_mask(points: Any) -> np.ndarray:
    canvas = np.zeros((60, 90), np.uint8)
    cv2.fillPoly(canvas, [np.asarray(points, np.int32)], 1)
    return canvas[None].astype(bool)


points = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=3, max_size=14)


class TestConvexHull:
    @given(points)
    def test_hull(self, given_points: Any) -> None:
        """The corners are those of the convex hull, topmost first, down the left side."""
        hull = convex_hull(np.array(given_points))
        expected = shapely.MultiPoint(given_points).convex_hull
        assert shapely.equals(
            shapely.MultiPoint(hull).convex_hull.normalize(), expected.normalize()
        )
        assert hull[0].tolist() == min(hull.tolist(), key=lambda point: (point[1], point[0]))
        if expected.geom_type == "Polygon":
            ring = shapely.LinearRing(hull)
            # Against the clock on the screen is with it where y points up.
            assert not ring.is_ccw


class TestSimplified:
    @settings(max_examples=80)
    @given(points, st.integers(3, 8))
    def test_corners(self, given_points: Any, corners: int) -> None:
        """There are always as many corners as asked for, all from the hull or its sides."""
        hull = convex_hull(np.array(given_points))
        polygon, converged = simplified(hull, corners)
        assert polygon.shape == (corners, 2)
        if len(hull) < corners:
            assert not converged
        if len(hull) > 2:
            around = shapely.Polygon(hull).buffer(1e-6)
            assert all(around.covers(shapely.Point(corner)) for corner in polygon)
        if converged:
            assert {tuple(corner) for corner in polygon} <= {tuple(corner) for corner in hull}

    def test_order_stays(self) -> None:
        """Corners keep the order of the hull."""
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        hull = convex_hull(np.column_stack([np.cos(angles), np.sin(angles)]) * 30 + 40)
        polygon, converged = simplified(hull, 8)
        places = [hull.tolist().index(corner) for corner in polygon.tolist()]
        assert converged
        assert places == sorted(places)

    def test_no_tolerance_fits(self) -> None:
        """A square cannot lose one corner by tolerance alone: the cheapest one goes."""
        square = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0]])
        polygon, converged = simplified(square, 3)
        assert len(polygon) == 3
        assert not converged or len(polygon) == 3

    def test_triangle_to_quadrilateral(self) -> None:
        """A missing corner is put in the middle of the longest side."""
        triangle = np.array([[0.0, 0.0], [0.0, 4.0], [8.0, 4.0]])
        polygon, converged = simplified(triangle, 4)
        assert polygon.tolist() == [[0, 0], [0, 4], [8, 4], [4, 2]]
        assert not converged


class TestFitted:
    def test_straight_sides_stay(self) -> None:
        """A polygon whose sides are the outline comes back as it is."""
        square = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0]])
        outline = np.array([[0, 0], [0, 5], [0, 9], [4, 9], [9, 9], [9, 3], [9, 0], [5, 0]], float)
        assert np.allclose(fitted(square, outline, 1.0), square, atol=1e-4)

    def test_line_through_the_points(self) -> None:
        """A side goes through the middle of the points between its corners."""
        square = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0]])
        outline = np.array([[0, 0], [0, 9], [2, 11], [4, 11], [7, 11], [9, 9], [9, 0]], float)
        new = fitted(square, outline, 0.6)
        assert np.allclose(new[1:3, 1], 11, atol=1e-4)
        assert np.allclose(new[[0, 3]], square[[0, 3]], atol=1e-4)

    def test_parallel_sides(self) -> None:
        """Corners on a straight line stay where they are."""
        flat = np.array([[0.0, 0.0], [0.0, 9.0], [5.0, 9.0], [9.0, 9.0]])
        outline = np.array([[0, 0], [0, 9], [3, 9], [5, 9], [7, 9], [9, 9]], float)
        assert fitted(flat, outline, 1.0)[2].tolist() == [5, 9]


class TestScaled:
    def test_around_the_mean(self) -> None:
        """Corners move away from their mean."""
        square = np.array([[0.0, 0.0], [0.0, 10.0], [10.0, 10.0], [10.0, 0.0]])
        assert scaled(square, 1.2).tolist() == [[-1, -1], [-1, 11], [11, 11], [11, -1]]


class TestZones:
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_quadrilateral(self, form: MaskForm) -> None:
        """A mask that is such a polygon already is found exactly."""
        corners = [[30, 5], [12, 40], [60, 55], [80, 12]]
        rows = some([[1, 2, 3, 4]], IMAGE, masks=polygon_mask(corners), form=form)
        found = zones(rows)
        assert found["zones"] == [corners]
        assert found["simplification_converged"] is True
        result = found["predictions"]
        assert result.data["polygon"][0].tolist() == corners
        assert result.xyxy.tolist() == [[1, 2, 3, 4]]
        assert np.array_equal(dense_masks(result), polygon_mask(corners))
        if "rle_mask" in result.data:
            assert np.array_equal(rle_masks(result), polygon_mask(corners))

    @pytest.mark.parametrize("corners", [3, 4, 6, 10])
    def test_ellipses(self, corners: int) -> None:
        """Zones of round masks have their corners, are convex and cover most of the mask."""
        masks = ellipses(6, 60, 90, 11)
        rows = some([[0, 0, 9, 9]] * 6, IMAGE, masks=masks, form="compact")
        found = zones(rows, corners)
        assert [len(zone) for zone in found["zones"]] == [corners] * 6
        for zone, mask in zip(found["zones"], masks, strict=True):
            shape = shapely.Polygon(zone)
            assert shape.convex_hull.area == pytest.approx(shape.area, abs=1)
            if corners >= 6:
                covered = (polygon_mask(zone)[0] & mask).sum() / mask.sum()
                assert covered > 0.8

    def test_scale_over_the_edge(self) -> None:
        """A zone may reach over the image, its mask ends there."""
        rows = some([[0, 0, 9, 9]], IMAGE, masks=np.ones((1, 60, 90), bool), form="compact")
        found = zones(rows, 4, 1.5)
        assert min(min(corner) for corner in found["zones"][0]) < 0
        assert dense_masks(found["predictions"]).all()

    def test_holes_and_islands(self) -> None:
        """The largest part counts, without its holes."""
        mask = polygon_mask([[10, 10], [10, 50], [60, 50], [60, 10]])
        mask[0, 20:30, 20:30], mask[0, 0:5, 80:85] = False, True
        found = zones(some([[0, 0, 9, 9]], IMAGE, masks=mask, form="dense"))
        assert found["zones"] == [[[10, 10], [10, 50], [60, 50], [60, 10]]]

    def test_no_pixels(self) -> None:
        """A mask without pixels has no zone, and zones stay beside their detections."""
        masks = np.concatenate([np.zeros((1, 60, 90), bool), np.ones((1, 60, 90), bool)])
        found = zones(some([[0, 0, 9, 9]] * 2, IMAGE, masks=masks, form="compact"))
        assert len(found["zones"]) == 1
        assert found["predictions"].data["detection_id"].tolist() == ["d1"]
        assert found["simplification_converged"] is False

    def test_one_pixel(self) -> None:
        """A mask of one pixel gives a zone without area and says so."""
        mask = np.zeros((1, 60, 90), bool)
        mask[0, 5, 7] = True
        found = zones(some([[0, 0, 9, 9]], IMAGE, masks=mask, form="compact"))
        assert found["zones"] == [[[7, 5]] * 4]
        assert found["simplification_converged"] is False

    @pytest.mark.parametrize("form", ["none", *WITH_MASKS])
    def test_no_rows(self, form: MaskForm) -> None:
        """No detections have no zones."""
        found = zones(some([], IMAGE, form=form))
        assert (found["zones"], found["simplification_converged"]) == ([], True)
        assert len(found["predictions"]) == 0

    def test_no_masks(self) -> None:
        """Detections without masks are refused."""
        with pytest.raises(ValueError, match="carry neither `mask` nor `rle_mask`"):
            zones(some([[0, 0, 9, 9]], IMAGE))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"corners": 2}, "in 3 to 1000, got 2"),
            ({"corners": 2**70}, "in 3 to 1000, got 1180591620717411303424"),
            ({"scale": 0}, "must be positive and at most 100, got 0"),
            ({"scale": 2**31}, "must be positive and at most 100, got 2147483648"),
            ({"scale": float("inf")}, "must be positive and at most 100, got inf"),
            ({"share": 1.1}, "in 0 to 1, got 1.1"),
        ],
    )
    def test_bad_values(self, changed: dict[str, Any], message: str) -> None:
        """Values that came through references are checked."""
        with pytest.raises(ValueError, match=message):
            zones(some([], IMAGE), **changed)
