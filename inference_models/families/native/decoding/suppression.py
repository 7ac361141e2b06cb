"""The answers of the one-to-many branch: it answers many times for an object, so overlapping boxes
of a class are suppressed. Runs on the CPU; not part of any exported graph."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from inference_models.families.native.anchors import Anchors
from inference_models.families.native.decoding.rotated_boxes import suppress_rotated_overlaps
from inference_models.families.native.decoding.selection import (
    MAX_ROWS,
    NO_ANCHOR,
    Selection,
    rows_of_anchors,
)
from inference_models.families.native.head import BranchOutputs
from inference_models.families.nms import suppress_overlaps


def select_with_suppression(
    outputs: BranchOutputs,
    anchors: Anchors,
    score_threshold: float = 0.001,
    iou_threshold: float = 0.7,
    max_rows: int = MAX_ROWS,
) -> Selection:
    """The anchors of each image that no better one of the same class overlaps.

    Each anchor answers with its best class only. Rotated boxes are compared by their exact overlap.

    Args:
        outputs: answers of a branch for b images.
        anchors: their places.
        score_threshold: anchors with a lower score take no part.
        iou_threshold: overlap two boxes of a class may have.
        max_rows: rows an image, filled up.

    Returns:
        A selection of the same form as that of `select_top_k`.
    """
    best = outputs.class_logits.amax(-1).sigmoid()
    rows, index = [], []
    for image in range(best.shape[0]):
        candidates = torch.nonzero(best[image] >= score_threshold)[None, :, 0]
        one = _image_outputs(outputs, image)
        boxes, scores, classes = rows_of_anchors(one, anchors, candidates)
        suppress = suppress_overlaps if boxes.shape[-1] == 4 else suppress_rotated_overlaps
        kept = suppress(
            _array(boxes), _array(scores), iou_threshold, _array(classes), limit=max_rows
        )
        kept_index = torch.from_numpy(kept).to(best.device)
        kept_rows = torch.cat(
            [boxes[0], scores[0][:, None], classes[0][:, None].to(boxes.dtype)], -1
        )[kept_index]
        filled_rows = kept_rows.new_zeros((max_rows, kept_rows.shape[1]))
        filled_rows[: len(kept)] = kept_rows
        filled_index = candidates.new_full((max_rows,), NO_ANCHOR)
        filled_index[: len(kept)] = candidates[0][kept_index]
        rows.append(filled_rows)
        index.append(filled_index)
    return Selection(torch.stack(rows), torch.stack(index))


def _image_outputs(outputs: BranchOutputs, image: int) -> BranchOutputs:
    """What decides about boxes, of one image, with a batch axis of one."""
    angles = outputs.angles
    return BranchOutputs(
        outputs.class_logits[image : image + 1],
        outputs.distances[image : image + 1],
        angles=None if angles is None else angles[image : image + 1],
    )


def _array(values: Tensor) -> np.ndarray:
    array: np.ndarray = values[0].detach().cpu().numpy()
    return array
