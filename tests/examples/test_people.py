"""The people example on a photograph. Skipped where its two networks are not at hand."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.examples.people_models import write_people_models
from workflows import Session, run_locally
from workflows.settings import WeftlensSettings

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with the example's two packages and their weights."""
    return Session(WeftlensSettings(model_directories=(write_people_models(tmp_path),)))


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
