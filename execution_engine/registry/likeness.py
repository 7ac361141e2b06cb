"""Which type ids look most like a misspelt one. Knows ids only, no blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher

_VERSION = re.compile(r"@v\d+$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEAST_LIKENESS = 0.3


def nearest_type_ids(
    type_id: str, runnable: Mapping[str, str], named: Mapping[str, str], limit: int
) -> list[str]:
    """The canonical ids most like `type_id`, best first; at equal likeness those that can run come
    before those known by name only, newer versions before older ones.

    Args:
        type_id: what was written.
        runnable: canonical id of every id and alias of a block that can run.
        named: the same for blocks known by name only.
        limit: most ids to give.
    """
    wanted = _words(type_id)
    ranks: dict[str, tuple[float, bool, int]] = {}
    for names, runs in ((runnable, True), (named, False)):
        for name, canonical in names.items():
            likeness = _likeness(wanted, _words(name))
            if likeness >= _LEAST_LIKENESS:
                rank = (likeness, runs, _version(canonical))
                ranks[canonical] = max(ranks.get(canonical, rank), rank)
    return sorted(ranks, key=ranks.__getitem__, reverse=True)[:limit]


def _words(type_id: str) -> list[str]:
    """The words of a type id in lower case, without plug-in prefix, version and plural."""
    name = _VERSION.sub("", type_id).rsplit("/", 1)[-1]
    words = [word.lower() for word in _WORD.findall(name)]
    return [word.removesuffix("s") if len(word) > 3 else word for word in words]


def _version(type_id: str) -> int:
    found = _VERSION.search(type_id)
    return int(found.group()[2:]) if found else 0


def _likeness(first: list[str], second: list[str]) -> float:
    """How alike two names are, from 0 to 1: half their words, half their letters in order."""
    words = len(set(first) & set(second)) / max(1, len(set(first) | set(second)))
    letters = SequenceMatcher(None, "".join(first), "".join(second)).ratio()
    if words == 0 and letters < 0.6:
        return 0.0
    return (words + letters) / 2
