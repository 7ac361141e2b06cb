"""Sizes at which hosted models see an image, in whose px they answer. Knows no answer."""

from __future__ import annotations

OPENAI_LONGEST = 2048
"""Longest side of an image that OpenAI models see, px."""

CLAUDE_LONGEST = 2576
CLAUDE_MOST_TILES = 4784
CLAUDE_TILE = 28
"""Claude models see an image in square tiles of this side, px; a side may be as long as
`CLAUDE_LONGEST` in whole tiles, the image as large as `CLAUDE_MOST_TILES`."""


def openai_upload(size: tuple[int, int]) -> tuple[int, int]:
    """(height, width) at which OpenAI models see an image of a size, px."""
    longest = max(size)
    if longest <= OPENAI_LONGEST:
        return size
    height, width = (max(side * OPENAI_LONGEST // longest, 1) for side in size)
    return height, width


def claude_upload(size: tuple[int, int]) -> tuple[int, int]:
    """(height, width) at which Claude models see an image of a size, px: the largest of the same
    shape that they take.
    """
    if _claude_takes(size):
        return size
    longest = max(size)
    taken, refused = 1, longest
    while refused - taken > 1:
        middle = (taken + refused) // 2
        if _claude_takes(_with_longest(size, middle)):
            taken = middle
        else:
            refused = middle
    return _with_longest(size, taken)


def _with_longest(size: tuple[int, int], longest: int) -> tuple[int, int]:
    height, width = (max(round(side * longest / max(size)), 1) for side in size)
    return height, width


def _claude_takes(size: tuple[int, int]) -> bool:
    rows, columns = (-(-side // CLAUDE_TILE) for side in size)
    return (
        max(rows, columns) * CLAUDE_TILE <= CLAUDE_LONGEST and rows * columns <= CLAUDE_MOST_TILES
    )
