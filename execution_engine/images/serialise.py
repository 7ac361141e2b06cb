"""The JSON form of an image. How images are read is in `codec.py`."""

from __future__ import annotations

from typing import Any

from execution_engine.images.image_data import WorkflowImageData
from execution_engine.kinds.json_form import json_form


def serialise_image(image: WorkflowImageData) -> dict[str, Any]:
    """`{"type": "base64", "value", "video_metadata"}`, and for a crop or slice its parents.

    `value` is JPEG (quality 95) as base64 text, or the text the image came as when its pixels were
    never changed. Origins of parents hold the offset of this image in them and their size, px.

    Raises:
        ValueError: the image has no pixels.
    """
    result: dict[str, Any] = {
        "type": "base64",
        "value": image.base64_image,
        "video_metadata": json_form(image.video_metadata.to_dict()),
    }
    if image.is_derived:
        parent, root = image.parent_metadata, image.workflow_root_ancestor_metadata
        assert parent.origin_coordinates is not None
        assert root.origin_coordinates is not None
        result["parent_id"] = parent.parent_id
        result["parent_origin"] = parent.origin_coordinates.to_dict()
        result["root_parent_id"] = root.parent_id
        result["root_parent_origin"] = root.origin_coordinates.to_dict()
    return result
