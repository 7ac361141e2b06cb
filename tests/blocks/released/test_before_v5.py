"""Workflow files with versions 1 to 3 of instance segmentation give what they gave before version 5
existed, although they ask for reduced masks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.models.colour_models import write_colour_models
from tests.blocks.released.before_v5.scene import SCENES, shortened
from tests.inference_models.colour_segmenters import SEGMENTERS
from workflows import Session, WeftlensSettings, run_locally

FILES = Path(__file__).parent / "before_v5"
NAMES = [f"{version}_{mode}" for version in ("v1", "v2", "v3") for mode in ("fast", "tradeoff")]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session over the networks of coloured shapes."""
    pytest.importorskip("onnx")
    folder = write_colour_models(tmp_path_factory.mktemp("models"))
    with Session(WeftlensSettings(model_directories=(folder,))) as made:
        yield made


@pytest.fixture(scope="module")
def expected() -> Any:
    """File, family and scene to the recorded result."""
    return json.loads(gzip.decompress((FILES / "expected.json.gz").read_bytes()))


class TestBeforeV5:
    def test_the_files_ask_for_reduced_masks(self) -> None:
        """Every file is here and names a mode that version 5 would follow."""
        assert {path.stem for path in FILES.glob("*.json")} == set(NAMES)
        for name in NAMES:
            step = json.loads((FILES / f"{name}.json").read_text())["steps"][0]
            assert step["mask_decode_mode"] == name.partition("_")[2]
            assert step["type"].endswith(("@v2", "@v3", "RoboflowInstanceSegmentationModel"))

    @pytest.mark.parametrize("family", SEGMENTERS)
    @pytest.mark.parametrize("name", NAMES)
    def test_json(self, name: str, family: str, session: Session, expected: Any) -> None:
        """The JSON is the recorded one, but for ids."""
        definition = json.loads((FILES / f"{name}.json").read_text())
        for scene, image in SCENES.items():
            inputs = {"image": image, "model": f"colours-segment/{family}"}
            result = run_locally(definition, inputs, session=session, serialize=True)
            assert shortened(json.loads(json.dumps(result))) == expected[name][family][scene]

    def test_something_was_recorded(self, expected: Any) -> None:
        """Each family found its three shapes, with outlines of full resolution."""
        for name in NAMES:
            assert set(expected[name]) == set(SEGMENTERS)
            for scenes in expected[name].values():
                (result,) = scenes["shapes"]
                rows = result["segments"]["predictions"]
                assert [row["class"] for row in rows] == ["red", "green", "blue"]
                assert min(row["points"]["count"] for row in rows) > 40
                assert scenes["nothing"][0]["segments"]["predictions"] == []
