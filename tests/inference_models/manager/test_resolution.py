"""From ids to packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inference_models.errors import (
    DirectLocalStorageAccessError,
    InsecureModelIdentifierError,
    ModelNotFoundError,
)
from inference_models.manager.resolution import ModelResolver, is_path


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with the packages cars/1, cars/2 and plates."""
    for name in ("cars/1", "cars/2", "plates"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model_config.json").write_text("{}")
    return tmp_path / "models"


class TestIsPath:
    """`is_path`."""

    @pytest.mark.parametrize(
        ("model_id", "expected"),
        [
            ("cars/1", False),
            ("cars", False),
            ("cars.v2/1", False),
            ("./cars/1", True),
            ("../cars", True),
            ("/models/cars", True),
            ("~/cars", True),
            ("file:cars", True),
            ("cars.onnx", True),
            ("models/cars.torchscript", True),
            ("C:/models", True),
        ],
    )
    def test_the_spelling_decides(self, model_id: str, expected: bool) -> None:
        """Whether something is a path does not depend on what lies in the working directory."""
        assert is_path(model_id) is expected


class TestModelResolver:
    """`ModelResolver`."""

    def test_ids_are_looked_up_in_the_folders(self, models: Path, tmp_path: Path) -> None:
        """The first folder that has the id wins."""
        resolver = ModelResolver([tmp_path / "empty", models])
        assert resolver.resolve("cars/2") == models / "cars" / "2"
        assert resolver.resolve("plates") == models / "plates"
        assert resolver.known_ids() == ["cars/1", "cars/2", "plates"]

    def test_a_folder_here_does_not_take_the_place_of_an_id(
        self, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A folder of the working directory with the name of an id is not used for it."""
        decoy = tmp_path / "work" / "cars" / "1"
        decoy.mkdir(parents=True)
        (decoy / "model_config.json").write_text("{}")
        monkeypatch.chdir(tmp_path / "work")
        assert ModelResolver([models]).resolve("cars/1") == models / "cars" / "1"
        with pytest.raises(ModelNotFoundError, match=r'write "\./cars/1"'):
            ModelResolver().resolve("cars/1")
        assert ModelResolver().resolve("./cars/1") == decoy

    @pytest.mark.parametrize("spelling", ["file:{}", "file://{}", "{}"])
    def test_paths_in_every_spelling(self, models: Path, spelling: str) -> None:
        """An absolute path may carry a scheme."""
        assert ModelResolver().resolve(spelling.format(models / "plates")) == models / "plates"

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        """The error shows the absolute path."""
        missing = tmp_path / "absent.onnx"
        with pytest.raises(ModelNotFoundError, match=str(missing)):
            ModelResolver().resolve(os.path.relpath(missing))

    def test_an_unknown_id_shows_where_was_looked(self, models: Path) -> None:
        """The error names the folders and the nearest id."""
        with pytest.raises(ModelNotFoundError) as caught:
            ModelResolver([models]).resolve("cars/11")
        assert caught.value.message == f'no model "cars/11": looked in {models}'
        assert caught.value.hint == 'did you mean "cars/1"?'

    @pytest.mark.parametrize("model_id", ["cars/../../secret", "a/..", "cars\\..\\secret", "a\0b"])
    def test_an_id_cannot_leave_the_folder(self, models: Path, model_id: str) -> None:
        """An id that climbs is refused whether or not something is there."""
        with pytest.raises(InsecureModelIdentifierError):
            ModelResolver([models]).resolve(model_id)

    @pytest.mark.parametrize("model_id", ["", "  ", None, 7])
    def test_what_is_no_id_is_refused(self, model_id: object) -> None:
        """An id is a text."""
        with pytest.raises(ModelNotFoundError, match="must be a text"):
            ModelResolver().resolve(model_id)  # type: ignore[arg-type]

    def test_a_host_may_allow_no_paths(self, models: Path) -> None:
        """Then every spelling of a path is refused before the disk is touched."""
        resolver = ModelResolver([models], allow_paths=False)
        for model_id in (str(models / "plates"), "./x", "file:x", "x.onnx", "../x.onnx"):
            with pytest.raises(DirectLocalStorageAccessError):
                resolver.resolve(model_id)
        assert resolver.resolve("plates") == models / "plates"
