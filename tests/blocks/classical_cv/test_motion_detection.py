from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from blocks.classical_cv.background_model import MOST_VIDEOS, BackgroundModel
from blocks.classical_cv.background_subtraction.v1 import BackgroundSubtractionBlockV1
from blocks.classical_cv.motion_detection.family import moving_regions, zone_of
from blocks.classical_cv.motion_detection.v1 import MotionDetectionBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

DEFAULTS: dict[str, Any] = {
    "minimum_contour_area": 60,
    "morphological_kernel_size": 3,
    "threshold": 16,
    "history": 3,
    "detection_zone": None,
    "suppress_first_detections": True,
}


def pixels_with(*squares: tuple[int, int], side: int = 24, gray: bool = False) -> np.ndarray:
    """(120, 160, 3) or (120, 160): bright squares at places (x, y) on a dark ground."""
    image = np.full((120, 160, 3), 60, np.uint8)
    for x, y in squares:
        image[y : y + side, x : x + side] = 230
    return image[:, :, 0].copy() if gray else image


def frame(pixels: np.ndarray, video: str = "cam") -> WorkflowImageData:
    metadata = VideoMetadata(video_identifier=video, frame_number=1)
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=pixels, video_metadata=metadata
    )


def run(block: MotionDetectionBlockV1, image: WorkflowImageData, **changed: Any) -> dict[str, Any]:
    result = block.run(image=image, **{**DEFAULTS, **changed})
    assert isinstance(result, dict)
    return result


def filled(left: int, top: int, right: int, bottom: int) -> np.ndarray:
    foreground = np.zeros((60, 80), np.uint8)
    foreground[top:bottom, left:right] = 255
    return foreground


class TestBackgroundModel:
    def test_still_scene(self) -> None:
        """The first frame is foreground throughout, an equal one has none."""
        model = BackgroundModel()
        assert (model.foreground_of(pixels_with(), 16, 5) == 255).all()
        assert not model.foreground_of(pixels_with(), 16, 5).any()
        assert model.frames == 2

    @pytest.mark.parametrize("gray", [False, True])
    def test_what_is_new(self, gray: bool) -> None:
        """Exactly the pixels that changed are foreground."""
        model = BackgroundModel()
        for _ in range(4):
            model.foreground_of(pixels_with(gray=gray), 16, 5)
        found = model.foreground_of(pixels_with((30, 40), gray=gray), 16, 5)
        assert np.array_equal(found, (pixels_with((30, 40), gray=True) > 100) * np.uint8(255))

    def test_four_channels(self) -> None:
        """Transparency is no motion."""
        model = BackgroundModel()
        ground = cv2.cvtColor(pixels_with(), cv2.COLOR_BGR2BGRA)
        clear = ground.copy()
        clear[:, :, 3] = 0
        for _ in range(3):
            model.foreground_of(ground, 16, 5)
        assert not model.foreground_of(clear, 16, 5).any()

    def test_what_stays_becomes_background(self) -> None:
        """A square that stands still for long is background."""
        model = BackgroundModel()
        for _ in range(5):
            model.foreground_of(pixels_with(), 16, 5)
        for _ in range(30):
            found = model.foreground_of(pixels_with((30, 40)), 16, 5)
        assert not found.any()

    def test_another_size(self) -> None:
        """A frame of another size begins anew."""
        model = BackgroundModel()
        for _ in range(3):
            model.foreground_of(pixels_with(), 16, 5)
        assert (model.foreground_of(pixels_with()[:50], 16, 5) == 255).all()
        assert model.frames == 1

    def test_settings_change_without_loss(self) -> None:
        """A new threshold and history keep what was learned."""
        model = BackgroundModel()
        for _ in range(3):
            model.foreground_of(pixels_with(), 16, 5)
        slightly = pixels_with()
        slightly[:20] += 20
        assert not model.foreground_of(slightly, 1_000_000, 9).any()
        assert model.frames == 4
        assert model.foreground_of(pixels_with((30, 40)), 4, 9).any()

    def test_one_pixel(self) -> None:
        """The smallest image works."""
        model = BackgroundModel()
        dot = np.zeros((1, 1, 3), np.uint8)
        assert model.foreground_of(dot, 16, 5).tolist() == [[255]]
        assert model.foreground_of(dot, 16, 5).tolist() == [[0]]

    @pytest.mark.parametrize(
        ("threshold", "history", "text"),
        [
            (-1, 5, "Field `threshold` must be a whole number from 0 to 1000000, got -1."),
            (16, 0, "Field `history` must be a whole number from 1 to 1000000, got 0."),
            (16, 2.5, "Field `history` must be a whole number from 1 to 1000000, got 2.5."),
        ],
    )
    def test_bad_numbers(self, threshold: Any, history: Any, text: str) -> None:
        """The error names field, range and value."""
        with pytest.raises(InvalidFieldValueError) as caught:
            BackgroundModel().foreground_of(pixels_with(), threshold, history)
        assert str(caught.value) == text


