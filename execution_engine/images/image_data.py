"""`WorkflowImageData`: the image that travels between steps. Loading from URLs and files is the
codec's job.
"""

from __future__ import annotations

import base64
from typing import Any

import cv2
import numpy as np

from execution_engine.errors import WorkflowImageLoadError
from execution_engine.images.headers import READABLE_FORMATS
from execution_engine.images.metadata import (
    ImageParentMetadata,
    OriginCoordinatesSystem,
    VideoMetadata,
)

JPEG_QUALITY = 95


class WorkflowImageData:
    """An image with its lineage, held as pixels, a tensor or encoded text and converted when asked.

    Pixels are handed out read-only: a block that needs to write takes a copy, or declares the field
    in `get_parameters_written_in_place` and gets a private writable one.

    Args:
        parent_metadata: the direct parent and this image's place in it.
        workflow_root_ancestor_metadata: the workflow input this image was cut from; the parent when
            None.
        image_reference: URL or path the pixels were read from, kept for reference.
        base64_image: JPEG or PNG as base64 text.
        numpy_image: (h, w, 3) BGR or (h, w) uint8.
        tensor_image: (3, h, w) RGB uint8 torch tensor.
        video_metadata: the frame's place in its video; derived from the parent id when None.

    Raises:
        ValueError: no source of pixels is given.
    """

    __slots__ = (
        "_base64",
        "_numpy",
        "_parent",
        "_root",
        "_still",
        "_tensor",
        "_video",
        "image_reference",
    )

    def __init__(
        self,
        parent_metadata: ImageParentMetadata,
        workflow_root_ancestor_metadata: ImageParentMetadata | None = None,
        image_reference: str | None = None,
        base64_image: str | None = None,
        numpy_image: np.ndarray | None = None,
        tensor_image: Any = None,
        video_metadata: VideoMetadata | None = None,
    ) -> None:
        if numpy_image is None and base64_image is None and tensor_image is None:
            raise ValueError(
                "WorkflowImageData needs pixels: numpy_image, tensor_image or base64_image"
            )
        self._parent = parent_metadata
        self._root = workflow_root_ancestor_metadata or parent_metadata
        self.image_reference = image_reference
        self._base64 = base64_image
        self._numpy = None if numpy_image is None else _read_only(numpy_image)
        self._tensor = tensor_image
        self._video = video_metadata
        self._still: VideoMetadata | None = None

    def __repr__(self) -> str:
        # Debuggers and logs show this: an image that nobody decoded must stay encoded.
        parent = f"parent {self._parent.parent_id!r}"
        if self._numpy is not None:
            height, width, *channels = self._numpy.shape
            count = channels[0] if channels else 1
        elif self._tensor is not None:
            count, height, width = self._tensor.shape
        else:
            return (
                f"WorkflowImageData(base64 text of {len(self._base64 or '')} characters, {parent})"
            )
        what = "channel" if count == 1 else "channels"
        return f"WorkflowImageData({width}x{height} px, {count} {what}, {parent})"

    @property
    def numpy_image(self) -> np.ndarray:
        """Read-only pixels, (h, w, 3) BGR or (h, w), uint8."""
        if self._numpy is None:
            if self._tensor is not None:
                rgb = self._tensor.detach().cpu().numpy()
                pixels = rgb[0] if rgb.shape[0] == 1 else rgb.transpose(1, 2, 0)[:, :, ::-1]
                self._numpy = _read_only(np.ascontiguousarray(pixels))
            else:
                assert self._base64 is not None
                self._numpy = _read_only(decode_image(decode_base64_text(self._base64)))
        return self._numpy

    @property
    def pixels_in_memory(self) -> np.ndarray | None:
        """The pixels as far as they are decoded; None while there is only text or a tensor."""
        return self._numpy

    @property
    def tensor_image(self) -> Any:
        """Pixels as a (3, h, w) RGB uint8 torch tensor ((1, h, w) for single-channel images)."""
        if self._tensor is None:
            import torch

            pixels = self.numpy_image
            channels = pixels[None] if pixels.ndim == 2 else pixels[:, :, ::-1].transpose(2, 0, 1)
            self._tensor = torch.from_numpy(np.array(channels))
        return self._tensor

    @property
    def is_on_cpu(self) -> bool:
        """Whether the pixels lie in the memory of the CPU; asks nothing to be decoded."""
        return self._tensor is None or self._tensor.device.type == "cpu"

    @property
    def base64_image(self) -> str:
        """JPEG (quality 95) as base64 text; the text the image came as when its pixels were never
        changed.
        """
        if self._base64 is None:
            self._base64 = base64.b64encode(encode_jpeg(self.numpy_image)).decode("ascii")
        return self._base64

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) in px."""
        if self._numpy is None and self._tensor is not None:
            return int(self._tensor.shape[-2]), int(self._tensor.shape[-1])
        height, width = self.numpy_image.shape[:2]
        return height, width

    @property
    def parent_metadata(self) -> ImageParentMetadata:
        """The direct parent; this image's own size at (0, 0) is its origin when there is none."""
        self._parent = self._with_origin(self._parent)
        return self._parent

    @property
    def workflow_root_ancestor_metadata(self) -> ImageParentMetadata:
        """The workflow input this image stems from and its place in it."""
        self._root = self._with_origin(self._root)
        return self._root

    @property
    def video_metadata(self) -> VideoMetadata:
        """The frame's place in its video; for a still image its parent id, frame 0, now."""
        if self._video is not None:
            return self._video
        if self._still is None:
            self._still = VideoMetadata(video_identifier=self._parent.parent_id)
        return self._still

    @property
    def has_video_metadata(self) -> bool:
        """Whether the image was given as a frame of a video, so that `video_metadata` is no
        stand-in.
        """
        return self._video is not None

    @property
    def is_derived(self) -> bool:
        """Whether the image was cut from another one (a crop or slice)."""
        return self._parent.parent_id != self._root.parent_id

    @classmethod
    def copy_and_replace(
        cls, origin_image_data: WorkflowImageData, **changed: Any
    ) -> WorkflowImageData:
        """The image with some constructor arguments changed; a new source of pixels drops the old
        ones.
        """
        origin = origin_image_data
        values: dict[str, Any] = {
            "parent_metadata": origin._parent,
            "workflow_root_ancestor_metadata": origin._root,
            "video_metadata": origin._video,
        }
        pixel_sources = {"numpy_image", "tensor_image", "base64_image", "image_reference"}
        if not pixel_sources & changed.keys():
            values.update(
                image_reference=origin.image_reference,
                base64_image=origin._base64,
                numpy_image=origin._numpy,
                tensor_image=origin._tensor,
            )
        else:
            # Lineage is fixed to the old pixels before they go: a resized image keeps its parents'
            # sizes.
            values["parent_metadata"] = (
                origin.parent_metadata if origin.is_derived else origin._parent
            )
        values.update(changed)
        return cls(**values)

    @classmethod
    def create_crop(
        cls,
        origin_image_data: WorkflowImageData,
        crop_identifier: str,
        cropped_image: Any,
        offset_x: int,
        offset_y: int,
        preserve_video_metadata: bool = False,
    ) -> WorkflowImageData:
        """A part of an image with its lineage.

        Args:
            origin_image_data: the image the crop was cut from.
            crop_identifier: id of the crop; becomes its `parent_id`.
            cropped_image: pixels of the crop: an array, or a (c, h, w) RGB uint8 torch tensor.
            offset_x: left edge of the crop in the origin, px.
            offset_y: top edge of the crop in the origin, px.
            preserve_video_metadata: keep the video metadata, the video id extended by the crop id.
        """
        height, width = origin_image_data.size
        root = origin_image_data.workflow_root_ancestor_metadata
        root_origin = root.origin_coordinates
        assert root_origin is not None
        source = "numpy_image" if isinstance(cropped_image, np.ndarray) else "tensor_image"
        video = None
        if preserve_video_metadata and origin_image_data._video is not None:
            known = origin_image_data._video
            video = VideoMetadata(
                video_identifier=f"{known.video_identifier} | crop: {crop_identifier}",
                frame_number=known.frame_number,
                frame_timestamp=known.frame_timestamp,
                fps=known.fps,
                measured_fps=known.measured_fps,
                comes_from_video_file=known.comes_from_video_file,
                total_frames=known.total_frames,
            )
        return cls(
            parent_metadata=ImageParentMetadata(
                crop_identifier, OriginCoordinatesSystem(offset_x, offset_y, width, height)
            ),
            workflow_root_ancestor_metadata=ImageParentMetadata(
                root.parent_id,
                OriginCoordinatesSystem(
                    root_origin.left_top_x + offset_x,
                    root_origin.left_top_y + offset_y,
                    root_origin.origin_width,
                    root_origin.origin_height,
                ),
            ),
            video_metadata=video,
            **{source: cropped_image},
        )

    def to_inference_format(self, numpy_preferred: bool = False) -> dict[str, Any]:
        """`{"type", "value"}` as model clients take it: pixels when preferred or at hand, else
        base64 text.
        """
        if numpy_preferred or self._base64 is None:
            return {"type": "numpy_object", "value": self.numpy_image}
        return {"type": "base64", "value": self._base64}

    def writable_copy(self) -> WorkflowImageData:
        """The same image with pixels of its own that may be written to."""
        image = WorkflowImageData.copy_and_replace(self)
        image._numpy = self.numpy_image.copy()
        image._base64 = image._tensor = None
        return image

    def declare_numpy_image_mutated(self) -> None:
        """Drops the encoded text and the tensor after `numpy_image` was written to."""
        self._base64 = self._tensor = None

    def declare_tensor_image_mutated(self) -> None:
        """Drops the encoded text and the pixels after `tensor_image` was written to."""
        self._base64 = self._numpy = None

    def _with_origin(self, metadata: ImageParentMetadata) -> ImageParentMetadata:
        if metadata.origin_coordinates is not None:
            return metadata
        height, width = self.size
        return ImageParentMetadata(metadata.parent_id, OriginCoordinatesSystem(0, 0, width, height))


