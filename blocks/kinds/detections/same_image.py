"""Whether detections and images belong together. Moves nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import lineage_of
from execution_engine.block_api import WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

Place = tuple[str, tuple[int, ...]]
"""Id of a root image and the corner (x, y) of an image in it, px."""


def require_made_on(
    detections: sv.Detections, image: WorkflowImageData, other_ids: Iterable[str] = ()
) -> None:
    """Raises when detections say that they were made on another image.

    Detections that know their place in a root image must have the place of the image; a `parent_id`
    that differs is then no fault, as blocks that change detections put a detection there. Those
    that know no place came from outside: they may name any parent but another image at hand.

    Args:
        detections: with or without rows; without, nothing is checked.
        image: the image they are to be used with.
        other_ids: ids of the other images at hand, such as those of a batch.

    Raises:
        ValueError: they were made elsewhere; the text names both.
    """
    named = detections.data.get(keys.PARENT_ID)
    if len(detections) == 0 or named is None:
        return
    own = lineage_of(image)
    own_id = own[keys.PARENT_ID]
    places = _places(detections)
    own_place = (own[keys.ROOT_PARENT_ID], tuple(own[keys.ROOT_PARENT_COORDINATES]))
    others = set(other_ids) - {own_id}
    for row, parent in enumerate(map(str, named)):
        if parent == own_id:
            continue
        if places is not None:
            if places[row] == own_place:
                continue
        elif keys.ROOT_PARENT_ID in detections.data and parent not in others:
            continue
        made_on = parent if places is None else f"{parent}' of root '{places[row][0]}"
        raise ValueError(
            f"detections and image do not belong together: the image is '{own_id}', but detection "
            f"{row} was made on '{made_on}'; both must come from the same branch of the workflow, "
            "in the same order"
        )


def require_one_image(sources: Sequence[sv.Detections], what: str) -> None:
    """Raises when sets of detections were made on different images.

    Rows are compared by their place in a root image where all know it, by `parent_id` otherwise.

    Args:
        sources: sets of detections; those without rows are not checked.
        what: what the sets are to the block, for the message.

    Raises:
        ValueError: there is more than one image; the text names them.
    """
    filled = [source for source in sources if len(source) and keys.PARENT_ID in source.data]
    if not filled:
        return
    places = [_places(source) for source in filled]
    found: set[Any] = set()
    for source, place in zip(filled, places, strict=True):
        if place is None or None in places:
            found.update(map(str, source.data[keys.PARENT_ID]))
        else:
            found.update(place)
    if len(found) > 1:
        named = sorted({str(parent) for source in filled for parent in source.data[keys.PARENT_ID]})
        raise ValueError(
            f"{what} must come from one image, got detections made on {', '.join(named[:5])}"
        )


def _places(detections: sv.Detections) -> list[Place] | None:
    """The place of each row's image in its root, None when the detections do not know it."""
    data = detections.data
    if keys.ROOT_PARENT_ID not in data or keys.ROOT_PARENT_COORDINATES not in data:
        return None
    corners = np.asarray(list(data[keys.ROOT_PARENT_COORDINATES])).reshape(-1, 2).tolist()
    roots = map(str, data[keys.ROOT_PARENT_ID])
    return [(root, (int(x), int(y))) for root, (x, y) in zip(roots, corners, strict=True)]
