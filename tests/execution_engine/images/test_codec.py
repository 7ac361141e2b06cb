from __future__ import annotations

import base64
import pickle
import struct
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.errors import WorkflowImageLoadError
from execution_engine.images import (
    ImageCodec,
    ImageParentMetadata,
    OriginCoordinatesSystem,
    VideoMetadata,
    WorkflowImageData,
)
from execution_engine.kinds.codec import DecodingContext

PIXELS = np.random.default_rng(1).integers(0, 255, (12, 16, 3), np.uint8)


def encoded(extension: str = ".png", pixels: np.ndarray = PIXELS) -> bytes:
    ok, content = cv2.imencode(extension, pixels)
    assert ok
    return content.tobytes()


def text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def load(value: Any, codec: ImageCodec | None = None, **context: Any) -> WorkflowImageData:
    return (codec or ImageCodec()).load("image", value, "image", DecodingContext(None, **context))


def refusal(value: Any, codec: ImageCodec | None = None, **context: Any) -> str:
    with pytest.raises(WorkflowImageLoadError) as caught:
        load(value, codec, **context)
    return caught.value.public_message


def jpeg_with_orientation(orientation: int) -> bytes:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40] = 255
    content = encoded(".jpg", pixels)
    exif = b"Exif\x00\x00II*\x00" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    return content[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + content[2:]


def huge_png(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims a size."""

    def chunk(name: bytes, body: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + checksum

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


class TestArrays:
    def test_colour(self) -> None:
        """An array (h, w, 3) is taken as it is, read-only, with the input's name as its id."""
        image = load(PIXELS)
        assert np.array_equal(image.numpy_image, PIXELS)
        assert not image.numpy_image.flags.writeable
        assert image.parent_metadata.parent_id == "image"

    def test_single_channel(self) -> None:
        """(h, w) stays, (h, w, 1) loses its last axis."""
        assert load(PIXELS[:, :, 0]).numpy_image.shape == (12, 16)
        assert load(PIXELS[:, :, :1]).numpy_image.shape == (12, 16)

    def test_alpha_is_dropped(self) -> None:
        """(h, w, 4) BGRA becomes its three colour channels."""
        bgra = np.dstack([PIXELS, np.full((12, 16), 7, np.uint8)])
        assert np.array_equal(load(bgra).numpy_image, PIXELS)

    @pytest.mark.parametrize(
        ("array", "words"),
        [
            (np.zeros((4, 4, 3), np.float32), "float32.*uint8.*255"),
            (np.zeros((4, 4), bool), "bool"),
            (np.zeros((4, 4, 3), np.uint16), "uint16.*scale"),
            (np.zeros((0, 4, 3), np.uint8), "no pixels"),
            (np.zeros((4, 0), np.uint8), "no pixels"),
            (np.zeros((3, 40, 40), np.uint8), "channels come first"),
            (np.zeros((4, 4, 2), np.uint8), "shape"),
            (np.zeros(4, np.uint8), "shape"),
            (np.zeros((1, 4, 4, 3), np.uint8), "shape"),
        ],
    )
    def test_refused(self, array: np.ndarray, words: str) -> None:
        """Other types, shapes and areas of nothing are refused with what is expected."""
        with pytest.raises(WorkflowImageLoadError, match=f"`image`.*{words}"):
            load(array)

    def test_image_data_passes(self) -> None:
        """A ready image is returned itself."""
        image = load(PIXELS)
        assert load(image) is image

    def test_other_types(self) -> None:
        """Anything else is refused with what is accepted."""
        assert "type int; expected a uint8 array" in refusal(5)


class TestChannels:
    @pytest.mark.parametrize("extension", [".png", ".jpg"])
    def test_encoded_image_of_one_channel(self, extension: str) -> None:
        """Pixels (h, w) that had to be encoded come back as (h, w) where the object says so."""
        gray = np.arange(48, dtype=np.uint8).reshape(6, 8)
        content = cv2.imencode(extension, gray)[1].tobytes()
        value = {"type": "base64", "value": base64.b64encode(content).decode()}
        colour = ImageCodec().load("image", value, "image").numpy_image
        single = ImageCodec().load("image", {**value, "channels": 1}, "image").numpy_image
        assert colour.shape == (6, 8, 3)
        assert single.shape == (6, 8)
        np.testing.assert_array_equal(single, colour[:, :, 0])


class TestTensors:
    def make(self, shape: tuple[int, ...], dtype: str) -> Any:
        tensor_class = type("Tensor", (), {"__module__": "torch", "shape": shape, "dtype": dtype})
        return tensor_class()

    def test_taken(self) -> None:
        """A uint8 tensor (3, h, w) becomes the tensor of the image."""
        tensor = self.make((3, 5, 6), "torch.uint8")
        assert load({"type": "tensor", "value": tensor}).tensor_image is tensor

    def test_refused(self) -> None:
        """Float tensors and channels-last ones are refused."""
        assert "torch.float32" in refusal(self.make((3, 5, 6), "torch.float32"))
        assert "(5, 6, 3)" in refusal(self.make((5, 6, 3), "torch.uint8"))


class TestText:
    @pytest.mark.parametrize("extension", [".png", ".webp", ".bmp", ".tiff", ".avif", ".jpg"])
    def test_base64_of_every_format(self, extension: str) -> None:
        """Base64 text of each readable format decodes as OpenCV decodes the bytes."""
        content = encoded(extension)
        expected = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        assert np.array_equal(load(text(content)).numpy_image, expected)

    @pytest.mark.parametrize("declared", ["base64", "url", "file_like", None])
    def test_content_decides_not_the_type(self, declared: str | None) -> None:
        """What a text is, is told from the text."""
        image = load({"type": declared, "value": text(encoded())})
        assert np.array_equal(image.numpy_image, PIXELS)

    def test_data_uri_and_line_breaks(self) -> None:
        """A `data:` prefix and line breaks do not matter."""
        broken = "\n".join(text(encoded())[i : i + 60] for i in range(0, 900, 60))
        assert np.array_equal(load("data:image/png;base64," + broken).numpy_image, PIXELS)

    def test_text_is_kept(self) -> None:
        """Text goes out as it came in, without its prefix, until pixels change."""
        source = text(encoded())
        assert load(source).base64_image == source
        assert load(f"data:image/png;base64,{source}").base64_image == source
        changed = WorkflowImageData.copy_and_replace(load(source), numpy_image=PIXELS[:5])
        assert changed.base64_image != source

    def test_bytes(self) -> None:
        """Encoded bytes are read as well."""
        assert np.array_equal(load(encoded()).numpy_image, PIXELS)

    @pytest.mark.parametrize("value", ["zzz", "", "not base64 at all!", "../../etc/passwd"])
    def test_not_base64(self, value: str) -> None:
        """Text that is no image is refused by the name of the input."""
        assert refusal({"type": "base64", "value": value}).startswith("The image `image` was given")

    def test_base64_of_something_else(self) -> None:
        """Bytes of no image format name the formats that are read."""
        assert "JPEG, PNG, WebP" in refusal(text(b"just some words"))

    def test_cut_off_image(self) -> None:
        """A PNG that ends in its header is refused."""
        assert "bytes" in refusal(text(encoded()[:40]))

    def test_exif_turns_upright(self) -> None:
        """A photo with an EXIF orientation comes out upright."""
        upright = load(text(jpeg_with_orientation(6))).numpy_image
        assert upright.shape[:2] == (80, 40)
        assert upright[:40].mean() > 250
        assert upright[40:].mean() < 5

    def test_gray_file_gets_three_channels(self) -> None:
        """Encoded images come as BGR also when they hold one channel."""
        assert load(text(encoded(".png", PIXELS[:, :, 0]))).numpy_image.shape == (12, 16, 3)


class TestPixelLimit:
    def test_claimed_size_is_enough(self) -> None:
        """A tiny file that claims a huge image is refused from its header."""
        message = refusal(text(huge_png(100_000, 100_000)))
        assert "100000x100000 px" in message
        assert "178956970" in message

    def test_limit_is_inclusive(self) -> None:
        """Exactly the limit passes, one pixel less does not."""
        source = text(encoded())
        load(source, ImageCodec(max_pixels=12 * 16))
        assert "16x12" in refusal(source, ImageCodec(max_pixels=12 * 16 - 1))


class TestUrls:
    def test_refused_by_default(self) -> None:
        """URLs are off, and the text shows the host but not the query with its token."""
        message = refusal("https://example.com/a.png?token=SECRET")
        assert "host example.com" in message
        assert "SECRET" not in message

    def test_fetched_by_the_host(self) -> None:
        """An allowed URL goes through the host's function and is kept as reference."""
        asked: list[str] = []

        def fetch(url: str) -> bytes:
            asked.append(url)
            return encoded()

        codec = ImageCodec(allow_urls=True, fetch_url=fetch)
        image = load({"type": "url", "value": "HTTP://example.com/a.png"}, codec)
        assert np.array_equal(image.numpy_image, PIXELS)
        assert asked == [image.image_reference] == ["HTTP://example.com/a.png"]

    def test_failed_fetch(self) -> None:
        """A failure of the host's function becomes an error about this input."""

        def fetch(url: str) -> bytes:
            raise TimeoutError("too slow")

        assert "too slow" in refusal("http://a/b", ImageCodec(allow_urls=True, fetch_url=fetch))

    def test_needs_a_fetcher(self) -> None:
        """Allowing URLs without a way to fetch them is a mistake of the host."""
        with pytest.raises(ValueError, match="fetch_url"):
            ImageCodec(allow_urls=True)


class TestFiles:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "image.png"
        path.write_bytes(encoded())
        return path

    def test_refused_by_default(self, path: Path) -> None:
        """No form of a path is read unless the host allows files."""
        for value in (path, str(path), {"type": "file", "value": str(path)}):
            assert "local files" in refusal(value)

    def test_allowed(self, path: Path) -> None:
        """With permission a path, as text or as `Path`, is read and kept as reference."""
        codec = ImageCodec(allow_local_files=True)
        for value in (path, str(path), {"type": "file", "value": str(path)}):
            image = load(value, codec)
            assert np.array_equal(image.numpy_image, PIXELS)
            assert image.image_reference == str(path)

    def test_run_forbids(self, path: Path) -> None:
        """A run may forbid what the host allows."""
        codec = ImageCodec(allow_local_files=True)
        message = refusal(path, codec, prevent_local_images_loading=True)
        assert "not permitted" in message

    def test_no_regular_file(self, tmp_path: Path) -> None:
        """Folders and devices are not read."""
        codec = ImageCodec(allow_local_files=True)
        for path in (tmp_path, Path("/dev/zero")):
            assert "no regular file" in refusal(path, codec)

    def test_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path to nothing is named, with the folder where relative ones start; a name may be
        base64 by chance.
        """
        codec = ImageCodec(allow_local_files=True)
        gone = str(tmp_path / "gone.png")
        assert refusal({"type": "file", "value": gone}, codec) == (
            f"The image `image` was given as the text '{gone}', which is no file that exists."
        )
        monkeypatch.chdir(tmp_path)
        (tmp_path / "images").mkdir()
        for value in ("street.png", "street", "images/street01", "car1"):
            assert refusal(value, codec) == (
                f"The image `image` was given as the text '{value}', which is neither a file that "
                f"exists nor base64; relative paths start at {tmp_path}."
            )
        assert refusal("images", codec) == (
            "The image `image` was given as the text 'images', which is a folder, not a file."
        )
        assert refusal("", codec) == "The image `image` was given as an empty text."


class TestSerialisedNumpy:
    def test_never_read(self) -> None:
        """Pickled arrays are refused under every policy and never loaded."""

        class Bomb:
            def __reduce__(self) -> Any:
                return (pytest.fail, ("a pickle was loaded",))

        content = pickle.dumps(Bomb())
        codec = ImageCodec(allow_local_files=True, allow_urls=True, fetch_url=lambda _: content)
        for value in (content, text(content)):
            assert "never accepted" in refusal({"type": "numpy", "value": value}, codec)
            assert "known format" in refusal(value, codec)


class TestMappings:
    def test_lineage(self) -> None:
        """Parents and origins given with an image are its lineage."""
        image = load(
            {
                "type": "numpy_object",
                "value": PIXELS,
                "parent_id": "crop-1",
                "parent_origin": {"offset_x": 1, "offset_y": 2, "width": 30, "height": 40},
                "root_parent_id": "root",
                "root_parent_origin": {"offset_x": 5, "offset_y": 6, "width": 70, "height": 80},
            }
        )
        assert image.parent_metadata == ImageParentMetadata(
            "crop-1", OriginCoordinatesSystem(1, 2, 30, 40)
        )
        assert image.workflow_root_ancestor_metadata == ImageParentMetadata(
            "root", OriginCoordinatesSystem(5, 6, 70, 80)
        )
        assert image.is_derived

    def test_parent_id_alone(self) -> None:
        """A parent id without the rest makes the image its own root."""
        image = load({"type": "numpy_object", "value": PIXELS, "parent_id": "frame-7"})
        assert image.workflow_root_ancestor_metadata.parent_id == "frame-7"
        assert not image.is_derived

    def test_video_metadata(self) -> None:
        """Video metadata come as object or as JSON."""
        given = VideoMetadata("cam", 3, datetime(2026, 1, 2), fps=25)
        as_json = {
            "video_identifier": "cam",
            "frame_number": 3,
            "frame_timestamp": "2026-01-02T00:00:00",
            "fps": 25,
        }
        for value in (given, as_json):
            image = load({"type": "numpy_object", "value": PIXELS, "video_metadata": value})
            assert image.video_metadata == given

    def test_video_metadata_of_a_ready_image(self) -> None:
        """A ready image keeps its pixels and gets the metadata."""
        given = VideoMetadata("cam", 3)
        image = load({"value": load(PIXELS), "video_metadata": given})
        assert image.video_metadata is given
        assert np.array_equal(image.numpy_image, PIXELS)

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ({"type": "base64"}, r"without `value`"),
            ({"value": PIXELS, "video_metadata": 5}, "video_metadata.*int"),
            ({"value": PIXELS, "video_metadata": {"video_identifier": "a"}}, "frame_number"),
            ({"value": PIXELS, "parent_origin": {"offset_x": 1}}, "parent_origin.*offset_y"),
            ({"value": PIXELS, "root_parent_origin": "x"}, "root_parent_origin.*str"),
        ],
    )
    def test_refused(self, value: Any, words: str) -> None:
        """What is missing or wrong is named."""
        with pytest.raises(WorkflowImageLoadError, match=words):
            load(value)
