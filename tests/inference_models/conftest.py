"""The networks of coloured rectangles as one fixture."""

from __future__ import annotations

import pytest

from tests.inference_models.colour_networks import (
    COLOURS,
    SCORES,
    anchor_free_graph,
    classifier_graph,
    declared_graph,
    fused_graph,
    package_config,
    rectangles,
    semantic_graph,
    write_directory,
    yolo_metadata,
)


class Networks:
    """The builders above, as one object for tests."""

    anchor_free = staticmethod(anchor_free_graph)
    fused = staticmethod(fused_graph)
    declared = staticmethod(declared_graph)
    semantic = staticmethod(semantic_graph)
    classifier = staticmethod(classifier_graph)
    metadata = staticmethod(yolo_metadata)
    config = staticmethod(package_config)
    directory = staticmethod(write_directory)
    rectangles = staticmethod(rectangles)
    colours = COLOURS
    scores = SCORES


@pytest.fixture(scope="session")
def networks() -> type[Networks]:
    """Builders of test networks, of their packages and of images they understand."""
    return Networks
