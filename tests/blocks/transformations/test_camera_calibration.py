from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.transformations.camera_calibration.undistortion import (
    Camera,
    camera_of,
    check_size,
    fisheye_maps,
    pinhole_maps,
)
from blocks.transformations.camera_calibration.v1 import (
    CameraCalibrationBlockV1,
    CameraCalibrationManifest,
)
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

FIELDS: dict[str, Any] = {
    "fx": 200.0, "fy": 190.0, "cx": 118.0, "cy": 92.0, "k1": 0.0, "k2": 0.0, "k3": 0.0, "p1": 0.0,
    "p2": 0.0,
}  # fmt: skip
HEIGHT, WIDTH = 180, 240


def scene(gray: bool = False) -> np.ndarray:
    """(180, 240, 3) or (180, 240): smooth, so that a shift by a little changes little."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    levels = [x / WIDTH * 200 + 20, y / HEIGHT * 200 + 20, (x + y) / (WIDTH + HEIGHT) * 180 + 40]
    image = np.stack(levels, axis=2).astype(np.uint8)
    return image[:, :, 0].copy() if gray else image


def as_image(pixels: np.ndarray) -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=pixels,
        video_metadata=VideoMetadata(video_identifier="cam", frame_number=7),
    )


def run(pixels: np.ndarray, fisheye: bool | None = False, **changed: Any) -> np.ndarray:
    result = CameraCalibrationBlockV1().run(
        image=as_image(pixels), **{**FIELDS, **changed}, use_fisheye_model=fisheye
    )
    assert isinstance(result, dict)
    return np.asarray(result["calibrated_image"].numpy_image)


class TestPinhole:
    @pytest.mark.parametrize("gray", [False, True])
    @pytest.mark.parametrize(
        "lens",
        [
            {"k1": -0.25, "k2": 0.06, "p1": 0.002, "p2": -0.001},
            {"k1": 0.3, "k3": -0.05},
            {"p1": 0.01, "p2": 0.02},
        ],
    )
    def test_opencv(self, lens: dict[str, float], gray: bool) -> None:
        """The same as OpenCV's own undistortion with all pixels kept in view."""
        fields = {**FIELDS, **lens}
        matrix = camera_of(**fields).matrix
        coefficients = np.array([fields[name] for name in ("k1", "k2", "p1", "p2", "k3")])
        size = (WIDTH, HEIGHT)
        new, _ = cv2.getOptimalNewCameraMatrix(matrix, coefficients, size, 1, size)
        expected = cv2.undistort(scene(gray), matrix, coefficients, None, new)
        found = run(scene(gray), **lens)
        assert found.shape == scene(gray).shape
        assert np.array_equal(found, expected)

    def test_no_distortion(self) -> None:
        """A lens without distortion leaves the image nearly as it is."""
        inner = (slice(3, -3), slice(3, -3))
        assert np.abs(run(scene())[inner].astype(int) - scene()[inner]).max() <= 3

    def test_bent_line_becomes_straight(self) -> None:
        """Points of a straight line, bent by the lens, lie on a line again."""
        camera = camera_of(**{**FIELDS, "k1": -0.3, "k2": 0.08})
        coefficients = np.array([-0.3, 0.08, 0, 0, 0])
        # A line at x = -0.45 focal lengths as the lens sees it.
        line = np.array([[-0.45, y, 1.0] for y in np.linspace(-0.4, 0.4, 300)])
        bent, _ = cv2.projectPoints(line, np.zeros(3), np.zeros(3), camera.matrix, coefficients)
        image = np.zeros((HEIGHT, WIDTH), np.uint8)
        cv2.polylines(image, [np.rint(bent[:, 0] * 16).astype(np.int32)], False, 255, 3, 16, 4)
        straight = run(image, k1=-0.3, k2=0.08)
        centres = [np.average(np.arange(WIDTH), weights=row) for row in straight if row.sum() > 300]
        before = [np.average(np.arange(WIDTH), weights=row) for row in image if row.sum() > 300]
        assert np.ptp(before) > 3
        assert np.ptp(centres) < 0.6

    def test_impossible_lens(self) -> None:
        """Coefficients that no lens has give an image, not an error."""
        for k1 in (-1e6, 1e6, -50.0):
            assert run(scene(), k1=k1, k2=-k1).shape == scene().shape


