"""A session over the networks of coloured rectangles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.blocks.models.colour_models import write_colour_models
from workflows import Session, WeftlensSettings


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of `colour_models` in a folder."""
    pytest.importorskip("onnx")
    return write_colour_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def session(model_folder: Path) -> Iterator[Session]:
    """A session over that folder; models stay loaded over the tests."""
    with Session(WeftlensSettings(model_directories=(model_folder,))) as made:
        yield made
