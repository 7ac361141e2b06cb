"""From final rows of rotated boxes to predictions in px of the image. Torch-free; upright boxes
take the pipeline of all families."""

from __future__ import annotations

import numpy as np

from inference_models.errors import ModelRuntimeError
from inference_models.families.native.decoding.rotated_boxes import rotated_corners
from inference_models.families.request import ClassTable, Request
from inference_models.predictions.detections import OrientedDetections
from inference_models.preprocessing.geometry import ImageTransform

_ROW_VALUES = 7
_SCORE, _CLASS = 5, 6


def oriented_detections(
    rows: np.ndarray, transform: ImageTransform, request: Request, classes: ClassTable
) -> OrientedDetections:
    """The rotated boxes of one image, by falling score.

    Boxes are not cut at the image's edge, as a cut rectangle is none; those that lie outside of it
    altogether are dropped.

    Args:
        rows: (n, 7) centre x, y, width, height in network px, angle in radians, score, class of the
            network.
        transform: where the image lies in the network's input.
        request: thresholds, class filter and limit; there is nothing to suppress.
        classes: which of the network's classes are classes of the model.

    Raises:
        ModelRuntimeError: the rows have another width or name an unknown class.
    """
    if rows.ndim != 2 or rows.shape[1] != _ROW_VALUES:
        raise ModelRuntimeError(
            f"rows of rotated boxes must have {_ROW_VALUES} numbers, got {list(rows.shape)}"
        )
    rows = rows[(rows[:, _SCORE] > 0) & np.isfinite(rows).all(axis=1)]
    network_ids = rows[:, _CLASS].astype(np.int64)
    count = len(classes.network_names)
    if network_ids.size and not 0 <= network_ids.min() <= network_ids.max() < count:
        raise ModelRuntimeError(
            f"a row of rotated boxes has the class {int(network_ids.max())}, the network has "
            f"{count} classes (0..{count - 1})"
        )
    class_ids = classes.to_model[network_ids]
    keep = (rows[:, _SCORE] > request.thresholds[network_ids]) & (class_ids >= 0)
    if request.wanted is not None:
        keep[keep] = request.wanted[class_ids[keep]]
    corners = transform.points_to_image(rotated_corners(rows[:, :5]))
    height, width = transform.original_size
    low, high = corners.min(axis=1), corners.max(axis=1)
    keep &= ((high > low) & (high > 0) & (low < (width, height))).all(axis=1)
    kept = np.flatnonzero(keep)
    kept = kept[np.argsort(-rows[kept, _SCORE], kind="stable")][: request.max_detections]
    return OrientedDetections(
        corners=corners[kept].astype(np.float32),
        confidence=rows[kept, _SCORE].astype(np.float32),
        class_id=class_ids[kept],
        image_size=transform.original_size,
        class_names=classes.names,
    )
