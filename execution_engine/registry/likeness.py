"""Which type ids look most like a misspelt one. Knows ids only, no blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from math import log

_VERSION = re.compile(r"@v\d+$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEAST_LIKENESS = 0.3
_LEAST_LIKE_LETTERS = 0.65
# Comparing letters takes the product of both lengths, and no id is nearly as long.
_LONGEST_ID = 200


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
    if len(type_id) > _LONGEST_ID:
        return []
    words_of = {name: _words(name) for name in (*named, *runnable)}
    uses = Counter(word for words in words_of.values() for word in set(words))
    wanted = _words(type_id)
    ranks: dict[str, tuple[float, bool, int]] = {}
    for names, runs in ((runnable, True), (named, False)):
        for name, canonical in names.items():
            likeness = _likeness(wanted, words_of[name], uses)
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


def _likeness(first: list[str], second: list[str], uses: Mapping[str, int]) -> float:
    """How alike two names are, from 0 to 1: half their words, half their letters in order. A word
    of few names says more than one of many.
    """
    shared = sum(_weight(word, uses) for word in set(first) & set(second))
    union = sum(_weight(word, uses) for word in set(first) | set(second))
    letters = SequenceMatcher(None, "".join(first), "".join(second)).ratio()
    if shared == 0 and letters < _LEAST_LIKE_LETTERS:
        return 0.0
    return (shared / max(union, 1e-9) + letters) / 2


def _weight(word: str, uses: Mapping[str, int]) -> float:
    return 1 / (1 + log(max(1, uses.get(word, 1))))