def _read_only(pixels: np.ndarray) -> np.ndarray:
    if not isinstance(pixels, np.ndarray):
        raise ValueError(f"an image must be a numpy array, got {type(pixels).__name__}")
    view = pixels.view()
    view.flags.writeable = False
    return view


def decode_base64_text(text: str) -> bytes:
    """Bytes of base64 text, a `data:` prefix tolerated.

    Raises:
        WorkflowImageLoadError: the text is not base64.
    """
    body = text.split(",", 1)[1] if text.startswith("data:") and "," in text else text
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        pass
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError as error:
        raise WorkflowImageLoadError(
            f"Text of {len(text)} characters is not the base64 of an image ({error}).",
            context="workflow_execution | image_decoding",
            inner_error=error,
        ) from error


def decode_image(content: bytes) -> np.ndarray:
    """(h, w, 3) BGR uint8 pixels of an encoded image, turned upright as its EXIF data say.

    Raises:
        WorkflowImageLoadError: the bytes are no image that can be read.
    """
    pixels = None
    if content:
        try:
            pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        except cv2.error as error:
            raise WorkflowImageLoadError(
                f"{len(content)} bytes do not decode as an image: {error}",
                context="workflow_execution | image_decoding",
                inner_error=error,
            ) from error
    if pixels is None:
        raise WorkflowImageLoadError(
            f"{len(content)} bytes do not decode as an image ({READABLE_FORMATS} are read).",
            context="workflow_execution | image_decoding",
        )
    return pixels


def encode_jpeg(pixels: np.ndarray, quality: int = JPEG_QUALITY) -> bytes:
    """JPEG bytes of (h, w, 3) BGR or (h, w) pixels.

    Raises:
        ValueError: the pixels have no area or a shape JPEG cannot hold.
    """
    if pixels.size == 0:
        raise ValueError(f"an image of shape {pixels.shape} has no pixels to encode")
    if pixels.dtype != np.uint8:
        pixels = np.clip(pixels, 0, 255).astype(np.uint8)
    ok, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise ValueError(f"an image of shape {pixels.shape} cannot be encoded as JPEG")
    return encoded.tobytes()
