"""Where images lie in the network's input, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_models.packages.network_config import NetworkInput, StaticCrop
from inference_models.preprocessing import ImageTransform, plan_transform

SIDES = st.integers(1, 4000)
MODES = (
    "stretch",
    "letterbox",
    "letterbox-reflect-edges",
    "center-crop",
    "fit-longer-edge",
    "fit-shorter-edge-center-crop",
)
GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "golden" / "masks.json"


def _network(height: int, width: int, mode: str, **more: Any) -> NetworkInput:
    return NetworkInput.model_validate(
        {"training_input_size": {"height": height, "width": width}, "resize_mode": mode} | more
    )


class TestPlanTransform:
    """`plan_transform`."""

    @pytest.mark.parametrize(
        ("mode", "size", "resized", "network_size", "pads"),
        [
            ("letterbox", (2160, 3840), (360, 640), (640, 640), (0, 140, 0, 140)),
            ("letterbox", (100, 300), (213, 640), (640, 640), (0, 213, 0, 214)),
            ("letterbox", (1, 10000), (1, 640), (640, 640), (0, 319, 0, 320)),
            ("stretch", (100, 300), (640, 640), (640, 640), (0, 0, 0, 0)),
            ("center-crop", (601, 800), (601, 800), (640, 640), (-80, 19, -80, 20)),
            ("fit-longer-edge", (100, 300), (213, 640), (213, 640), (0, 0, 0, 0)),
            (
                "fit-shorter-edge-center-crop",
                (100, 300),
                (640, 1920),
                (640, 640),
                (-640, 0, -640, 0),
            ),
        ],
    )
    def test_known_placements(
        self,
        mode: str,
        size: tuple[int, int],
        resized: tuple[int, int],
        network_size: tuple[int, int],
        pads: tuple[int, int, int, int],
    ) -> None:
        """Sizes and pads of each mode, worked out by hand."""
        transform = plan_transform(size, _network(640, 640, mode))
        assert transform.resized_size == resized
        assert transform.network_size == network_size
        assert transform.pads == pads

    def test_a_side_that_must_fit_exactly_fits_exactly(self) -> None:
        """The deciding side fills the input for every size: no float rounds it to a pixel less."""
        for side in range(1, 2000, 7):
            transform = plan_transform((side, 3 * side), _network(640, 640, "letterbox"))
            assert transform.resized_size[1] == 640

    def test_sides_are_rounded_up_to_a_multiple(self) -> None:
        """A network that takes any multiple of a number gets the next larger one."""
        mode = {"type": "pad-to-be-divisible", "value": 32}
        network = _network(1, 1, "letterbox", dynamic_spatial_size_mode=mode)
        network = network.model_copy(update={"training_input_size": None})
        assert plan_transform((33, 64), network).network_size == (64, 64)
        free = NetworkInput.model_validate({"dynamic_spatial_size_mode": {"type": "any-size"}})
        assert plan_transform((33, 65), free).network_size == (33, 65)

    def test_a_static_crop_is_in_percent_and_never_empty(self) -> None:
        """Percent of the sides, truncated; a crop of a tiny image still has a pixel."""
        crop = StaticCrop(enabled=True, x_min=10, x_max=50, y_min=25, y_max=75)
        transform = plan_transform((101, 205), _network(64, 64, "stretch"), crop)
        assert (transform.crop_offset, transform.crop_size) == ((25, 20), (50, 82))
        tiny = plan_transform((1, 1), _network(64, 64, "stretch"), crop)
        assert (tiny.crop_offset, tiny.crop_size) == ((0, 0), (1, 1))

    def test_the_size_of_the_graph_wins(self) -> None:
        """A graph with a fixed size is given that size."""
        transform = plan_transform((50, 50), _network(640, 640, "stretch"), fixed_size=(32, 48))
        assert transform.network_size == (32, 48)

    @pytest.mark.skipif(not GOLDEN.is_file(), reason="the recorded cases are not here")
    def test_recorded_placements(self) -> None:
        """Pads and crops equal those recorded from a reference implementation."""
        cases = json.loads(GOLDEN.read_text())
        for case in cases:
            names = ("x_min", "y_min", "x_max", "y_max")
            crop = None
            if case["crop"]:
                crop = StaticCrop(enabled=True, **dict(zip(names, case["crop"], strict=True)))
            network = _network(case["Hn"], case["Wn"], case["mode"])
            transform = plan_transform((case["H"], case["W"]), network, crop)
            assert list(transform.pads) == case["pad"], case
            assert list(transform.crop_size) == case["size_after"]
            assert list(transform.crop_offset) == case["offset"]
            # That system maps boxes by the ratio before rounding; the image's pixels follow the
            # rounded one.
            np.testing.assert_allclose(transform.scale_wh, case["scale"], rtol=0.02)


class TestImageTransform:
    """`ImageTransform`."""

    @given(
        size=st.tuples(SIDES, SIDES),
        network=st.tuples(st.integers(1, 1300), st.integers(1, 1300)),
        mode=st.sampled_from(MODES),
        crop=st.tuples(*[st.integers(0, 49)] * 2, *[st.integers(51, 100)] * 2),
        points=st.lists(
            st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)), min_size=1, max_size=8
        ),
    )
    @settings(max_examples=300, deadline=None)
    def test_the_way_back_undoes_the_way_there(
        self,
        size: tuple[int, int],
        network: tuple[int, int],
        mode: str,
        crop: tuple[int, int, int, int],
        points: list[tuple[float, float]],
    ) -> None:
        """For any size, mode and crop, a point of the image comes back to where it was."""
        static = StaticCrop(
            enabled=True, x_min=crop[0], y_min=crop[1], x_max=crop[2], y_max=crop[3]
        )
        transform = plan_transform(size, _network(*network, mode), static)
        xy = np.array(points, dtype=np.float64) * size[::-1]
        back = transform.points_to_image(transform.points_to_network(xy))
        np.testing.assert_allclose(back, xy, atol=1e-6 * max(size))
        boxes = np.concatenate([xy, xy], axis=1)
        there = transform.boxes_to_network(boxes)
        np.testing.assert_allclose(
            transform.boxes_to_image(there), boxes, atol=1e-3 * max(size) / 1000 + 1e-3
        )

    @given(size=st.tuples(SIDES, SIDES), mode=st.sampled_from(("letterbox", "stretch")))
    @settings(max_examples=100, deadline=None)
    def test_the_image_fills_exactly_what_is_not_padding(
        self, size: tuple[int, int], mode: str
    ) -> None:
        """The corners of the image land on the corners of the unpadded region: boxes follow the
        pixels."""
        transform = plan_transform(size, _network(320, 416, mode))
        left, top, right, bottom = transform.pads
        corners = transform.boxes_to_network(np.array([[0, 0, size[1], size[0]]]))
        np.testing.assert_allclose(corners[0], [left, top, 416 - right, 320 - bottom], atol=1e-6)

    def test_boxes_are_clipped_to_the_image(self) -> None:
        """A box that reaches into the padding ends at the border of the image."""
        transform = plan_transform((100, 300), _network(640, 640, "letterbox"))
        boxes = transform.boxes_to_image(np.array([[-50.0, 0.0, 700.0, 640.0]]))
        np.testing.assert_array_equal(boxes, np.array([[0, 0, 300, 100]], dtype=np.float32))

    def test_no_boxes_stay_no_boxes(self) -> None:
        """Zero rows keep their shape and type."""
        transform = plan_transform((100, 300), _network(64, 64, "letterbox"))
        boxes = transform.boxes_to_image(np.zeros((0, 4), dtype=np.float32))
        assert boxes.shape == (0, 4)
        assert boxes.dtype == np.float32

    def test_it_cannot_be_changed(self) -> None:
        """A transform is shared by pixels, boxes and masks, so it is frozen."""
        transform = ImageTransform((1, 1), (0, 0), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0))
        with pytest.raises(AttributeError):
            transform.pads = (1, 1, 1, 1)  # type: ignore[misc]
