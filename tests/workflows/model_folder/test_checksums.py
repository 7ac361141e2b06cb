"""`SHA256SUMS` files."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflows.model_folder.checksums import (
    ChecksumsError,
    Verification,
    checksums_text,
    read_checksums,
    verify_package,
)
from workflows.model_folder.package_files import FileDigests

ZERO = "0" * 64


class TestChecksumsText:
    def test_form(self) -> None:
        """Two spaces between digest and name, sorted, as sha256sum writes them."""
        text = checksums_text({"b": f"sha256:{ZERO}", "a c": f"sha256:{ZERO}"})
        assert text == f"{ZERO}  a c\n{ZERO}  b\n"


class TestReadChecksums:
    def test_what_sha256sum_writes(self, tmp_path: Path) -> None:
        """Marks of binary mode and Windows line ends are read."""
        (tmp_path / "SHA256SUMS").write_bytes(f"{ZERO} *a\r\n\n{ZERO}  b c\n".encode())
        assert read_checksums(tmp_path) == {"a": f"sha256:{ZERO}", "b c": f"sha256:{ZERO}"}

    def test_none(self, tmp_path: Path) -> None:
        """A package without digests has none."""
        assert read_checksums(tmp_path) is None

    @pytest.mark.parametrize("content", [b"x", f"{ZERO}\n".encode(), b"\xff"])
    def test_damaged(self, content: bytes, tmp_path: Path) -> None:
        """A damaged file is an error."""
        (tmp_path / "SHA256SUMS").write_bytes(content)
        with pytest.raises(ChecksumsError):
            read_checksums(tmp_path)


class TestVerifyPackage:
    def test_every_difference(self, tmp_path: Path) -> None:
        """Changed, missing and new files are told apart."""
        for name in ("a", "b", "c"):
            (tmp_path / name).write_text(name, encoding="utf-8")
        files = FileDigests().of_package(tmp_path).files
        (tmp_path / "SHA256SUMS").write_text(checksums_text(files), encoding="utf-8")
        assert verify_package(tmp_path, FileDigests()) == Verification((), (), ())
        (tmp_path / "a").write_text("A", encoding="utf-8")
        (tmp_path / "b").rename(tmp_path / "d")
        found = verify_package(tmp_path, FileDigests())
        assert found == Verification(("a",), ("b",), ("d",))
        assert not found.ok
