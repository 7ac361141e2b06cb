"""How the process treats memory it has freed. Pictures are large: by default each is fetched from
the system page by page and given back at once, which takes longer than to decode it.
"""

from __future__ import annotations

import ctypes
import os

# Parameters of mallopt(3) of the GNU C library.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_MEBIBYTE = 1024 * 1024
# The largest block that may be kept; the library takes no more.
_LARGEST_KEPT = 32 * _MEBIBYTE
_MOST_KEPT = 256 * _MEBIBYTE
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Has the C library keep freed blocks up to 32 MiB for the next picture, at most 256 MiB of
    them at the end of each of its heaps.

    Returns:
        Whether it does: False where the library is another one, and where the environment says how
        it should treat memory.
    """
    if any(name in os.environ for name in _VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another library or another system
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)) and bool(
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    )
