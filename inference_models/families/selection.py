"""Which candidates become results: removed classes, suppression, class filter, limits. Knows no
masks and no images."""

from __future__ import annotations

import numpy as np

from inference_models.families.decode import Candidates
from inference_models.families.descriptor import Family
from inference_models.families.nms import suppress_overlaps
from inference_models.families.request import ClassTable, Request


def select_candidates(
    candidates: Candidates, family: Family, request: Request, classes: ClassTable
) -> Candidates:
    """The results among candidates, by falling score; equal scores keep the order of the raw
    outputs.

    The class filter never changes which box wins: with class-agnostic suppression a box of an
    unwanted class still hides what it overlaps. It is applied before the limit, so unwanted classes
    take no places of wanted ones.

    Args:
        candidates: above their thresholds, classes of the network.
        family: whether overlaps must be suppressed.
        request: limits and filter.
        classes: which classes of the network are classes of the model.

    Returns:
        Candidates with classes of the model.
    """
    class_ids = classes.to_model[candidates.class_ids]
    candidates = Candidates(candidates.boxes, candidates.scores, class_ids, candidates.rows)
    if not classes.unchanged:
        candidates = candidates.take(class_ids >= 0)
    suppress = family.suppression == "nms"
    filter_first = not (suppress and request.class_agnostic_nms)
    if filter_first:
        candidates = _wanted(candidates, request)
    if suppress:
        candidates = _suppress(candidates, request)
    else:
        candidates = candidates.take(np.argsort(-candidates.scores, kind="stable"))
    if not filter_first:
        candidates = _wanted(candidates, request)
    return candidates.take(np.arange(min(len(candidates.scores), request.max_detections)))


def _wanted(candidates: Candidates, request: Request) -> Candidates:
    if request.wanted is None:
        return candidates
    return candidates.take(request.wanted[candidates.class_ids])


def _suppress(candidates: Candidates, request: Request) -> Candidates:
    if len(candidates.scores) > request.max_candidates:
        best = np.argsort(-candidates.scores, kind="stable")[: request.max_candidates]
        candidates = candidates.take(best)
    agnostic = request.class_agnostic_nms
    # With a filter still to come, no box may be cut off yet.
    limit = None if agnostic and request.wanted is not None else request.max_detections
    kept = suppress_overlaps(
        candidates.boxes,
        candidates.scores,
        request.iou_threshold,
        None if agnostic else candidates.class_ids,
        limit,
    )
    return candidates.take(kept)