class TestMovingRegions:
    def test_box_and_outline(self) -> None:
        """The box reaches behind the last pixel, the outline goes through the outer pixels."""
        regions = moving_regions(filled(10, 20, 30, 35), 0, 1, None)
        assert regions.boxes.tolist() == [[10, 20, 30, 35]]
        assert sorted(map(tuple, regions.outlines[0])) == [(10, 20), (10, 34), (29, 20), (29, 34)]

    @pytest.mark.parametrize(("least", "found"), [(0, 1), (266, 1), (267, 0)])
    def test_smallest_area(self, least: int, found: int) -> None:
        """A region counts from the area inside of its outline on: (20 - 1) x (15 - 1)."""
        assert len(moving_regions(filled(10, 20, 30, 35), least, 1, None).boxes) == found

    def test_specks_and_gaps(self) -> None:
        """Specks smaller than the kernel go, and gaps smaller than it close."""
        foreground = filled(10, 20, 30, 40)
        foreground[30, 20] = 0
        foreground[5, 5] = 255
        regions = moving_regions(foreground, 0, 3, None)
        assert len(regions.boxes) == 1
        assert len(moving_regions(foreground, 0, 1, None).boxes) == 2

    def test_order(self) -> None:
        """From top to bottom, then from left to right."""
        foreground = filled(10, 30, 20, 40) | filled(50, 5, 60, 15) | filled(30, 30, 40, 40)
        boxes = moving_regions(foreground, 0, 1, None).boxes
        assert boxes[:, :2].tolist() == [[50, 5], [10, 30], [30, 30]]

    def test_one_pixel(self) -> None:
        """Where a region has no area its outline is its box."""
        regions = moving_regions(filled(7, 8, 8, 9), 0, 1, None)
        assert regions.boxes.tolist() == [[7, 8, 8, 9]]
        assert regions.outlines == [[[7, 8], [8, 8], [8, 9], [7, 9]]]

    def test_nothing(self) -> None:
        """No foreground gives no rows."""
        regions = moving_regions(np.zeros((9, 9), np.uint8), 0, 3, None)
        assert (regions.boxes.shape, regions.outlines) == ((0, 4), [])

    def test_zone(self) -> None:
        """Only what lies in a zone counts; overlapping zones are one."""
        foreground = filled(0, 0, 80, 60)
        zone = [
            [[10, 10], [30, 10], [30, 20], [10, 20]],
            [[20, 10], [40, 10], [40, 20], [20, 20]],
            [[500, 500], [600, 500], [600, 600]],
        ]
        assert moving_regions(foreground, 0, 1, zone).boxes.tolist() == [[10, 10, 41, 21]]

    def test_round_object(self) -> None:
        """The outline of a disc keeps its area within 2 % with few points."""
        foreground = np.zeros((200, 200), np.uint8)
        cv2.circle(foreground, (100, 100), 70, 255, -1)
        (outline,) = moving_regions(foreground, 0, 3, None).outlines
        assert len(outline) < 40
        assert cv2.contourArea(np.array(outline)) == pytest.approx(np.pi * 70**2, rel=0.02)

    def test_too_much_work(self) -> None:
        """A kernel that would take minutes is refused."""
        with pytest.raises(InvalidFieldValueError, match="Field `morphological_kernel_size` asks"):
            moving_regions(np.zeros((1000, 1000), np.uint8), 0, 999, None)


