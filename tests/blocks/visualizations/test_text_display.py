"""`text_display@v1`: place, look and content of the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.visualizations.text_display.drawing import TextBlock, TextStyle, place_in_image
from blocks.visualizations.text_display.v1 import TextDisplayBlockV1, TextDisplayManifest
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry

TYPE = "roboflow_core/text_display@v1"
ANCHORS = [
    "center", "top_left", "top_center", "top_right", "bottom_left", "bottom_center",
    "bottom_right", "center_left", "center_right",
]  # fmt: skip
GREEN = (0, 255, 0)


def image(height: int = 200, width: int = 300, channels: int | None = 3) -> WorkflowImageData:
    shape = (height, width) if channels is None else (height, width, channels)
    return WorkflowImageData(ImageParentMetadata("i"), numpy_image=np.full(shape, 100, np.uint8))


def run(source: WorkflowImageData, **fields: Any) -> np.ndarray:
    step = {"type": TYPE, "name": "t", "image": "$inputs.image", "text": "Hello"} | fields
    values = TextDisplayManifest.model_validate(step).model_dump(exclude={"type", "name", "image"})
    values["text_parameters_operations"] = TextDisplayManifest.model_validate(
        step
    ).text_parameters_operations
    result: Any = TextDisplayBlockV1(CodecRegistry()).run(image=source, **values)
    return result["image"].numpy_image


def box(pixels: np.ndarray, colour: tuple[int, int, int] = GREEN) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the pixels of a colour."""
    rows, columns = np.nonzero((pixels == colour).all(axis=2))
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


class TestPlaceInImage:
    @given(
        st.tuples(st.integers(1, 400), st.integers(1, 400)),
        st.tuples(st.integers(1, 400), st.integers(1, 400)),
        st.sampled_from(ANCHORS),
        st.tuples(st.integers(-500, 500), st.integers(-500, 500)),
    )
    def test_inside(
        self,
        image_wh: tuple[int, int],
        box_wh: tuple[int, int],
        anchor: str,
        offset: tuple[int, int],
    ) -> None:
        """A box that fits lies inside the image; one that does not starts at its edge."""
        place = place_in_image(image_wh, box_wh, anchor, offset)
        for start, length, size in zip(place, box_wh, image_wh, strict=True):
            assert start >= 0
            assert start + length <= size or (length > size and start == 0)

    @pytest.mark.parametrize(
        ("anchor", "expected"),
        [
            ("top_left", (10, 5)),
            ("top_center", (55, 5)),
            ("top_right", (90, 5)),
            ("center", (55, 45)),
            ("center_left", (10, 45)),
            ("center_right", (90, 45)),
            ("bottom_left", (10, 80)),
            ("bottom_center", (55, 80)),
            ("bottom_right", (90, 80)),
        ],
    )
    def test_anchors(self, anchor: str, expected: tuple[int, int]) -> None:
        """The offset moves right and down from the anchor, but not out of the image."""
        assert place_in_image((100, 100), (10, 20), anchor, (10, 5)) == expected


class TestTextBlock:
    STYLE = TextStyle((0, 0, 0), None, 1.0, 1.0, 2, 10, "left", 0)

    def test_size(self) -> None:
        """Padding and further lines add to the size; the longest line makes the width."""
        one = TextBlock("Hello", self.STYLE).size_wh
        two = TextBlock("Hello\nHe", self.STYLE).size_wh
        assert two[0] == one[0]
        assert two[1] > 2 * (one[1] - 20)
        assert TextBlock("He\r\nHello", self.STYLE).size_wh == two

    def test_empty_line(self) -> None:
        """An empty line takes its height and draws nothing."""
        pixels = np.full((200, 200, 3), 255, np.uint8)
        TextBlock("\n\n", self.STYLE).draw(pixels, 0, 0)
        assert (pixels == 255).all()

    @pytest.mark.parametrize("place", [(-50, -20), (190, 190), (1000, 1000), (-1000, 0)])
    def test_outside_is_cut_off(self, place: tuple[int, int]) -> None:
        """A box that lies partly or wholly outside is drawn as far as it can be seen."""
        style = TextStyle((0, 0, 0), GREEN, 1.0, 1.0, 2, 10, "left", 12)
        block = TextBlock("Hello", style)
        big = np.zeros((2400, 2400, 3), np.uint8)
        block.draw(big, place[0] + 1100, place[1] + 1100)
        small = np.zeros((200, 200, 3), np.uint8)
        block.draw(small, *place)
        background = (big[1100:1300, 1100:1300] == GREEN).all(axis=2)
        assert np.array_equal((small == GREEN).all(axis=2), background)


