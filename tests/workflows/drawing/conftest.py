"""Graphs that the tests of drawing share."""

from __future__ import annotations

from typing import Any

import pytest

from workflows import Session
from workflows.drawing.graph import PictureGraph, picture_graph
from workflows.inspection import inspect_definition


@pytest.fixture
def broken_graph(session: Session, broken_definition: dict[str, Any]) -> PictureGraph:
    """The graph of a definition with missing blocks and a hostile name."""
    broken_definition["steps"].append(
        {"type": "a<b>&c", "name": '"<script>\\\n\x00`', "image": "$steps.blur.image"}
    )
    return picture_graph(inspect_definition(broken_definition, session.registry))
