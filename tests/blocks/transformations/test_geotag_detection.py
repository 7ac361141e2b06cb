"""`geotag_detection@v1`."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.geotag_detection.v1 import GeoTagDetectionBlockV1
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import an_image, some

SIZE = (720, 1280)
METRES = 111_320


def tag(rows: sv.Detections, size: tuple[int, int] = SIZE, **changed: Any) -> dict[str, Any]:
    pose: dict[str, Any] = {
        "latitude": 47.0, "longitude": -105.0, "altitude": 100.0, "horizontal_fov": 90.0,
        "heading": 0.0, **changed,
    }  # fmt: skip
    result: Any = GeoTagDetectionBlockV1().run(an_image(size, channels=1), rows, **pose)
    return result


def place(x: float, y: float, **changed: Any) -> tuple[float, float]:
    """Latitude and longitude of a pixel."""
    (record,) = tag(some([[x, y, x, y]]), **changed)["geo_detections"]
    return record["lat"], record["lon"]


class TestPlaces:
    def test_centre(self) -> None:
        """The centre of the image is below the camera."""
        assert place(640, 360) == (47.0, -105.0)

    def test_by_hand(self) -> None:
        """From 100 m, 90 degrees are 200 m of ground: the border is 100 m to the east."""
        assert place(1280, 360, latitude=0, longitude=0) == (0, round(100 / METRES, 7))
        assert place(640, 0, latitude=0, longitude=0) == (round(56.25 / METRES, 7), 0)

    @pytest.mark.parametrize(
        ("heading", "north", "east"), [(0, 0, 50), (90, -50, 0), (180, 0, -50), (-90, 50, 0),
                                       (450, -50, 0)],
    )  # fmt: skip
    def test_heading(self, heading: float, north: float, east: float) -> None:
        """Right of the centre is a quarter clockwise from where the top points."""
        expected = pytest.approx((north / METRES, east / METRES), abs=1e-7)
        assert place(960, 360, latitude=0, longitude=0, heading=heading) == expected

    def test_latitude(self) -> None:
        """Degrees of longitude are half as wide at 60 degrees."""
        _, longitude = place(1280, 360, latitude=60, longitude=0)
        assert longitude == pytest.approx(2 * 100 / METRES, abs=1e-7)

    def test_altitude_and_fov(self) -> None:
        """The footprint grows with the altitude and with the tangent of half the angle."""
        _, longitude = place(1280, 360, latitude=0, longitude=0, altitude=400, horizontal_fov=60)
        assert longitude == pytest.approx(400 * math.tan(math.pi / 6) / METRES, abs=1e-7)

    @pytest.mark.parametrize("altitude", [0, -10, -1e9])
    def test_on_the_ground(self, altitude: float) -> None:
        """A camera that sees no ground gives its own place."""
        assert place(0, 0, altitude=altitude) == (47.0, -105.0)

    @pytest.mark.parametrize(
        ("longitude", "expected"),
        [(180, -179.9991017), (179.9999, -179.9992017), (-180, -179.9991017), (-105, -104.9991017),
         (200, -159.9991017)],
    )  # fmt: skip
    def test_date_line(self, longitude: float, expected: float) -> None:
        """Longitudes are in -180 to 180, as GeoJSON wants them."""
        got = place(1280, 360, latitude=0, longitude=longitude)[1]
        assert got == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize("latitude", [90, -90, 89.9999])
    def test_poles(self, latitude: float) -> None:
        """Near the poles places stay on the globe."""
        got = place(0, 0, latitude=latitude)
        assert abs(got[0]) <= 90
        assert abs(got[1]) <= 180


class TestRecords:
    def test_whole_record(self) -> None:
        """What a detection says of itself, beside its place."""
        rows = some([[600, 340, 680.04, 380]], names=["Käfer"], scores=[0.95])
        got = tag(rows)
        assert got["geo_detections"] == [
            {"class": "Käfer", "confidence": 0.95, "lat": 47.0,
             "lon": pytest.approx(-105, abs=1e-6),
             "pixel_x": 640.0, "pixel_y": 360.0, "width": 80.0, "height": 40.0}
        ]  # fmt: skip
        assert got["geojson"] == {
            "type": "FeatureCollection",
            "features": [
                {
                    "type": "Feature",
                    "geometry": {
                        "type": "Point",
                        "coordinates": [got["geo_detections"][0]["lon"], 47.0],
                    },
                    "properties": {"class": "Käfer", "confidence": 0.95},
                }
            ],
        }
        assert json.loads(json.dumps(got)) == got

    def test_bare_rows(self) -> None:
        """Without names and confidences."""
        rows = sv.Detections(np.array([[0, 0, 10, 10.0]]))
        (record,) = tag(rows)["geo_detections"]
        assert (record["class"], record["confidence"]) == ("unknown", 0.0)

    def test_no_rows(self) -> None:
        """Nothing gives empty lists."""
        assert tag(some([])) == {
            "geo_detections": [],
            "geojson": {"type": "FeatureCollection", "features": []},
        }

    def test_order_and_size(self) -> None:
        """Rows keep their order; an image of one px works."""
        rows = some([[0, 0, 1, 1], [0, 0, 3, 1]], names=["a", "b"])
        assert [r["class"] for r in tag(rows, (1, 1))["geo_detections"]] == ["a", "b"]


class TestFields:
    @pytest.mark.parametrize(
        ("field", "value"),
        [("latitude", 91), ("latitude", "47"), ("longitude", 361), ("altitude", 1e7),
         ("altitude", None), ("horizontal_fov", 0), ("horizontal_fov", 180), ("heading", 1e300),
         ("heading", float("nan"))],
    )  # fmt: skip
    def test_refused(self, field: str, value: Any) -> None:
        """Values off the globe are refused by name."""
        with pytest.raises(InvalidFieldValueError, match=rf"Field `{field}` must be .* got"):
            tag(some([[0, 0, 1, 1]]), **{field: value})
