"""The files of a model package and their SHA-256, remembered as long as a file does not change.
Reads no description of a model.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKSUMS_FILE = "SHA256SUMS"
PREFIX = "sha256:"
_REMEMBERED = 4096
# A file written a moment ago may be written again within one tick of the clock of its file system,
# which its times would not show.
_SETTLED_NS = 2_000_000_000

_Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class PackageDigest:
    """SHA-256 of a package, as `sha256:` and 64 hexadecimal digits.

    Attributes:
        total: over names and digests of all files; the same wherever the package lies.
        files: digest of each file by its path below the package, with slashes; a lone file by its
            name.
    """

    total: str
    files: Mapping[str, str]


class FileDigests:
    """SHA-256 of files, remembered by path, size, times and inode. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[_Stamp, str]] = OrderedDict()
        self._lock = threading.Lock()
        self.hashed_bytes = 0

    def of_file(self, path: Path | str) -> str:
        """Digest of a file as `sha256:<hex>`.

        Raises:
            OSError: the file cannot be read.
        """
        name = os.fspath(path)
        before = _stamp(os.stat(name))
        with self._lock:
            known = self._known.get(name)
            if known is not None and known[0] == before:
                self._known.move_to_end(name)
                return known[1]
        with open(name, "rb") as file:
            digest = PREFIX + hashlib.file_digest(file, "sha256").hexdigest()
            after = _stamp(os.fstat(file.fileno()))
        with self._lock:
            self.hashed_bytes += after[0]
            if before == after and time.time_ns() - max(after[1], after[2]) > _SETTLED_NS:
                self._known[name] = (after, digest)
                self._known.move_to_end(name)
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            else:
                self._known.pop(name, None)
        return digest

    def of_package(self, location: Path) -> PackageDigest:
        """Digests of a package: every file of a folder at any depth except `SHA256SUMS`, or a lone
        file.

        Raises:
            OSError: a file or folder cannot be read, or is gone.
        """
        if location.is_dir():
            files = {
                name: self.of_file(os.path.join(location, name)) for name in file_names(location)
            }
        else:
            files = {location.name: self.of_file(location)}
        return PackageDigest(total_of(files), files)


def file_names(folder: Path) -> list[str]:
    """Paths of the files below a folder, with slashes, sorted, without `SHA256SUMS` at its top.
    Links to files count as files, links to folders are not followed.

    Raises:
        OSError: a folder cannot be read.
    """
    found = []
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        below = os.path.relpath(parent, folder)
        for name in names:
            found.append(name if below == "." else f"{below.replace(os.sep, '/')}/{name}")
    return sorted(name for name in found if name != CHECKSUMS_FILE)


def total_of(files: Mapping[str, str]) -> str:
    """The digest of a package from the digests of its files."""
    total = hashlib.sha256()
    for name, digest in sorted(files.items()):
        total.update(f"{digest.removeprefix(PREFIX)}  {name}\n".encode("utf-8", "surrogateescape"))
    return PREFIX + total.hexdigest()


def _stamp(status: os.stat_result) -> _Stamp:
    return (
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev,
    )  # fmt: skip


def _raise(error: OSError) -> None:
    raise error