class TestZoneOf:
    @pytest.mark.parametrize("value", [None, [], "", "  ", "null", "[]", (), np.zeros((0, 2))])
    def test_no_zone(self, value: Any) -> None:
        """Nothing in any form is the whole frame."""
        assert zone_of(value) == []

    @pytest.mark.parametrize(
        "value",
        [
            [[0, 0], [9, 0], [9, 9]],
            [(0, 0), (9, 0), (9, 9)],
            np.array([[0, 0], [9, 0], [9, 9]]),
            "[[0, 0], [9, 0], [9, 9]]",
            [[[0, 0], [9, 0], [9, 9]]],
            "[[[0, 0], [9, 0], [9, 9]]]",
        ],
    )
    def test_forms(self, value: Any) -> None:
        """Lists, arrays and JSON text, of one polygon or of several."""
        assert [polygon.tolist() for polygon in zone_of(value)] == [[[0, 0], [9, 0], [9, 9]]]

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ([[0, 0], [9, 9]], "Field `detection_zone` must be at least 3 points, got 2."),
            (
                "żółw",
                "Field `detection_zone` must be a list of points (x, y) or such a list as JSON "
                "text, got 'żółw'.",
            ),
            (
                [[0, 0], [9, None], [9, 9]],
                "Field `detection_zone[1]` must be two finite numbers (x, y), got [9, None].",
            ),
            (7, "Field `detection_zone` must be a list of points (x, y), got 7."),
            ('"abc"', "Field `detection_zone` must be a list of points (x, y), got 'abc'."),
        ],
    )
    def test_bad(self, value: Any, text: str) -> None:
        """The error says what of the zone is wrong."""
        with pytest.raises(InvalidFieldValueError) as caught:
            zone_of(value)
        assert str(caught.value) == text


