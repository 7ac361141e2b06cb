"""Models that are removed, or not, because a lock holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    InsecureModelIdentifierError,
    InvalidParameterError,
    ModelNotFoundError,
)
from tests.workflows.locking.conftest import write_model
from workflows.model_folder.removing import locks_using, remove_model


def lock_with(*models: str) -> dict[str, Any]:
    """A lock that holds models."""
    digest = "sha256:" + "0" * 64
    return {
        "lock_version": 1, "definition": digest, "engine": "1.17.0", "distributions": {},
        "steps": {}, "blocks": {}, "model_inputs": {}, "open_models": {},
        "models": {name: {"digest": digest, "files": {}} for name in models},
    }  # fmt: skip


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """A folder with a lock of a/1 in a folder of its own, and the lock of another model."""
    folder = tmp_path / "locks"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "count.lock.json").write_text(json.dumps(lock_with("a/1")), "utf-8")
    (folder / "other.lock.json").write_text(json.dumps(lock_with("b/1")), "utf-8")
    (folder / "count.json").write_text("{}", "utf-8")
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a/1, a/2 and c/1."""
    folder = tmp_path / "models"
    for model_id in ("a/1", "a/2", "c/1"):
        write_model(folder, model_id)
    return folder


class TestLocksUsing:
    def test_at_any_depth(self, locks: Path) -> None:
        """Locks are found in folders, too."""
        assert locks_using("a/1", locks) == [locks / "shop" / "count.lock.json"]
        assert locks_using("c/1", locks) == []

    def test_a_damaged_lock(self, locks: Path) -> None:
        """A lock that cannot be read may hold the model."""
        (locks / "bad.lock.json").write_text("{", "utf-8")
        with pytest.raises(InvalidParameterError, match="it cannot be told whether a lock uses"):
            locks_using("c/1", locks)

    def test_no_folder(self, tmp_path: Path) -> None:
        """A folder that is not there is an error, not an empty one."""
        with pytest.raises(InvalidParameterError, match="there is no folder of locks"):
            locks_using("c/1", tmp_path / "none")


class TestRemoveModel:
    def test_one_version(self, models: Path, locks: Path) -> None:
        """The version goes, others stay; an empty folder of a name goes too."""
        remove_model(models, "a/2", locks)
        remove_model(models, "c/1", locks)
        found = sorted(path.relative_to(models).as_posix() for path in models.glob("*/*"))
        assert found == ["a/1"]
        assert [path.name for path in models.iterdir()] == ["a"]

    def test_locked(self, models: Path, locks: Path) -> None:
        """A model that a lock holds stays."""
        with pytest.raises(InvalidParameterError) as caught:
            remove_model(models, "a/1", locks)
        assert str(caught.value) == (
            f'model "a/1" is locked by {locks}/shop/count.lock.json (remove those locks first)'
        )
        assert (models / "a" / "1" / "model_config.json").is_file()

    @pytest.mark.parametrize(
        ("model_id", "error"),
        [("d/1", ModelNotFoundError), ("../locks", InsecureModelIdentifierError),
         ("a/..", InsecureModelIdentifierError)],
    )  # fmt: skip
    def test_nothing_there(self, model_id: str, error: type[Exception], models: Path) -> None:
        """What is no model of the folder is not removed."""
        with pytest.raises(error):
            remove_model(models, model_id)
        assert len(list(models.glob("*/*"))) == 3
