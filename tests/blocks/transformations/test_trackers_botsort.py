"""What is BoT-SORT's own: scores in the overlap, unconfirmed tracks, the motion of the camera."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.transformations.trackers_botsort.bot_sort import BotSort, BotSortOptions
from blocks.transformations.trackers_botsort.camera_motion import CameraMotion, Method, _scaled_up
from blocks.transformations.trackers_botsort.v1 import BotSortTrackerBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.detection_sets import some
from tests.blocks.transformations.test_trackers import step
from tests.blocks.transformations.tracking_scenes import Places, box, ids

METHODS: tuple[Method, ...] = ("orb", "sift", "sparseOptFlow", "ecc")
NONE = np.zeros((0, 4))


def landscape(channels: int = 3) -> np.ndarray:
    """A large picture of spots of all sizes, as nature has them."""
    shape = (700, 900, channels) if channels > 1 else (700, 900)
    rng = np.random.default_rng(7)
    spots = np.zeros(shape, np.float32)
    for size in (2, 6, 18, 50):
        noise = cv2.GaussianBlur(rng.random(shape).astype(np.float32), (0, 0), size)
        spots += (noise - noise.mean()) / noise.std()
    return np.clip(128 + 40 * spots, 0, 255).astype(np.uint8)


LAND = landscape()


def view(
    x: float, y: float, turn: float = 0, zoom: float = 1, land: np.ndarray = LAND
) -> tuple[np.ndarray, np.ndarray]:
    """What a camera of 320 x 240 px sees of the landscape, and the (3, 3) matrix that carries
    places of the picture, px, to the landscape.
    """
    angle = np.deg2rad(turn)
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / zoom
    middle = np.array([160.0, 120.0])
    whole = np.eye(3)
    whole[:2, :2], whole[:2, 2] = turned, np.add(middle, [x, y]) - turned @ middle
    by_centres = whole.copy()
    by_centres[:2, 2] += turned @ [0.5, 0.5] - 0.5
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(land, by_centres[:2], (320, 240), flags=flags), whole


def moved(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(2, 3) what carries places of one view to another."""
    return (np.linalg.inv(second) @ first)[:2]


def farthest(one: np.ndarray, other: np.ndarray) -> float:
    """How far two motions carry the corners of a picture apart, px."""
    corners = np.array([[0, 0, 1], [320, 0, 1], [0, 240, 1], [320, 240, 1]]).T
    return float(np.abs(one @ corners - other @ corners).max())


