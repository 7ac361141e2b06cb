"""Images of requests: whose bytes travel, what is encoded and what is refused."""

from __future__ import annotations

import base64
from datetime import datetime
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import RuntimeInputError
from execution_engine.images.codec import ImageCodec
from execution_engine.images.metadata import ImageParentMetadata, VideoMetadata
from workflows.remote.images import ImageWriter


def decoded(image: dict[str, Any]) -> np.ndarray:
    content = np.frombuffer(base64.b64decode(image["value"]), np.uint8)
    pixels = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    return pixels


@pytest.fixture
def writer() -> ImageWriter:
    """Writes PNG and reads local files."""
    return ImageWriter(ImageCodec(allow_local_files=True))


class TestWrite:
    def test_files_travel_as_they_are(self, writer: ImageWriter, picture_file: Path) -> None:
        """A path, as object or as text, sends the bytes of the file."""
        expected = base64.b64encode(picture_file.read_bytes()).decode()
        for given in (picture_file, str(picture_file), {"type": "file", "value": picture_file}):
            assert writer.write("image", given) == {"type": "base64", "value": expected}

    def test_bytes_travel_as_they_are(self, writer: ImageWriter, picture: np.ndarray) -> None:
        """Encoded images are not encoded again, whatever their format."""
        for suffix in (".png", ".jpg", ".webp"):
            content = cv2.imencode(suffix, picture)[1].tobytes()
            written = writer.write("image", content)
            assert base64.b64decode(written["value"]) == content

    def test_base64_text_and_addresses_travel_as_they_are(
        self, writer: ImageWriter, picture: np.ndarray
    ) -> None:
        """An address is for the server to fetch; nothing is fetched here."""
        text = base64.b64encode(cv2.imencode(".png", picture)[1].tobytes()).decode()
        assert writer.write("image", text) == {"type": "base64", "value": text}
        url = "https://example.org/a.png?token=1"
        assert writer.write("image", url) == {"type": "url", "value": url}

    @pytest.mark.parametrize("shape", [(5, 7, 3), (5, 7), (1, 1, 3), (5, 7, 1)])
    def test_pixels_lose_nothing_as_png(self, writer: ImageWriter, shape: tuple[int, ...]) -> None:
        """Colour, grey, one pixel."""
        pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
        expected = pixels[:, :, 0] if shape[-1] == 1 else pixels
        np.testing.assert_array_equal(decoded(writer.write("image", pixels)), expected)

    def test_alpha_is_dropped_as_in_a_local_run(self, writer: ImageWriter) -> None:
        """Four channels become three."""
        pixels = np.full((4, 4, 4), 200, np.uint8)
        assert decoded(writer.write("image", pixels)).shape == (4, 4, 3)

    def test_jpeg_is_smaller(self, picture: np.ndarray) -> None:
        """The quality counts."""
        noise = np.random.default_rng(2).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        sizes = [
            len(ImageWriter(ImageCodec(), "jpeg", quality).write("image", noise)["value"])
            for quality in (30, 95)
        ]
        assert sizes[0] < sizes[1] < len(ImageWriter(ImageCodec()).write("image", noise)["value"])

    def test_lineage_and_frame_travel_along(self, writer: ImageWriter) -> None:
        """A crop keeps its parents, a frame its place in the video."""
        video = VideoMetadata("cam", 7, datetime(2026, 1, 2), fps=12)
        whole = WorkflowImageData(
            ImageParentMetadata("frame"),
            numpy_image=np.zeros((40, 50, 3), np.uint8),
            video_metadata=video,
        )
        crop = WorkflowImageData.create_crop(
            whole, "crop-1", whole.numpy_image[10:20, 5:25], 5, 10, preserve_video_metadata=True
        )
        written = writer.write("image", crop)
        again = ImageCodec().load("image", written, "image")
        assert again.parent_metadata == crop.parent_metadata
        assert again.workflow_root_ancestor_metadata == crop.workflow_root_ancestor_metadata
        assert again.video_metadata == crop.video_metadata
        assert writer.write("image", whole)["video_metadata"] == video.to_dict()

    def test_objects_keep_their_other_members(
        self, writer: ImageWriter, picture: np.ndarray
    ) -> None:
        """Frames are given as pixels with metadata."""
        video = VideoMetadata("cam", 1, datetime(2026, 1, 2))
        written = writer.write(
            "image", {"type": "numpy_object", "value": picture, "video_metadata": video}
        )
        assert written["type"] == "base64"
        assert written["video_metadata"] == video.to_dict()

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (np.zeros((4, 4, 3), np.float32), "`image` was given as an array of float32"),
            (b"no image", "`image` was given as bytes"),
            ("no-such-file.png", "neither a file that exists nor base64"),
            (Path("no-such-file.png"), "no file that exists"),
            (7, "a value of type int"),
            ({"type": "base64"}, "without `value`"),
            ({"type": "numpy", "value": "gASV"}, "never accepted"),
        ],
    )
    def test_refuses_what_is_no_image(self, writer: ImageWriter, value: Any, words: str) -> None:
        """With the class and the words of a local run, before anything is sent."""
        with pytest.raises(RuntimeInputError, match=words):
            writer.write("image", value)

    def test_a_file_that_is_no_image_is_not_sent(self, writer: ImageWriter, tmp_path: Path) -> None:
        """A slip in a path must not upload another file."""
        secret = tmp_path / "id_rsa"
        secret.write_text("-----BEGIN KEY-----")
        with pytest.raises(RuntimeInputError, match="no image of a known format"):
            writer.write("image", secret)

    def test_files_are_read_only_where_the_settings_allow(self, picture_file: Path) -> None:
        """The settings of this side hold for what it reads."""
        writer = ImageWriter(ImageCodec(allow_local_files=False))
        for given in (picture_file, {"type": "file", "value": str(picture_file)}):
            with pytest.raises(RuntimeInputError, match="not permitted here"):
                writer.write("image", given)

    @pytest.mark.parametrize(
        ("options", "words"),
        [({"image_format": "gif"}, "png, jpeg"), ({"jpeg_quality": 0}, r"1\.\.100")],
    )
    def test_refuses_unknown_formats(self, options: dict[str, Any], words: str) -> None:
        """The text lists what there is."""
        with pytest.raises(ValueError, match=words):
            ImageWriter(ImageCodec(), **options)