class TestRun:
    def test_box_at_the_anchor(self) -> None:
        """The box stands at the offset from the anchor, with the background's colour in it."""
        drawn = run(image(), background_color="GREEN", text_color="rgb(255, 0, 0)")
        left, top, right, bottom = box(drawn)
        assert (left, top) == (10, 10)
        assert right < 300
        assert bottom < 200
        assert (drawn[top:bottom, left:right, 2] == 255).any()
        outside = drawn.copy()
        outside[top:bottom, left:right] = 100
        assert (outside == 100).all()

    def test_absolute_position(self) -> None:
        """An absolute position is the corner of the box; anchor and offset do not count."""
        drawn = run(
            image(), background_color="GREEN", position_mode="absolute", position_x=33,
            position_y=44, anchor="bottom_right",
        )  # fmt: skip
        assert box(drawn)[:2] == (33, 44)

    @pytest.mark.parametrize("channels", [None, 1, 3, 4])
    def test_channels(self, channels: int | None) -> None:
        """Grey and transparent images become colour images of the same size."""
        source = image(channels=channels)
        drawn = run(source, background_color="GREEN")
        assert drawn.shape == (200, 300, 3)
        assert box(drawn)[:2] == (10, 10)

    def test_input_stays_as_it_is(self) -> None:
        """The image is copied, with `copy_image` off as well."""
        source = image()
        for copy_image in (True, False):
            run(source, copy_image=copy_image)
        assert (source.numpy_image == 100).all()

    def test_opacity(self) -> None:
        """The background is mixed with the image by its opacity."""
        drawn = run(image(), background_color="WHITE", text_color="WHITE", background_opacity=0.5)
        assert drawn[12, 12].tolist() == [178, 178, 178]

    @pytest.mark.parametrize(
        "fields", [{"background_color": "Transparent"}, {"background_opacity": 0.0}]
    )
    def test_no_background(self, fields: dict[str, Any]) -> None:
        """A transparent background leaves the image between the letters as it is."""
        drawn = run(image(), text_color="GREEN", **fields)
        assert drawn[12, 12].tolist() == [100, 100, 100]
        assert (drawn != 100).any()

    def test_round_corners(self) -> None:
        """A border radius leaves the corners of the box free, however large it is."""
        for radius in (8, 10_000):
            drawn = run(image(), background_color="GREEN", border_radius=radius)
            assert drawn[10, 10].tolist() == [100, 100, 100]
            assert box(drawn)[:2] == (10, 10)

    def test_alignment(self) -> None:
        """Shorter lines stand left, in the middle or right."""
        starts = []
        for align in ("left", "center", "right"):
            drawn = run(
                image(), text="i\nlong line", text_color="GREEN", text_align=align, padding=0,
                background_color="transparent", offset_x=0, offset_y=0, font_scale=0.8,
            )  # fmt: skip
            first_line = drawn[:20]
            starts.append(int(np.nonzero((first_line != 100).any(axis=(0, 2)))[0].min()))
        assert starts[0] < 15 < starts[1] < starts[2]

    def test_parameters_and_operations(self) -> None:
        """Places are filled with the values after their operations."""
        filled = run(
            image(), text="n = {{ $parameters.n }}", text_parameters={"n": "$inputs.n"},
            text_parameters_operations={"n": [{"type": "StringToUpperCase"}]},
        )  # fmt: skip
        assert np.array_equal(filled, run(image(), text="n = $INPUTS.N"))

    @pytest.mark.parametrize("size", [(1, 1), (5, 400), (2160, 3840)])
    def test_any_size(self, size: tuple[int, int]) -> None:
        """Images of one pixel and of 4K are drawn on."""
        assert run(image(*size), text="Hello\nWorld").shape == (*size, 3)

    def test_lone_surrogate(self) -> None:
        """Half a character, as JSON escapes can bring it, is drawn as a question mark: OpenCV
        would end the process.
        """
        assert np.array_equal(run(image(), text="a\ud800"), run(image(), text="a?"))

    def test_empty_text_draws_nothing(self) -> None:
        """Without text there is no box."""
        assert (run(image(), text="") == 100).all()

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("text_align", "middle", "text_align must be one of left, center, right, got 'middle'"),
            ("anchor", "top", "anchor must be one of center, top_left"),
            ("position_mode", "x", "position_mode must be one of absolute, relative"),
            ("font_thickness", 0, "`font_thickness` must be a whole number from 1 to .*, got 0"),
            ("padding", -1, "`padding` must be a whole number from 0 to .*, got -1"),
            ("border_radius", -1, "`border_radius` must be a whole number from 0"),
            ("font_scale", 0, "`font_scale` must be a number from 0.01 to 100.0, got 0"),
            # OpenCV ends the process on letters that large.
            ("font_scale", 1e6, "`font_scale` must be a number from 0.01 to 100.0, got 1000000.0"),
            ("font_scale", 2**70, "`font_scale` must be a number from"),
            ("padding", 2**31, "`padding` must be a whole number from 0 to 32767, got 2147483648"),
            ("offset_x", 2**31, "`offset_x` must be a whole number from -32767 to 32767"),
            ("background_opacity", 1.5, "`background_opacity` must be a number from 0.0 to 1.0"),
            ("text_color", "nope", "'nope' is no colour"),
            ("background_color", "nope", "'nope' is no colour"),
        ],
    )
    def test_bad_values_of_references(self, field: str, value: Any, message: str) -> None:
        """What a reference delivers is checked and named as a literal would be."""
        step = {"type": TYPE, "name": "t", "image": "$inputs.image", "text": "Hello"}
        values = TextDisplayManifest.model_validate(step).model_dump(
            exclude={"type", "name", "image"}
        )
        with pytest.raises(ValueError, match=message):
            TextDisplayBlockV1(CodecRegistry()).run(image=image(), **(values | {field: value}))


class TestManifest:
    def test_operations_without_parameter_are_refused(self) -> None:
        """Operations for a parameter that is not there are refused."""
        with pytest.raises(ValidationError, match="'n', which text_parameters does not define"):
            run(image(), text_parameters_operations={"n": []})
