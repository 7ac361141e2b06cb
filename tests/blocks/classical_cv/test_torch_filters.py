"""The filters for pixels on a GPU, run on the CPU and held against OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.channels import to_gray
from blocks.classical_cv.convert_grayscale.v1_tensor import tensor_to_gray
from blocks.classical_cv.image_blur.family import blur
from blocks.classical_cv.image_blur.torch_filters import tensor_blur
from blocks.classical_cv.image_preprocessing.family import resize
from blocks.classical_cv.image_preprocessing.v1_tensor import tensor_shrunk
from blocks.classical_cv.morphological_transformation.family import transform
from blocks.classical_cv.morphological_transformation.torch_filters import tensor_transform
from blocks.classical_cv.morphological_transformation.v2 import OPERATIONS_V2
from blocks.classical_cv.threshold.family import threshold
from blocks.classical_cv.threshold.v1_tensor import FIXED, tensor_threshold
from tests.blocks.detection_sets import an_image

torch = pytest.importorskip("torch")

SCENES = [(size, channels) for size in ((31, 45), (6, 3), (1, 1), (1, 9)) for channels in (1, 3)]


@pytest.fixture(params=SCENES, ids=str)
def scene(request: pytest.FixtureRequest) -> Any:
    """An image of random pixels, which holds both forms."""
    size, channels = request.param
    return an_image(size, channels=channels)


def bgr(pixels: Any) -> np.ndarray:
    """(c, h, w) RGB as an array of the numpy side."""
    array = pixels.numpy()
    return array[0] if len(array) == 1 else array.transpose(1, 2, 0)[:, :, ::-1]


def distance(pixels: Any, expected: np.ndarray) -> int:
    """The largest difference in gray levels; both must be bytes of one shape."""
    found = bgr(pixels)
    assert found.dtype == expected.dtype == np.uint8
    assert found.shape == expected.shape
    return int(np.abs(found.astype(int) - expected.astype(int)).max())


class TestBlur:
    @pytest.mark.parametrize("size", [1, 3, 4, 9, 15])
    @pytest.mark.parametrize("kind", ["average", "gaussian", "median", "bilateral"])
    def test_against_opencv(self, scene: Any, kind: str, size: int) -> None:
        """The median is the same, gaussian windows of this size two gray levels off at most."""
        if size % 2 == 0 and kind in ("gaussian", "median"):
            with pytest.raises(ValueError, match="odd"):
                tensor_blur(scene.tensor_image, kind, size)
            return
        expected = blur(scene.numpy_image, kind, size)
        found = tensor_blur(scene.tensor_image, kind, size)
        assert distance(found, expected) <= {"median": 0, "gaussian": 2}.get(kind, 1)


class TestMorphology:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 60])
    @pytest.mark.parametrize("operation", OPERATIONS_V2)
    def test_same_bytes(self, scene: Any, operation: str, size: int) -> None:
        """Minima and maxima are exact, at the border and for even windows too."""
        expected = transform(scene.numpy_image, size, operation, OPERATIONS_V2)
        found = tensor_transform(scene.tensor_image, size, operation, OPERATIONS_V2)
        assert distance(found, expected) == 0


class TestThreshold:
    @pytest.mark.parametrize("level", [-(10**6), -1, 0, 100, 254, 255, 256, 10**9])
    @pytest.mark.parametrize("kind", FIXED)
    def test_same_bytes(self, scene: Any, kind: str, level: int) -> None:
        """All types that compare with a fixed level are exact, whatever the level."""
        expected = threshold(scene.numpy_image, kind, level, 201)
        assert distance(tensor_threshold(scene.tensor_image, kind, level, 201), expected) == 0


class TestGrayscale:
    def test_every_colour_of_a_cube(self) -> None:
        """The fixed-point sum of OpenCV, on 52^3 colours."""
        levels = np.arange(0, 256, 5, dtype=np.uint8)
        colours = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 52, 3)
        rgb = torch.from_numpy(colours[:, :, ::-1].transpose(2, 0, 1).copy())
        assert distance(tensor_to_gray(rgb), to_gray(colours)) == 0


class TestShrinking:
    @pytest.mark.parametrize("size", [(1, 1), (7, 5), (31, 45), (15, 44), (30, 1)])
    def test_against_opencv(self, size: tuple[int, int]) -> None:
        """Means of covered areas, within one gray level."""
        image = an_image((31, 45))
        found = tensor_shrunk(image.tensor_image, size)
        assert distance(found, resize(image.numpy_image, size[1], size[0])) <= 1


class TestDeviceChoice:
    def test_pixels_of_a_gpu_stay_there(self) -> None:
        """A tensor that is not on the CPU is not decoded to find that out."""
        from execution_engine.block_api import ImageParentMetadata, WorkflowImageData

        pixels = torch.empty((3, 4, 5), dtype=torch.uint8, device="meta")
        image = WorkflowImageData(ImageParentMetadata("i"), tensor_image=pixels)
        assert not image.is_on_cpu
        assert image.size == (4, 5)
        assert an_image().is_on_cpu
