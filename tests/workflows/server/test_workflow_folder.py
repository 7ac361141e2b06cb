"""Stored workflows: which file an id stands for, and which it must never stand for."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import WorkflowDefinitionError, WorkflowSyntaxError
from workflows.server.faults import InvalidRequestError, NotFoundError
from workflows.server.workflow_folder import WorkflowFolder


def _store(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


class TestGet:
    def test_prefers_the_workspace(self, tmp_path: Path) -> None:
        """`<workspace>/<id>.json` wins over `<id>.json`."""
        _store(tmp_path / "count.json", {"version": "top"})
        _store(tmp_path / "shop" / "count.json", {"version": "shop"})
        folder = WorkflowFolder(tmp_path)
        assert folder.get("shop", "count") == {"version": "shop"}
        assert folder.get("other", "count") == {"version": "top"}

    def test_sees_changes(self, tmp_path: Path) -> None:
        """A file that changed is read again, one that went is gone, one that came is there."""
        folder = WorkflowFolder(tmp_path / "later")
        with pytest.raises(NotFoundError):
            folder.get("a", "b")
        path = tmp_path / "later" / "b.json"
        _store(path, {"n": 1})
        first = folder.get("a", "b")
        assert folder.get("a", "b") is first
        _store(path, {"n": 22})
        assert folder.get("a", "b") == {"n": 22}
        os.utime(path, ns=(1, 1))
        assert folder.get("a", "b") == {"n": 22}
        path.unlink()
        with pytest.raises(NotFoundError):
            folder.get("a", "b")

    def test_finds_accented_names_however_they_are_written(self, tmp_path: Path) -> None:
        """Composed and decomposed letters are the same name; other scripts work too."""
        for form in ("NFC", "NFD"):
            folder = tmp_path / form
            _store(folder / f"{unicodedata.normalize(form, 'zähler')}.json", {"form": form})
            for asked in ("NFC", "NFD"):
                name = unicodedata.normalize(asked, "zähler")
                assert WorkflowFolder(folder).get("w", name) == {"form": form}
        _store(tmp_path / "数える.json", {"n": 1})
        assert WorkflowFolder(tmp_path).get("w", "数える") == {"n": 1}

    @pytest.mark.parametrize(
        "name",
        [
            "..",
            ".",
            "../secret",
            "a/b",
            "a\\b",
            "C:x",
            ".hidden",
            "",
            " ",
            "a\0b",
            "a\nb",
            "x" * 251,
            "\udcff",
        ],
    )
    def test_refuses_other_places(self, tmp_path: Path, name: str) -> None:
        """No id and no workspace leads out of the folder or to a hidden file."""
        _store(tmp_path / "secret.json", {"n": 1})
        folder = WorkflowFolder(tmp_path / "inside")
        with pytest.raises((InvalidRequestError, NotFoundError)):
            folder.get("w", name)
        with pytest.raises((InvalidRequestError, NotFoundError)):
            folder.get(name, "secret")

    def test_follows_no_link_out(self, tmp_path: Path) -> None:
        """A link to a file outside is not served; one inside is."""
        _store(tmp_path / "outside.json", {"n": 1})
        _store(tmp_path / "inside" / "real.json", {"n": 2})
        (tmp_path / "inside" / "out.json").symlink_to(tmp_path / "outside.json")
        (tmp_path / "inside" / "alias.json").symlink_to(tmp_path / "inside" / "real.json")
        folder = WorkflowFolder(tmp_path / "inside")
        with pytest.raises(NotFoundError):
            folder.get("w", "out")
        assert folder.get("w", "alias") == {"n": 2}

    def test_says_what_is_wrong_with_a_file(self, tmp_path: Path) -> None:
        """A file that is no JSON, or no object, is named by its id."""
        (tmp_path / "broken.json").write_text("{", encoding="utf-8")
        _store(tmp_path / "list.json", [1])
        folder = WorkflowFolder(tmp_path)
        with pytest.raises(WorkflowSyntaxError):
            folder.get("w", "broken")
        with pytest.raises(WorkflowDefinitionError, match="'list'"):
            folder.get("w", "list")