class TestCameraMotion:
    @pytest.mark.parametrize("downscale", [1, 2])
    @pytest.mark.parametrize(
        ("method", "way", "precision"),
        [
            *((method, (112, 103), 2.5 if method == "orb" else 1.0) for method in METHODS),
            *((method, (97, 100, 2), 2.5) for method in METHODS),
            *((method, (100, 102, -1, 1.05), 2.5) for method in METHODS if method != "ecc"),
        ],
    )
    def test_a_known_motion_is_found(
        self, method: Method, way: Any, precision: float, downscale: int
    ) -> None:
        """Shift, turn and zoom of a camera, with something in front; ECC knows no zoom."""
        before, first = view(100, 100)
        now, second = view(*way)
        front = np.array([[60, 60, 120, 150]])
        for picture in (before, now):
            picture[60:150, 60:120] = 90
        camera = CameraMotion()
        assert camera.to_frame(before, front, method, downscale).tolist() == np.eye(2, 3).tolist()
        got = camera.to_frame(now, front, method, downscale)
        if method == "ecc":
            precision = 4.0
        assert farthest(got, moved(first, second)) < precision

    @pytest.mark.parametrize("method", ["orb", "sift", "sparseOptFlow"])
    def test_objects_do_not_count(self, method: Method) -> None:
        """Most of the picture is one object that moves before a camera that stands."""
        (before, _), (now, _) = view(100, 100), view(100, 100)
        before[:, 80:300] = view(300, 200)[0][:, 80:300]
        now[:, 80:300] = view(310, 205)[0][:, 80:300]
        camera = CameraMotion()
        boxes = np.array([[80.0, 0, 300, 240]])
        camera.to_frame(before, boxes, method, 1)
        assert farthest(camera.to_frame(now, boxes, method, 1), np.eye(2, 3)) < 0.5

    @pytest.mark.parametrize("method", METHODS)
    def test_frames_with_nothing_in_common_tell_no_motion(self, method: Method) -> None:
        """One colour; a picture of one pixel; another size; a box everywhere, not a number."""
        camera = CameraMotion()
        blank = np.full((240, 320, 3), 7, np.uint8)
        dot = np.zeros((1, 1, 3), np.uint8)
        everywhere = np.array([[-9.0, -9, 999, 999], [np.nan, 0, 1, 1]])
        for picture in (blank, blank, view(100, 100)[0], blank, dot, dot, view(100, 100)[0]):
            got = camera.to_frame(picture, everywhere, method, 2)
            assert got.tolist() == np.eye(2, 3).tolist()

    def test_motion_of_pixels_becomes_one_of_places(self) -> None:
        """A quarter turn of 8 x 8 pixels, x' = 7 - y, is one of 16 x 16 px, x' = 16 - y."""
        turn = np.array([[0.0, -1, 7], [1, 0, 0]])
        assert _scaled_up(turn, (8, 8), (16, 16)).tolist() == [[0, -1, 16], [1, 0, 0]]

    @pytest.mark.parametrize("method", METHODS)
    def test_a_cut_is_no_motion(self, method: Method) -> None:
        """Two places of the landscape far apart."""
        camera = CameraMotion()
        camera.to_frame(view(20, 20)[0], NONE, method, 1)
        got = camera.to_frame(view(560, 440)[0], NONE, method, 1)
        assert got.tolist() == np.eye(2, 3).tolist()

    @pytest.mark.parametrize("method", METHODS)
    def test_gray_pictures_and_odd_downscales(self, method: Method) -> None:
        """(h, w) and (h, w, 1); pictures are not changed, even when read-only."""
        land = landscape(1)
        before, first = view(100, 100, land=land)
        now, second = view(106, 97, land=land)
        copies = before.copy(), now.copy()
        before.flags.writeable = now.flags.writeable = False
        camera = CameraMotion()
        camera.to_frame(before, NONE, method, 1)
        got = camera.to_frame(now[..., None], NONE, method, 1)
        assert farthest(got, moved(first, second)) < 1
        assert (before == copies[0]).all()
        assert (now == copies[1]).all()
        assert camera.to_frame(now, NONE, method, 1000).tolist() == np.eye(2, 3).tolist()


