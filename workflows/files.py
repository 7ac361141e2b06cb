"""Writing a file as a whole, so that nobody ever reads half of it. Knows no content."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_LONGEST_BEGINNING = 64


def write_whole(path: Path, content: bytes) -> None:
    """Puts content in place of a file in one step; after a failure the old file is as it was.

    A link is written through; permissions of an existing file are kept.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name[:_LONGEST_BEGINNING]}.{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
