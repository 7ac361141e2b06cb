"""Dynamic Crop, version 1, on tensors: crops are views of the image's tensor.

Boxes and masks are placed by the code of the numpy side, on the few numbers a row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor
from blocks.transformations.dynamic_crop.cropping import Bgr, Pixels, brightness, cut_out
from blocks.transformations.dynamic_crop.v1 import DynamicCropBlockV1
from blocks.transformations.windows import tensor_window
from execution_engine.block_api import WorkflowImageData
from execution_engine.kinds.representation import TENSOR

if TYPE_CHECKING:
    import supervision as sv


class DynamicCropTensorBlockV1(DynamicCropBlockV1):
    representation: ClassVar[str] = TENSOR

    def rows(self, detections: Any) -> sv.Detections:
        """The rows with their masks on the host."""
        return to_numpy(detections)

    def cut(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        mask_opacity: float,
        background: Bgr,
    ) -> Sequence[tuple[WorkflowImageData, Any] | None]:
        """Crops as tensors on the device of the image, detections on tensors beside them."""
        pixels = Pixels(tensor_window, tensor_on_background)
        device = "cpu" if image.is_on_cpu else str(image.tensor_image.device)
        return [
            None if found is None else (found[0], to_tensor(found[1], device))
            for found in cut_out(image, detections, mask_opacity, background, pixels)
        ]


def tensor_on_background(
    pixels: Any, outside: NDArray[np.bool_], opacity: float, colour: Bgr
) -> Any:
    """The pixels (c, h, w) RGB with the colour over all that is outside a mask.

    The arithmetic is that of the numpy side in double precision, so that the bytes are the same.
    """
    import torch

    where = torch.from_numpy(outside).to(pixels.device)
    shades = list(reversed(colour)) if pixels.shape[0] == 3 else [brightness(colour)]
    shade = torch.tensor(shades, dtype=torch.float64, device=pixels.device)
    covered = pixels[:, where].double() * (1 - opacity) + (shade * opacity)[:, None]
    result = pixels.clone()
    result[:, where] = covered.round().clamp(0, 255).to(torch.uint8)
    return result
