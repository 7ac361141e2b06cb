"""Sources of models whose weights nobody loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows.locking.conftest import write_model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A package folder `source/parts/1` with a file in a folder of its own."""
    package = write_model(tmp_path / "source", "parts/1")
    (package / "notes").mkdir()
    (package / "notes" / "münze.txt").write_text("made by hand", encoding="utf-8")
    return package


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of models that does not exist yet."""
    return tmp_path / "models"
