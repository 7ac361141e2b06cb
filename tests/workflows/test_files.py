"""Files that are written as a whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from workflows.files import is_same_file, write_whole


class TestIsSameFile:
    def test_names_of_one_file(self, tmp_path: Path) -> None:
        """Links of both kinds and roundabout paths are the file; files with equal content not."""
        path = tmp_path / "a"
        path.touch()
        (tmp_path / "soft").symlink_to(path)
        (tmp_path / "hard").hardlink_to(path)
        (tmp_path / "b").touch()
        for other in ("a", "soft", "hard", f"../{tmp_path.name}/a"):
            assert is_same_file(path, tmp_path / other)
            assert is_same_file(tmp_path / other, path)
        assert not is_same_file(path, tmp_path / "b")

    def test_files_that_are_not_there(self, tmp_path: Path) -> None:
        """Equal names are one file to be, other names are not."""
        assert is_same_file(tmp_path / "x", tmp_path / "y" / ".." / "x")
        assert not is_same_file(tmp_path / "x", tmp_path / "y")


class TestWriteWhole:
    def test_a_new_file(self, tmp_path: Path) -> None:
        """The content is there, with the permissions of any new file."""
        path, other = tmp_path / "münze.json", tmp_path / "other"
        write_whole(path, b"content")
        other.touch()
        assert path.read_bytes() == b"content"
        assert path.stat().st_mode == other.stat().st_mode

    def test_permissions_stay(self, tmp_path: Path) -> None:
        """A file keeps its permissions."""
        path = tmp_path / "w.json"
        path.touch(mode=0o600)
        write_whole(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_permissions_that_are_asked_for(self, tmp_path: Path) -> None:
        """They hold for new files and in place of those the file had."""
        path = tmp_path / "keys"
        for _ in range(2):
            write_whole(path, b"x", 0o600)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            path.chmod(0o644)

    def test_a_link_stays(self, tmp_path: Path) -> None:
        """Writing through a link changes what it points to."""
        (tmp_path / "folder").mkdir()
        target, link = tmp_path / "folder" / "w.json", tmp_path / "w.json"
        target.write_bytes(b"old")
        link.symlink_to(target)
        write_whole(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"

    def test_after_a_failure_all_is_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A full disk leaves the old file and nothing else."""
        path = tmp_path / "w.json"
        path.write_bytes(b"old")

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, b"new")
        assert path.read_bytes() == b"old"
        assert [one.name for one in tmp_path.iterdir()] == ["w.json"]
