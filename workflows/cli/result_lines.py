"""`ResultLines`: a file that grows by a line a result. Knows no result."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class ResultLines:
    """Lines in place of what a file holds. The first one replaces the old content, so that a run
    without results loses nothing; each is in the file when `write` returns, so that a run that is
    killed keeps what it has written.

    Args:
        path: the file; what is no file, as a pipe, is written to as it is. Made when missing.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._holds_old = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def write(self, line: str) -> None:
        """Adds a line, given with its end.

        Raises:
            OSError: it cannot be written.
        """
        if self._holds_old:
            self._file.truncate(0)
            self._holds_old = False
        self._file.write(line)

    def close(self) -> None:
        """Ends the file; what was written stays."""
        self._file.close()
