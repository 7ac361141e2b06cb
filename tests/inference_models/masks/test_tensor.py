"""Masks as torch tensors and back. Needs torch."""

from __future__ import annotations

import numpy as np
import pytest

from inference_models.masks import (
    InstanceMasks,
    MaskError,
    masks_from_tensor,
    masks_to_tensor,
)

torch = pytest.importorskip("torch")


def dense() -> np.ndarray:
    stack = np.random.default_rng(0).random((5, 13, 17)) < 0.3
    stack[2] = False
    stack[3] = True
    return stack


class TestMasksToTensor:
    def test_pixels(self) -> None:
        """The tensor has the masks' pixels, as bool."""
        tensor = masks_to_tensor(InstanceMasks.from_dense(dense()))
        assert tensor.dtype == torch.bool
        np.testing.assert_array_equal(tensor.numpy(), dense())

    def test_none(self) -> None:
        """No masks keep the grid."""
        assert masks_to_tensor(InstanceMasks.empty((3, 4))).shape == (0, 3, 4)

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    def test_on_a_device(self) -> None:
        """On a CUDA device pixels are the same."""
        masks = InstanceMasks.from_dense(dense())
        tensor = masks_to_tensor(masks, "cuda")
        assert tensor.device.type == "cuda"
        np.testing.assert_array_equal(masks_from_tensor(tensor).runs, masks.runs)


class TestMasksFromTensor:
    @pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
    def test_runs(self, dtype: str) -> None:
        """Masks are those of the same numpy array, whatever the type."""
        tensor = torch.from_numpy(dense()).to(getattr(torch, dtype))
        masks = masks_from_tensor(tensor, image_size=(26, 34))
        expected = InstanceMasks.from_dense(dense(), image_size=(26, 34))
        np.testing.assert_array_equal(masks.runs, expected.runs)
        np.testing.assert_array_equal(masks.boxes, expected.boxes)
        assert (masks.mask_size, masks.image_size) == ((13, 17), (26, 34))

    def test_none(self) -> None:
        """No masks keep the grid."""
        assert masks_from_tensor(torch.zeros((0, 3, 4))).mask_size == (3, 4)

    def test_needs_three_axes(self) -> None:
        """One bitmap is not a set of bitmaps."""
        with pytest.raises(MaskError, match=r"must be \(n, h, w\), got shape \(3, 4\)"):
            masks_from_tensor(torch.zeros((3, 4)))
