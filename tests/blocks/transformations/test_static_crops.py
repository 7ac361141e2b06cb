"""`absolute_static_crop@v1` and `relative_statoic_crop@v1`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.transformations.absolute_static_crop.v1 import (
    AbsoluteStaticCropBlockV1,
    AbsoluteStaticCropManifest,
)
from blocks.transformations.relative_static_crop.v1 import (
    RelativeStaticCropBlockV1,
    RelativeStaticCropManifest,
)
from blocks.transformations.static_crop import crop_around
from execution_engine.block_api import (
    Batch,
    ImageParentMetadata,
    VideoMetadata,
    WorkflowImageData,
)


def image(shape: tuple[int, ...] = (120, 160), video: str | None = None) -> WorkflowImageData:
    pixels = np.arange(np.prod(shape), dtype=np.int64).astype(np.uint8).reshape(shape)
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=pixels,
        video_metadata=None if video is None else VideoMetadata(video, frame_number=3),
    )


def absolute(source: WorkflowImageData, *place: int) -> WorkflowImageData | None:
    result: Any = AbsoluteStaticCropBlockV1().run(Batch([source]), *place)
    return result[0]["crops"]


def relative(source: WorkflowImageData, *place: float) -> WorkflowImageData | None:
    result: Any = RelativeStaticCropBlockV1().run(Batch([source]), *place)
    return result[0]["crops"]


def origin(crop: WorkflowImageData) -> tuple[int, int]:
    coordinates = crop.parent_metadata.origin_coordinates
    assert coordinates is not None
    return coordinates.left_top_x, coordinates.left_top_y


class TestCropAround:
    @given(
        st.integers(-20, 40), st.integers(-20, 40), st.integers(1, 50), st.integers(1, 50),
        st.integers(1, 20), st.integers(1, 20),
    )  # fmt: skip
    def test_equals_painting_the_rectangle(
        self, x: int, y: int, width: int, height: int, image_width: int, image_height: int
    ) -> None:
        """The crop is what lies in the rectangle, found pixel by pixel; None for nothing."""
        source = image((image_height, image_width))
        left, top = round(x - width / 2), round(y - height / 2)
        rows = [r for r in range(image_height) if top <= r < top + height]
        columns = [c for c in range(image_width) if left <= c < left + width]
        crop = crop_around(source, x, y, width, height, "p")
        if not rows or not columns:
            assert crop is None
        else:
            assert crop is not None
            assert np.array_equal(crop.numpy_image, source.numpy_image[np.ix_(rows, columns)])
            assert origin(crop) == (columns[0], rows[0])

    @pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0), (-1, 5)])
    def test_size_is_positive(self, width: int, height: int) -> None:
        """A rectangle without area is refused by the side that has none."""
        name, side = ("width", width) if width < 1 else ("height", height)
        with pytest.raises(ValueError, match=f"Field `{name}` must be .* from 1 to .*, got {side}"):
            crop_around(image(), 5, 5, width, height, "p")


class TestAbsoluteRun:
    def test_inside(self) -> None:
        """A rectangle inside the image is cut out whole."""
        crop = absolute(image(), 50, 40, 60, 40)
        assert crop is not None
        assert crop.numpy_image.shape == (40, 60)
        assert origin(crop) == (20, 20)

    def test_clipped(self) -> None:
        """What lies outside the image is left out."""
        crop = absolute(image((120, 160, 3)), 155, 115, 40, 40)
        assert crop is not None
        assert crop.numpy_image.shape == (25, 25, 3)
        assert origin(crop) == (135, 95)

    def test_outside(self) -> None:
        """A rectangle outside the image gives None at its place in the batch."""
        result = AbsoluteStaticCropBlockV1().run(
            Batch([image(), image((900, 900))]), 400, 400, 9, 9
        )
        assert result[0] == {"crops": None}
        assert result[1]["crops"].numpy_image.shape == (9, 9)

    def test_one_pixel_image(self) -> None:
        """An image of one pixel can be cropped."""
        crop = absolute(image((1, 1)), 0, 0, 1, 1)
        assert crop is not None
        assert crop.numpy_image.shape == (1, 1)

    def test_lineage(self) -> None:
        """Each crop has an id of its own and knows its place in the root."""
        first = absolute(image(), 50, 40, 60, 40)
        assert first is not None
        second = absolute(first, 30, 20, 10, 10)
        assert second is not None
        assert second.parent_metadata.parent_id.startswith("absolute_static_crop.")
        assert second.parent_metadata.parent_id != first.parent_metadata.parent_id
        root = second.workflow_root_ancestor_metadata
        assert root.parent_id == "image"
        assert root.origin_coordinates is not None
        assert (root.origin_coordinates.left_top_x, root.origin_coordinates.left_top_y) == (45, 35)

    def test_video_metadata_stays(self) -> None:
        """A crop of a frame is a frame whose video id names the crop."""
        crop = absolute(image(video="cam"), 50, 40, 60, 40)
        assert crop is not None
        metadata = crop.video_metadata
        assert metadata.video_identifier == f"cam | crop: {crop.parent_metadata.parent_id}"
        assert metadata.frame_number == 3

    def test_still_image_stays_still(self) -> None:
        """A crop of no frame is no frame, even after the image was asked for its metadata."""
        source = image()
        assert source.video_metadata.video_identifier == "image"
        crop = absolute(source, 50, 40, 60, 40)
        assert crop is not None
        assert not crop.has_video_metadata
        assert crop.video_metadata.video_identifier == crop.parent_metadata.parent_id


class TestRelativeRun:
    def test_fractions_of_the_image(self) -> None:
        """Place and size are fractions of the image's width and height."""
        crop = relative(image(), 0.5, 0.25, 0.4, 0.3)
        assert crop is not None
        assert crop.numpy_image.shape == (36, 64)
        assert origin(crop) == (48, 12)
        assert crop.parent_metadata.parent_id.startswith("relative_static_crop.")

    def test_whole_image(self) -> None:
        """Full size around the middle is the image."""
        source = image((121, 161))
        crop = relative(source, 0.5, 0.5, 1.0, 1.0)
        assert crop is not None
        assert np.array_equal(crop.numpy_image, source.numpy_image)

    def test_less_than_a_pixel(self) -> None:
        """A rectangle that rounds to nothing gives None."""
        assert relative(image((10, 10)), 0.5, 0.5, 0.01, 0.5) is None

    @pytest.mark.parametrize("place", [(1.5, 0.5, 0.5, 0.5), (0.5, 0.5, -0.1, 0.5)])
    def test_fractions_out_of_range(self, place: tuple[float, ...]) -> None:
        """A reference that delivers no fraction is refused by name."""
        with pytest.raises(ValueError, match=r"`(x_center|width)` must be a number from 0 to 1"):
            relative(image(), *place)


class TestManifests:
    def test_aliases_of_the_image_field(self) -> None:
        """The images may be given as `image`."""
        manifest = AbsoluteStaticCropManifest(
            type="AbsoluteStaticCrop", name="c", image="$inputs.image",
            x_center=1, y_center=1, width=1, height=1,
        )  # fmt: skip
        assert manifest.images == "$inputs.image"

    def test_literals_out_of_range(self) -> None:
        """Literal sizes must be positive pixels, or fractions."""
        with pytest.raises(ValidationError):
            AbsoluteStaticCropManifest(
                type="AbsoluteStaticCrop", name="c", images="$inputs.image",
                x_center=1, y_center=1, width=0, height=1,
            )  # fmt: skip
        with pytest.raises(ValidationError):
            RelativeStaticCropManifest(
                type="RelativeStaticCrop", name="c", images="$inputs.image",
                x_center=1.2, y_center=1, width=0.5, height=1,
            )  # fmt: skip
