"""The people example on a photograph. Skipped where its two networks are not at hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from workflows import Session, run_locally
from workflows.settings import WeftlensSettings

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WEIGHTS = ROOT.parent / "shared" / "models"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with the example's two packages and their weights."""
    for name, weights in (("person/1", "ped_ssdlite.onnx"), ("matte/1", "selfie.onnx")):
        source = WEIGHTS / weights
        if not source.is_file():
            pytest.skip(f"{weights} is not here")
        package = tmp_path / name
        package.mkdir(parents=True)
        shutil.copy(EXAMPLES / "models" / name / "model_config.json", package)
        (package / weights).symlink_to(source)
    return Session(WeftlensSettings(model_directories=(tmp_path,)))


class TestPeople:
    def test_the_astronaut_is_cut_out(self, session: Session) -> None:
        """Detect, crop, matte, stitch: one person, her face inside the mask, the flag outside."""
        image = cv2.imread(str(EXAMPLES / "images" / "astronaut.png"))
        with session:
            [result] = run_locally(EXAMPLES / "people.json", {"image": image}, session=session)
        assert result["count"] == 1
        mask = np.asarray(result["predictions"].mask[0])
        assert mask.shape == (512, 512)
        assert result["areas"] == [pytest.approx(mask.sum(), rel=0.02)]
        assert mask[60:160, 200:250].mean() > 0.95
        assert mask[20:200, 0:80].mean() < 0.05
        assert result["drawn"].numpy_image.shape == image.shape

    def test_nobody_is_no_error(self, session: Session) -> None:
        """A picture without people gives zero people and an unchanged size, as JSON too."""
        with session:
            [result] = run_locally(
                EXAMPLES / "people.json",
                {"image": np.full((120, 160, 3), 90, np.uint8)},
                session=session,
                serialize=True,
            )
        json.dumps(result)
        assert result["count"] is None  # no crop, so nothing to stitch or count
