"""The codec of overlaps between detections: plain records, no boxes."""

from __future__ import annotations

from typing import Any

from execution_engine.kinds.codec import DecodingContext, KindCodec
from execution_engine.kinds.json_form import json_form


class DetectionsOverlapsCodec(KindCodec):
    """Records of overlapping pairs, a list of dicts."""

    kind = "detections_overlaps"

    def serialise(self, value: Any) -> list[Any]:
        """The records with plain numbers and text; raises `TypeError` for anything but a list."""
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"a list of overlaps was expected, got {type(value).__name__}")
        return list(json_form(value))

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> list[Any]:
        """The list as given; raises `ValueError` for anything else."""
        if not isinstance(value, (list, tuple)):
            raise ValueError(
                f"`{name}` must be a list of overlap records, got {type(value).__name__}"
            )
        return list(value)