class TestMotionDetection:
    def test_motion_and_alarm(self) -> None:
        """Nothing while the background is learned; an alarm when motion begins, not while it goes
        on, and again when it comes back."""
        block = MotionDetectionBlockV1()
        scenes = [*[()] * 4, ((10, 40),), ((60, 40),), (), (), ((110, 80),)]
        results = [run(block, frame(pixels_with(*squares))) for squares in scenes]
        assert [r["motion"] for r in results] == [*[False] * 4, True, True, False, False, True]
        assert [r["alarm"] for r in results] == [*[False] * 4, True, False, False, False, True]
        assert [len(r["detections"]) for r in results] == [0, 0, 0, 0, 1, 1, 0, 0, 1]

    def test_detections(self) -> None:
        """A box of class 0 `motion` with confidence 1, an id and the size of the image."""
        block = MotionDetectionBlockV1()
        for _ in range(4):
            empty = run(block, frame(pixels_with()))["detections"]
        assert empty.xyxy.shape == (0, 4)
        assert empty.metadata["image_dimensions"] == [120, 160]
        result = run(block, frame(pixels_with((30, 40))))
        found = result["detections"]
        assert found.xyxy.tolist() == [[30, 40, 54, 64]]
        assert (found.confidence.tolist(), found.class_id.tolist()) == ([1.0], [0])
        assert found.data["class_name"].tolist() == ["motion"]
        assert len(found.data["detection_id"][0]) == 36
        assert len(result["motion_zones"]) == 1

    def test_suppression(self) -> None:
        """The first `history` frames report nothing, or all that differs where that is wanted."""
        moving = [pixels_with((10 + 30 * index, 40)) for index in range(4)]
        block, open_block = MotionDetectionBlockV1(), MotionDetectionBlockV1()
        suppressed = [run(block, frame(pixels))["motion"] for pixels in moving]
        reported = [
            run(open_block, frame(pixels), suppress_first_detections=False)["motion"]
            for pixels in moving
        ]
        assert suppressed == [False, False, False, True]
        assert reported == [True] * 4

    def test_videos_apart(self) -> None:
        """Each video has its own background and its own alarm."""
        block = MotionDetectionBlockV1()
        for _ in range(4):
            run(block, frame(pixels_with(), "a"))
            run(block, frame(pixels_with((90, 10)), "b"))
        assert run(block, frame(pixels_with((10, 40)), "a"))["alarm"]
        assert not run(block, frame(pixels_with((90, 10)), "b"))["motion"]
        assert run(block, frame(pixels_with((10, 40), (90, 10)), "b"))["alarm"]

    def test_videos_are_bounded(self) -> None:
        """The longest unused background is given up."""
        block = MotionDetectionBlockV1()
        for number in range(MOST_VIDEOS + 5):
            run(block, frame(pixels_with()[:9, :9], f"cam {number}"))
        assert len(block._watched) == MOST_VIDEOS

    def test_outside_of_the_zone(self) -> None:
        """What moves outside of the zone is no motion."""
        block = MotionDetectionBlockV1()
        zone = [[80, 0], [159, 0], [159, 119], [80, 119]]
        for _ in range(4):
            run(block, frame(pixels_with()), detection_zone=zone)
        assert not run(block, frame(pixels_with((10, 40))), detection_zone=zone)["motion"]
        result = run(block, frame(pixels_with((70, 40))), detection_zone=zone)
        assert result["detections"].xyxy.tolist() == [[80, 40, 94, 64]]

    def test_gray_and_colour(self) -> None:
        """Gray frames give what colour frames of the same levels give."""
        blocks = {gray: MotionDetectionBlockV1() for gray in (False, True)}
        for squares in [*[()] * 4, ((30, 40),)]:
            boxes = [
                run(block, frame(pixels_with(*squares, gray=gray)))["detections"].xyxy.tolist()
                for gray, block in blocks.items()
            ]
        assert boxes[0] == boxes[1] == [[30, 40, 54, 64]]


class TestBackgroundSubtraction:
    def test_mask(self, run_block: Callable[..., dict[str, Any]]) -> None:
        """White in three channels where something is new, with the lineage of the frame."""
        block = BackgroundSubtractionBlockV1()
        for _ in range(4):
            block.run(frame(pixels_with()), 16, 30)
        result = block.run(frame(pixels_with((30, 40))), 16, 30)
        assert isinstance(result, dict)
        mask = result["image"]
        assert np.array_equal(mask.numpy_image, (pixels_with((30, 40)) > 100) * np.uint8(255))
        assert mask.video_metadata.video_identifier == "cam"
        assert mask.parent_metadata.parent_id == "image"
        first = run_block(BackgroundSubtractionBlockV1, {"image": frame(pixels_with())})
        assert (first["image"].numpy_image == 255).all()

    def test_videos_apart(self) -> None:
        """A frame of one video is nothing new to another."""
        block = BackgroundSubtractionBlockV1()
        for _ in range(3):
            block.run(frame(pixels_with(), "a"), 16, 30)
            block.run(frame(pixels_with((30, 40)), "b"), 16, 30)
        for video, squares in (("a", ()), ("b", ((30, 40),))):
            result = block.run(frame(pixels_with(*squares), video), 16, 30)
            assert isinstance(result, dict)
            assert not result["image"].numpy_image.any()
        assert len(block._models) == 2
