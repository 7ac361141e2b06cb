from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.transformations.stitch_images import family
from blocks.transformations.stitch_images.family import stitch
from blocks.transformations.stitch_images.v1 import StitchImagesBlockV1, StitchImagesManifest
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData


@pytest.fixture
def plane() -> np.ndarray:
    """(200, 360, 3) textured plane."""
    random = np.random.RandomState(21)
    image = random.randint(0, 256, (17, 30, 3)).astype(np.uint8)
    image = image.repeat(12, axis=0).repeat(12, axis=1)[:200].copy()
    for _ in range(60):
        centre = (int(random.randint(360)), int(random.randint(200)))
        color = tuple(int(value) for value in random.randint(0, 256, 3))
        cv2.circle(image, centre, int(random.randint(3, 9)), color, -1)
    return image


def as_image(pixels: np.ndarray, parent_id: str = "image") -> WorkflowImageData:
    video = VideoMetadata("camera", frame_number=7)
    return WorkflowImageData(
        ImageParentMetadata(parent_id), numpy_image=pixels, video_metadata=video
    )


def views(plane: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left and right view, 100 px apart."""
    return plane[:, :240].copy(), plane[:, 100:340].copy()


class TestStitch:
    @pytest.mark.parametrize("swapped", [False, True])
    def test_shifted_views(self, plane: np.ndarray, swapped: bool) -> None:
        """Two views of a plane give the plane back, whichever comes first."""
        first, second = views(plane)[:: -1 if swapped else 1]
        panorama = stitch(first, second, 3, 2)
        assert panorama is not None
        assert panorama.shape == (200, 340, 3)
        difference = np.abs(panorama.astype(int) - plane[:, :340])
        assert np.median(difference) == 0
        assert difference.mean() < 3

    def test_many_features(self, plane: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of very many features the strongest are enough; the number of candidates beyond two
        changes nothing.
        """
        monkeypatch.setattr(family, "MOST_FEATURES", 100)
        panorama = stitch(*views(plane), 3, 2)
        assert panorama is not None
        assert panorama.shape == (200, 340, 3)
        assert np.abs(panorama.astype(int) - plane[:, :340]).mean() < 3
        assert np.array_equal(stitch(*views(plane), 3, 10**9), panorama)

    def test_vertical_shift(self, plane: np.ndarray) -> None:
        """Views one above the other are joined as well."""
        panorama = stitch(plane[:130].copy(), plane[60:].copy(), 3, 2)
        assert panorama is not None
        assert panorama.shape == (200, 360, 3)
        assert np.abs(panorama.astype(int) - plane).mean() < 3

    def test_warped_view(self, plane: np.ndarray) -> None:
        """A view under another perspective is brought back to the plane of the other."""
        left, right = views(plane)
        tilt = np.array([[1.0, 0.05, 4], [0.03, 1.02, 6], [2e-4, 1e-4, 1]])
        tilted = cv2.warpPerspective(left, tilt, (260, 230))
        panorama = stitch(tilted, right, 3, 2)
        assert panorama is not None
        height, width = panorama.shape[:2]
        assert abs(width - 340) < 25
        assert abs(height - 200) < 45

    @pytest.mark.parametrize("candidates", [1, 2, None, 5])
    def test_candidates(self, plane: np.ndarray, candidates: int | None) -> None:
        """Any number of candidates joins plain views."""
        panorama = stitch(*views(plane), None, candidates)
        assert panorama is not None
        assert panorama.shape == (200, 340, 3)

    def test_gray(self, plane: np.ndarray) -> None:
        """Two gray views give a gray picture; a gray and a colour view give a colour one."""
        left, right = views(plane)
        gray_left = cv2.cvtColor(left, cv2.COLOR_BGR2GRAY)
        gray_right = cv2.cvtColor(right, cv2.COLOR_BGR2GRAY)
        both, mixed = stitch(gray_left, gray_right, 3, 2), stitch(gray_left, right, 3, 2)
        assert both is not None
        assert both.shape == (200, 340)
        assert mixed is not None
        assert mixed.shape == (200, 340, 3)

    def test_nothing_in_common(self, plane: np.ndarray) -> None:
        """Views that share nothing give no picture."""
        other = np.random.RandomState(1).randint(0, 256, plane.shape).astype(np.uint8)
        assert stitch(plane, cv2.GaussianBlur(other, (9, 9), 0), 3, 2) is None

    @pytest.mark.parametrize("shape", [(1, 1), (60, 80, 3)])
    def test_no_features(self, plane: np.ndarray, shape: tuple[int, ...]) -> None:
        """An image without texture gives no picture, on either side."""
        flat = np.full(shape, 90, np.uint8)
        assert stitch(flat, plane, 3, 2) is None
        assert stitch(plane, flat, 3, 2) is None

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("max_allowed_reprojection_error", (0, 2)),
            ("max_allowed_reprojection_error", (-3, 2)),
            ("max_allowed_reprojection_error", ("3", 2)),
            ("count_of_best_matches_per_query_descriptor", (3, 0)),
            ("count_of_best_matches_per_query_descriptor", (3, 1.5)),
        ],
    )
    def test_bad_values(self, plane: np.ndarray, field: str, values: tuple[Any, Any]) -> None:
        """Bad values are refused by field."""
        with pytest.raises(ValueError, match=f"Field `{field}` must be"):
            stitch(plane, plane, *values)


class TestStitchImagesBlockV1:
    def test_lineage(self, plane: np.ndarray) -> None:
        """The picture keeps the first image's parent id and frame, and has an origin of its own."""
        left, right = views(plane)
        result = StitchImagesBlockV1().run(as_image(left, "left"), as_image(right, "right"), 3, 2)
        stitched = result["stitched_image"]
        assert stitched.parent_metadata.parent_id == "left"
        assert stitched.video_metadata.frame_number == 7
        origin = stitched.parent_metadata.origin_coordinates
        assert (origin.left_top_x, origin.left_top_y) == (0, 0)
        assert (origin.origin_height, origin.origin_width) == (200, 340)

    def test_no_result(self, plane: np.ndarray) -> None:
        """Images that do not fit together give None."""
        flat = as_image(np.zeros((50, 50, 3), np.uint8))
        assert StitchImagesBlockV1().run(as_image(plane), flat, 3, 2) == {"stitched_image": None}

    def test_null_parameters(self) -> None:
        """Null is accepted for both parameters."""
        step = StitchImagesManifest.model_validate(
            {
                "type": "roboflow_core/stitch_images@v1", "name": "s", "image1": "$inputs.a",
                "image2": "$inputs.b", "max_allowed_reprojection_error": None,
                "count_of_best_matches_per_query_descriptor": None,
            }
        )  # fmt: skip
        assert step.max_allowed_reprojection_error is None