class TestFisheye:
    def test_no_distortion(self) -> None:
        """A lens without distortion leaves the image as it is."""
        assert np.array_equal(run(scene(), True), scene())

    @pytest.mark.parametrize("lens", [{"k1": 0.2}, {"k1": -0.4, "k2": 0.1}, {"k3": -0.3}])
    def test_division_model(self, lens: dict[str, float]) -> None:
        """A place s on the sensor comes to s / (1 + k1 s^2 + k2 s^4 + k3 s^6), by the formula."""
        fields = {**FIELDS, **lens}
        first, second = fisheye_maps(camera_of(**fields), HEIGHT, WIDTH)
        columns, rows = cv2.convertMaps(first, second, cv2.CV_32FC1)
        x, y = (columns - fields["cx"]) / fields["fx"], (rows - fields["cy"]) / fields["fy"]
        squared = x**2 + y**2
        bottom = 1 + squared * (fields["k1"] + squared * (fields["k2"] + squared * fields["k3"]))
        inside = (columns > 0) & (columns < WIDTH - 1) & (rows > 0) & (rows < HEIGHT - 1)
        assert inside.mean() > 0.5
        out_y, out_x = np.mgrid[:HEIGHT, :WIDTH]
        back_x = x / bottom * fields["fx"] + fields["cx"]
        back_y = y / bottom * fields["fy"] + fields["cy"]
        assert np.abs(back_x - out_x)[inside].max() < 0.1
        assert np.abs(back_y - out_y)[inside].max() < 0.1

    def test_nothing_there(self) -> None:
        """Where no place of the sensor leads to, the image is black, and nothing is folded in."""
        # s / (1 + 4 s^2) rises up to s = 0.5 only, where it is 0.25 focal lengths: 50 px across.
        found = run(np.full((HEIGHT, WIDTH), 200, np.uint8), True, k1=4.0, fy=200.0)
        y, x = np.mgrid[:HEIGHT, :WIDTH]
        radius = np.hypot(x - FIELDS["cx"], y - FIELDS["cy"])
        assert not found[radius > 51].any()
        assert (found[radius < 45] == 200).all()

    def test_tangential_has_no_effect(self) -> None:
        """The model has no tangential part."""
        assert np.array_equal(
            run(scene(), True, k1=0.1, p1=0.5, p2=0.5), run(scene(), True, k1=0.1)
        )

    def test_gray(self) -> None:
        """A gray image gives the channel of the colour image."""
        assert np.array_equal(run(scene(True), True, k1=0.1), run(scene(), True, k1=0.1)[:, :, 0])

    @pytest.mark.parametrize("focal", [1e-3, 1e6])
    def test_extreme_lens(self, focal: float) -> None:
        """The narrowest and the widest lens give an image."""
        for k in (-1e6, 1e6):
            assert run(scene(), True, fx=focal, fy=focal, k1=k, k2=k, k3=-k).shape == scene().shape


class TestCameraOf:
    def test_no_coefficients(self) -> None:
        """No value for a coefficient counts as 0."""
        nothing = dict.fromkeys(("k1", "k2", "k3", "p1", "p2"))
        assert camera_of(**{**FIELDS, **nothing}) == Camera(200, 190, 118, 92, 0, 0, 0, 0, 0)

    @pytest.mark.parametrize(
        ("changed", "text"),
        [
            ({"fx": None}, "Field `fx` must be a number of px, got None."),
            ({"cy": None}, "Field `cy` must be a number of px, got None."),
            ({"fy": 0}, "Field `fy` must be a number from 0.001 to 1000000.0, got 0."),
            ({"k2": "x"}, "Field `k2` must be a number from -1000000.0 to 1000000.0, got 'x'."),
            (
                {"p1": float("nan")},
                "Field `p1` must be a number from -1000000.0 to 1000000.0, got nan.",
            ),
        ],
    )
    def test_bad(self, changed: dict[str, Any], text: str) -> None:
        """The error names field, range and value."""
        with pytest.raises(InvalidFieldValueError) as caught:
            camera_of(**{**FIELDS, **changed})
        assert str(caught.value) == text


class TestCheckSize:
    def test_too_long(self) -> None:
        """What OpenCV cannot warp is refused by its size."""
        check_size(1, 32767)
        with pytest.raises(InvalidFieldValueError) as caught:
            check_size(1, 40000)
        assert str(caught.value) == (
            "Field `image` must be an image of at most 32767 px a side, got 40000 x 1 px."
        )


class TestCameraCalibration:
    def test_lineage(self) -> None:
        """The image keeps its parent and its place in the video."""
        result = CameraCalibrationBlockV1().run(
            image=as_image(scene()), **FIELDS, use_fisheye_model=None
        )
        assert isinstance(result, dict)
        image = result["calibrated_image"]
        assert image.parent_metadata.parent_id == "image"
        assert image.video_metadata.frame_number == 7

    def test_maps_follow_lens_and_size(self) -> None:
        """One step serves changing lenses and sizes, each as a fresh step would."""
        block = CameraCalibrationBlockV1()
        for k1, fisheye, height in (
            (0.1, False, 180), (0.1, True, 180), (0.2, True, 180), (0.2, True, 99), (0.1, False, 99)
        ):  # fmt: skip
            for _ in range(2):
                result = block.run(
                    image=as_image(scene()[:height]), **{**FIELDS, "k1": k1},
                    use_fisheye_model=fisheye,
                )  # fmt: skip
                assert isinstance(result, dict)
                expected = run(scene()[:height], fisheye, k1=k1)
                assert np.array_equal(result["calibrated_image"].numpy_image, expected)

    def test_maps_are_kept(self) -> None:
        """Frames of one camera share the maps."""
        block = CameraCalibrationBlockV1()
        key = (camera_of(**FIELDS), HEIGHT, WIDTH, False)
        assert block._maps(key) is block._maps(key)
        expected = pinhole_maps(*key[:3])
        assert all(map(np.array_equal, block._maps(key), expected))

    def test_one_pixel(self) -> None:
        """The smallest image works with both models."""
        dot = np.full((1, 1, 3), 90, np.uint8)
        for fisheye in (False, True):
            assert run(dot, fisheye, k1=0.1).shape == (1, 1, 3)

    def test_empty_fields(self) -> None:
        """A definition may say that there is no coefficient, but not leave it out."""
        step = {"type": "roboflow_core/camera-calibration@v1", "name": "s", "image": "$inputs.i"}
        made = CameraCalibrationManifest.model_validate({**step, **FIELDS, "k3": None})
        assert made.k3 is None
        with pytest.raises(ValueError, match="k3"):
            CameraCalibrationManifest.model_validate(
                {**step, **{name: value for name, value in FIELDS.items() if name != "k3"}}
            )
