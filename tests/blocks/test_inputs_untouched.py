"""Blocks that turn images into images leave the pixels they are given as they are.

One row a block of classical computer vision and of the transformations beside it. What a block
makes of an image is tested beside the block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.auto_rotate_on_edges.v1 import AutoRotateOnEdgesBlockV1
from blocks.classical_cv.background_subtraction.v1 import BackgroundSubtractionBlockV1
from blocks.classical_cv.camera_focus.v1 import CameraFocusBlockV1
from blocks.classical_cv.camera_focus.v2 import CameraFocusBlockV2
from blocks.classical_cv.contours_detection.v1 import ImageContoursBlockV1
from blocks.classical_cv.contrast_enhancement.v1 import ContrastEnhancementBlockV1
from blocks.classical_cv.contrast_equalization.v1 import ContrastEqualizationBlockV1
from blocks.classical_cv.convert_grayscale.v1 import ConvertGrayscaleBlockV1
from blocks.classical_cv.dominant_color.v1 import DominantColorBlockV1
from blocks.classical_cv.image_blur.v1 import ImageBlurBlockV1
from blocks.classical_cv.image_preprocessing.v1 import ImagePreprocessingBlockV1
from blocks.classical_cv.morphological_transformation.v1 import MorphologicalTransformationBlockV1
from blocks.classical_cv.morphological_transformation.v2 import MorphologicalTransformationBlockV2
from blocks.classical_cv.motion_detection.v1 import MotionDetectionBlockV1
from blocks.classical_cv.pixel_color_count.v1 import PixelColorCountBlockV1
from blocks.classical_cv.sift.v1 import SiftBlockV1
from blocks.classical_cv.sift_comparison.v2 import SiftComparisonBlockV2
from blocks.classical_cv.template_matching.v1 import TemplateMatchingBlockV1
from blocks.classical_cv.threshold.v1 import ImageThresholdBlockV1
from blocks.fusion.image_stack.v1 import ImageStackBlockV1
from blocks.transformations.camera_calibration.v1 import CameraCalibrationBlockV1
from blocks.transformations.perspective_correction.v1 import PerspectiveCorrectionBlockV1
from blocks.transformations.stitch_images.v1 import StitchImagesBlockV1
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowBlock, WorkflowImageData

Row = tuple[str, type[WorkflowBlock], dict[str, Any]]

ROWS: list[Row] = [
    ("convert_grayscale", ConvertGrayscaleBlockV1, {}),
    *(
        (f"blur-{kind}", ImageBlurBlockV1, {"blur_type": kind})
        for kind in ("average", "gaussian", "median", "bilateral")
    ),
    *(
        (f"threshold-{kind}", ImageThresholdBlockV1, {"threshold_type": kind, "thresh_value": 90})
        for kind in ("binary", "trunc", "tozero_inv", "otsu", "adaptive_mean", "adaptive_gaussian")
    ),
    ("contours", ImageContoursBlockV1, {}),
    *(
        (f"morphology-v1-{kind}", MorphologicalTransformationBlockV1, {"operation": kind})
        for kind in ("Erosion", "Closing", "Gradient", "Top Hat")
    ),
    *(
        (f"morphology-v2-{kind}", MorphologicalTransformationBlockV2, {"operation": kind})
        for kind in ("Dilation", "Opening then Closing", "Black Hat")
    ),
    *(
        (f"preprocessing-{kind}", ImagePreprocessingBlockV1, {"task_type": kind})
        for kind in ("resize", "rotate", "flip")
    ),
    ("preprocessing-no-turn", ImagePreprocessingBlockV1,
     {"task_type": "rotate", "rotation_degrees": 0}),
    *(
        (f"contrast-{kind}", ContrastEqualizationBlockV1, {"equalization_type": kind})
        for kind in ("Contrast Stretching", "Histogram Equalization", "Adaptive Equalization")
    ),
    ("contrast_enhancement", ContrastEnhancementBlockV1, {"normalize_brightness": True}),
    ("auto_rotate", AutoRotateOnEdgesBlockV1, {}),
    ("background_subtraction", BackgroundSubtractionBlockV1, {}),
    ("motion_detection", MotionDetectionBlockV1, {"suppress_first_detections": False}),
    ("image_stack", ImageStackBlockV1, {}),
    *(
        (f"camera_calibration-{fisheye}", CameraCalibrationBlockV1,
         {"fx": 50, "fy": 50, "cx": 25, "cy": 18, "k1": 0.1, "k2": 0, "k3": 0, "p1": 0, "p2": 0,
          "use_fisheye_model": fisheye})
        for fisheye in (False, True)
    ),
    ("template_matching", TemplateMatchingBlockV1, {}),
    ("dominant_color", DominantColorBlockV1, {}),
    ("pixel_color_count", PixelColorCountBlockV1, {"target_color": "#808080"}),
    ("camera_focus-v1", CameraFocusBlockV1, {}),
    ("camera_focus-v2", CameraFocusBlockV2, {}),
    ("sift", SiftBlockV1, {}),
    ("sift_comparison", SiftComparisonBlockV2, {"visualize": True}),
    ("stitch_images", StitchImagesBlockV1, {}),
    ("perspective_correction", PerspectiveCorrectionBlockV1,
     {"perspective_polygons": [[[2, 30], [5, 4], [40, 6], [44, 33]]], "warp_image": True}),
]  # fmt: skip


def as_image(pixels: np.ndarray) -> WorkflowImageData:
    return WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels)


def scene(channels: int) -> np.ndarray:
    """(37, 51) or (37, 51, 3): random blocks, writable."""
    small = np.random.RandomState(3).randint(0, 256, (8, 11, 3)).astype(np.uint8)
    pixels = small.repeat(5, axis=0).repeat(5, axis=1)[:37, :51]
    return np.ascontiguousarray(pixels if channels == 3 else pixels[:, :, 0])


def run(block: type[WorkflowBlock], literals: dict[str, Any], image: WorkflowImageData) -> Any:
    """One call of a block with the same image for every image field."""
    manifest = block.get_manifest()
    other = as_image(np.ascontiguousarray(image.numpy_image[1:9, 2:12]))
    images = {
        name: other if name == "template" else image
        for name in ("image", "images", "template", "image1", "image2", "input_1", "input_2")
        if name in manifest.model_fields
    }
    type_id = manifest.model_fields["type"].annotation.__args__[0]
    references = {name: f"$inputs.{name}" for name in images}
    step = manifest.model_validate({"type": type_id, "name": "s", **references, **literals})
    arguments: dict[str, Any] = {
        name: getattr(step, name) for name in manifest.model_fields if name not in ("type", "name")
    }
    batched = manifest.get_parameters_accepting_batches()
    arguments |= {name: Batch([i]) if name in batched else i for name, i in images.items()}
    return block().run(**arguments)


def images_in(result: Any) -> list[WorkflowImageData]:
    rows = result if isinstance(result, list) else [result]
    return [value for row in rows for value in row.values() if isinstance(value, WorkflowImageData)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("block", "literals"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
class TestInputsUntouched:
    def test_pixels(
        self, block: type[WorkflowBlock], literals: dict[str, Any], channels: int
    ) -> None:
        """The array given in holds the same values after the call, though it could be written."""
        pixels = scene(channels)
        before = pixels.copy()
        run(block, literals, as_image(pixels))
        assert np.array_equal(pixels, before)

    def test_result_is_independent(
        self, block: type[WorkflowBlock], literals: dict[str, Any], channels: int
    ) -> None:
        """Results are handed out read-only, so that a later step cannot change the input either."""
        found = images_in(run(block, literals, as_image(scene(channels))))
        outputs = block.get_manifest().describe_outputs()
        assert bool(found) is any("image" in output.kind_names for output in outputs)
        for image in found:
            assert not image.numpy_image.flags.writeable

    def test_same_call_twice(
        self, block: type[WorkflowBlock], literals: dict[str, Any], channels: int
    ) -> None:
        """The same input gives the same pixels again: no state and no chance."""
        pixels = scene(channels)
        first, second = (images_in(run(block, literals, as_image(pixels))) for _ in range(2))
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert np.array_equal(one.numpy_image, other.numpy_image)


def test_a_writing_block_is_caught() -> None:
    """A block that draws into its input fails on the read-only pixels."""

    def draws(image: WorkflowImageData) -> None:
        image.numpy_image[0] = 0

    writer: Callable[[WorkflowImageData], None] = draws
    with pytest.raises(ValueError, match="read-only"):
        writer(as_image(scene(3)))