class TestBotSort:
    def test_scores_count_in_the_first_association(self) -> None:
        """A jump of 22 px leaves an overlap of 18 / 62 = 0.29, times 0.7 is 0.203."""
        for score, minimum, expected in ((0.7, 0.2, 1), (0.6, 0.2, -1), (0.6, 0.16, 1)):
            frames: list[Places] = [[(50, 100)]] * 5 + [[(72, 100, score)]]
            assert ids("botsort", frames, first_minimum=minimum)[-1] == [expected]

    def test_the_second_association_is_for_what_was_just_seen(self) -> None:
        """Overlap alone counts, 30 / 50; a lost track and noise take no part."""
        close: list[Places] = [[(50, 100)]] * 5 + [[(60, 100, 0.3)]]
        assert ids("botsort", close)[-1] == [1]
        assert ids("botsort", close, second_minimum=0.65)[-1] == [-1]
        noise: list[Places] = [[(50, 100)]] * 5 + [[(50, 100, 0.09)]]
        assert ids("botsort", noise)[-1] == [-1]
        lost: list[Places] = [[(50, 100)]] * 5 + [[], [(50, 100, 0.5)]]
        assert ids("botsort", lost)[-1] == [-1]

    def test_tracks_without_an_id_come_last(self) -> None:
        """They need a threshold of their own, and no uncertain box keeps them."""
        # 28 / 52 x 0.9 = 0.48
        frames: list[Places] = [[(50, 100)], [(62, 100)]]
        assert ids("botsort", frames, unconfirmed_minimum=0.45)[-1] == [1]
        assert ids("botsort", frames, unconfirmed_minimum=0.5)[-1] == [-1]
        assert ids("botsort", [[(50, 100)], [(50, 100, 0.5)], [(50, 100)]])[-1] == [-1]

    def test_objects_of_the_first_frame_may_get_their_ids_at_once(self) -> None:
        """Those that come later wait."""
        frames: list[Places] = [[(50, 100)]] + [[(50, 100), (300, 100)]] * 2
        found = ids("botsort", frames, instant_first_frame=True)
        assert found == [[1], [1, -1], [1, 2]]

    def test_tracks_follow_the_camera(self) -> None:
        """A pan of 60 px, which no overlap survives."""
        pan = np.array([[1.0, 0, 60], [0, 1, 0]])
        for camera, expected in ((pan, 1), (None, -1)):
            tracker, options = BotSort(), BotSortOptions()
            for _ in range(4):
                tracker.update([box(50, 100)], [0.9], options)
            assert tracker.update([box(110, 100)], [0.9], options, camera).tolist() == [expected]


class TestBlock:
    def film(self, enable_cmc: bool, **fields: Any) -> list[list[int]]:
        """Ids of two objects that stand in a landscape over which the camera pans in jerks."""
        block = BotSortTrackerBlockV1()
        spots = np.array([[220.0, 180], [330, 260]])
        found = []
        for number, (x, y) in enumerate(
            [(100, 100), (100, 100), (100, 100), (130, 115), (130, 115), (95, 90), (125, 112)]
        ):
            picture, _ = view(x, y)
            boxes = [box(*(spot - [x, y]), size=24) for spot in spots]
            image = WorkflowImageData(
                ImageParentMetadata("image"),
                numpy_image=picture,
                video_metadata=VideoMetadata("v", number, fps=30),
            )
            result = step(block, image, some(boxes, image, scores=[0.9, 0.9]),
                          enable_cmc=enable_cmc, **fields)  # fmt: skip
            found.append(result["tracked_detections"].tracker_id.tolist())
        return found

    @pytest.mark.parametrize("method", ["orb", "sift", "sparseOptFlow"])
    def test_a_jerky_camera(self, method: Method) -> None:
        """With compensation the ids stay, whatever the method for jumps of this size."""
        expected = [[], *[[1, 2]] * 6]
        assert self.film(True, cmc_method=method) == expected
        assert self.film(True, cmc_method=method, cmc_downscale=1) == expected

    def test_without_compensation(self) -> None:
        """The jerks break the tracks."""
        assert self.film(False) != [[], *[[1, 2]] * 6]

    def test_a_pause_forgets_the_last_picture(self) -> None:
        """What happened while the camera was not looked at is not made up for later."""
        block = BotSortTrackerBlockV1()
        boxes = [box(120, 80, size=24)]
        found = []
        for number, (x, looked_at) in enumerate(
            [(100, True), (100, True), (140, False), (140, True), (140, True)]
        ):
            image = WorkflowImageData(
                ImageParentMetadata("image"),
                numpy_image=view(x, 100)[0],
                video_metadata=VideoMetadata("v", number, fps=30),
            )
            result = step(block, image, some(boxes, image, scores=[0.9]), enable_cmc=looked_at)
            found.append(result["tracked_detections"].tracker_id.tolist())
        assert found == [[], [1], [1], [1], [1]]

    def test_the_first_frame(self) -> None:
        """The field gives ids at once."""
        assert self.film(True, instant_first_frame_activation=True)[0] == [1, 2]
