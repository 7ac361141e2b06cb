"""The two networks of the people example, which are not part of the project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_WEIGHTS = ROOT.parent / "shared" / "models"
_FILES = {"person/1": "ped_ssdlite.onnx", "matte/1": "selfie.onnx"}


def have_people_models() -> bool:
    """Whether both networks are at hand."""
    return all((_WEIGHTS / name).is_file() for name in _FILES.values())


def write_people_models(folder: Path) -> Path:
    """The folder, with the example's two packages and their weights; skips without those."""
    for name, weights in _FILES.items():
        source = _WEIGHTS / weights
        if not source.is_file():
            pytest.skip(f"{weights} is not here")
        package = folder / name
        package.mkdir(parents=True)
        shutil.copy(ROOT / "examples" / "models" / name / "model_config.json", package)
        (package / weights).symlink_to(source)
    return folder
