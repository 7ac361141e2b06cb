"""`SHA256SUMS` of a model package, in the form of the command `sha256sum`: writing, reading and
comparing. Copies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows.model_folder.package_files import CHECKSUMS_FILE, PREFIX, FileDigests

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


class ChecksumsError(ValueError):
    """A `SHA256SUMS` file cannot be read."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of the files of a package since their digests were written down.

    Attributes:
        changed: files with other content.
        missing: files that are gone.
        added: files that were not there.
    """

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all files are as they were."""
        return not (self.changed or self.missing or self.added)


def checksums_text(files: Mapping[str, str]) -> str:
    """The text of `SHA256SUMS`, by name of file."""
    lines = (f"{digest.removeprefix(PREFIX)}  {name}" for name, digest in sorted(files.items()))
    return "".join(f"{line}\n" for line in lines)


def read_checksums(folder: Path) -> dict[str, str] | None:
    """Digests by file as `SHA256SUMS` says; None when the package has none.

    Raises:
        ChecksumsError: the file is damaged.
        OSError: it cannot be read.
    """
    path = folder / CHECKSUMS_FILE
    if not path.is_file():
        return None
    files = {}
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ChecksumsError(f"{path} is not UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        match = _LINE.fullmatch(line.rstrip("\r"))
        if match is None:
            raise ChecksumsError(f"{path}, line {number}: expected a digest and a file name")
        files[match[2]] = PREFIX + match[1]
    return files


def verify_package(folder: Path, digests: FileDigests) -> Verification | None:
    """Hashes a package and compares it with its `SHA256SUMS`; None when it has none.

    Raises:
        ChecksumsError: `SHA256SUMS` is damaged.
        OSError: a file cannot be read.
    """
    noted = read_checksums(folder)
    if noted is None:
        return None
    found = digests.of_package(folder).files
    return Verification(
        tuple(name for name in sorted(noted) if name in found and found[name] != noted[name]),
        tuple(sorted(noted.keys() - found.keys())),
        tuple(sorted(found.keys() - noted.keys())),
    )
