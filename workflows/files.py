"""Writing files so that nobody reads half of one or loses one that is read. Knows no content."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_LONGEST_BEGINNING = 64


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file: by their text, through links, or as hard links."""
    if one.resolve() == other.resolve():
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there, so it is no other name of the other
        return False


def write_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Puts content in place of a file in one step; after a failure the old file is as it was.

    A link is written through.

    Args:
        path: the file.
        content: all of its bytes.
        mode: its permissions, from the first byte on; those it has, else those of new files, when
            None.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name[:_LONGEST_BEGINNING]}.{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            with suppress(FileNotFoundError):
                os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


FileStamp = tuple[int, int, int]


def file_stamp(path: Path) -> FileStamp | None:
    """What changes with the content of a file: time, size, place; None where none can be seen."""
    try:
        state = path.stat()
    except (OSError, ValueError):  # ValueError: characters no path can hold
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino
