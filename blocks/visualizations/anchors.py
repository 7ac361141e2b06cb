"""Names of places relative to a box. Draws nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from blocks.parameters import choice

if TYPE_CHECKING:
    import supervision as sv

BoxAnchor = Literal[
    "CENTER", "CENTER_LEFT", "CENTER_RIGHT", "TOP_CENTER", "TOP_LEFT", "TOP_RIGHT", "BOTTOM_LEFT",
    "BOTTOM_CENTER", "BOTTOM_RIGHT",
]  # fmt: skip
Anchor = Literal[BoxAnchor, "CENTER_OF_MASS"]
"""A place of the box, or the centre of gravity of the mask."""

CENTER_OF_MASS = "CENTER_OF_MASS"
_ANCHORS = {name: name for name in get_args(Anchor)}


def position_of(field: str, name: str) -> sv.Position:
    """The anchor of supervision that a field names.

    Raises:
        ValueError: there is no such anchor; the text names the field.
    """
    import supervision as sv

    return sv.Position[choice(field, name, _ANCHORS)]
