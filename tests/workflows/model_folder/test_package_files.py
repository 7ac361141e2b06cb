"""Digests of files and packages."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from workflows.model_folder import package_files
from workflows.model_folder.package_files import FileDigests, file_names, total_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a file in a folder, one with an odd name, a link and its digests."""
    folder = tmp_path / "package"
    (folder / "parts").mkdir(parents=True)
    (folder / "weights.onnx").write_bytes(b"weights")
    (folder / "parts" / "münze 硬币.bin").write_bytes(b"part")
    (folder / "SHA256SUMS").write_text("not looked at", encoding="utf-8")
    (tmp_path / "elsewhere").write_bytes(b"far")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    return folder


class TestFileNames:
    def test_every_file(self, package: Path) -> None:
        """Files at any depth, links to files among them, sorted, without the list of digests."""
        assert file_names(package) == ["linked", "parts/münze 硬币.bin", "weights.onnx"]

    def test_links_to_folders_are_not_followed(self, package: Path) -> None:
        """A link back to the package does not make it endless."""
        (package / "parts" / "loop").symlink_to(package)
        assert len(file_names(package)) == 3

    def test_gone(self, tmp_path: Path) -> None:
        """A folder that is gone is an error, not an empty package."""
        with pytest.raises(FileNotFoundError):
            file_names(tmp_path / "none")


class TestFileDigests:
    def test_value(self, package: Path) -> None:
        """It is the SHA-256 of the content."""
        expected = f"sha256:{hashlib.sha256(b'weights').hexdigest()}"
        assert FileDigests().of_file(package / "weights.onnx") == expected

    def test_package(self, package: Path, tmp_path: Path) -> None:
        """The total is over names and digests and does not depend on the place."""
        first = FileDigests().of_package(package)
        package.rename(tmp_path / "moved")
        assert FileDigests().of_package(tmp_path / "moved") == first
        lines = "".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}\n"
            for name, content in (
                ("linked", b"far"), ("parts/münze 硬币.bin", b"part"), ("weights.onnx", b"weights"),
            )
        )  # fmt: skip
        assert first.total == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
        assert first.total == total_of(dict(reversed(first.files.items())))

    def test_a_lone_file(self, package: Path) -> None:
        """A lone file is a package of one file."""
        found = FileDigests().of_package(package / "weights.onnx")
        assert list(found.files) == ["weights.onnx"]

    def test_fresh_files_are_read_again(self, package: Path) -> None:
        """A file written a moment ago is not trusted by its times alone."""
        digests, path = FileDigests(), package / "weights.onnx"
        digests.of_file(path)
        digests.of_file(path)
        assert digests.hashed_bytes == 2 * len(b"weights")

    def test_settled_files_are_read_once(
        self, package: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file written some time ago is read again only when its status changes."""
        monkeypatch.setattr(package_files, "_SETTLED_NS", -1)
        digests, path = FileDigests(), package / "weights.onnx"
        first = digests.of_file(path)
        assert digests.of_file(path) == first
        assert digests.hashed_bytes == len(b"weights")
        other = package / "other"
        other.write_bytes(b"WEIGHTS")
        os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        other.replace(path)  # same size and time, another inode
        assert digests.of_file(path) != first

    def test_few_are_remembered(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The memory for digests has an end."""
        monkeypatch.setattr(package_files, "_SETTLED_NS", -1)
        monkeypatch.setattr(package_files, "_REMEMBERED", 2)
        digests = FileDigests()
        digests.of_package(package)
        assert len(digests._known) == 2
