"""What all visualizations do around the drawing itself: copy, check, keep annotators, answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import cv2
import numpy as np

from blocks.visualizations.anchors import CENTER_OF_MASS
from blocks.visualizations.drawable import drawable, with_centres_of_mass
from blocks.visualizations.palettes import RowColours, row_colours
from execution_engine.block_api import BlockResult, WorkflowBlock, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

T = TypeVar("T")
MOST_SETTINGS = 32


class Prepared:
    """What was made of settings, kept for the next frame; the longest unused is dropped first.

    Safe to use from several threads.

    Args:
        most: things kept at a time.
    """

    def __init__(self, most: int = MOST_SETTINGS) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def get(self, make: Callable[..., T], *settings: Any) -> T:
        """`make(*settings)`, from an earlier call where there was one with equal settings."""
        # 1, 1.0 and True are equal but not the same setting.
        key = (make, settings, tuple(type(value) for value in settings))
        try:
            hash(key)
        except TypeError:
            return make(*settings)
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        result = make(*settings)
        with self._lock:
            self._made[key] = result
            if len(self._made) > self._most:
                self._made.popitem(last=False)
        return result

    def __len__(self) -> int:
        return len(self._made)


class VisualizationBlock(WorkflowBlock):
    """Base of the blocks that draw."""

    returns_futures = False

    def __init__(self) -> None:
        self._prepared = Prepared()

    def colours(
        self, color_palette: str, palette_size: int, custom_colors: list[str], color_axis: str
    ) -> RowColours:
        """The colours that the four colour fields describe."""
        custom = tuple(custom_colors) if isinstance(custom_colors, list) else custom_colors
        return self._prepared.get(row_colours, color_palette, palette_size, custom, color_axis)

    def rows(self, predictions: Any) -> Any:
        """What is given as predictions, in the form that drawing takes."""
        return predictions

    def annotate(
        self,
        image: WorkflowImageData,
        predictions: Any,
        annotator: Any,
        colours: RowColours | None = None,
        *,
        anchor: str = "",
    ) -> BlockResult:
        """The image with the detections drawn by an annotator of supervision.

        Args:
            image: image to draw on.
            predictions: the detections.
            annotator: has `annotate(scene, detections, ...)`.
            colours: colours by row, for annotators made with `colours.palette()`.
            anchor: name of the place of a detection that the annotator draws at.
        """
        pixels = colour_copy(image.numpy_image)
        detections = anchored(self.rows(predictions), pixels.shape[:2], anchor)
        if len(detections):
            options = (
                {} if colours is None else {"custom_color_lookup": colours.indices(detections)}
            )
            pixels = annotator.annotate(scene=pixels, detections=detections, **options)
        return drawn(image, pixels)


def anchored(predictions: Any, image_size: tuple[int, int], anchor: str) -> sv.Detections:
    """`drawable` detections for a drawing at a place of theirs.

    Raises:
        ValueError: as `drawable`; or the place is the centre of mass and there are no masks.
    """
    if anchor != CENTER_OF_MASS:
        return drawable(predictions, image_size, masks=False)
    detections = drawable(predictions, image_size, masks=True)
    if len(detections) and detections.mask is None:
        raise InvalidFieldValueError(
            "CENTER_OF_MASS is a place of masks, and the detections have none; use CENTER"
        )
    return with_centres_of_mass(detections, image_size)


def drawn(image: WorkflowImageData, pixels: np.ndarray) -> BlockResult:
    """`image`: the pixels with the lineage of the image they were drawn on."""
    return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=pixels)}


def colour_copy(pixels: np.ndarray) -> np.ndarray:
    """(h, w, 3) BGR copy, free to be drawn on, of grey, BGR or BGRA pixels."""
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        return cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
    return cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR) if pixels.shape[2] == 4 else pixels.copy()


def sv_colour(bgr: tuple[int, int, int]) -> sv.Color:
    """A colour as annotators take it."""
    import supervision as sv

    return sv.Color.from_bgr_tuple(bgr)
