"""The models that come with the project, as packages `<name>/<version>` in this folder."""

from __future__ import annotations

from pathlib import Path


def shipped_models() -> Path:
    """Folder of the packages that come with the project."""
    return Path(__file__).parent
