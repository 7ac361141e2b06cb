"""The grammar of references (`$inputs.x`, `$steps.s`, `$steps.s.p`). Whether a target exists is not
decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

INPUT = "input"
STEP = "step"
STEP_OUTPUT = "step_output"
ALL_OUTPUTS = "*"
ESCAPE = "$$"

_INPUT = re.compile(r"\$inputs\.([A-Za-z_0-9\-]+)")
_STEP = re.compile(r"\$steps\.([A-Za-z_0-9\-]+)(?:\.([A-Za-z_0-9\-]+|\*))?")
NAME = re.compile(r"[A-Za-z_0-9\-]+")
_SHORTEST_PART = 3


class Reference(NamedTuple):
    """A parsed reference: `kind` is one of `INPUT`, `STEP`, `STEP_OUTPUT`; `property_name` only for
    the last.
    """

    kind: str
    name: str
    property_name: str | None
    text: str


def is_reference(value: Any) -> bool:
    """Whether a value of a definition reads as a reference: text that starts with one `$`."""
    return isinstance(value, str) and value.startswith("$") and not value.startswith(ESCAPE)


def unescape(value: Any) -> Any:
    """The value with a leading `$$` of a text, the escape for a literal `$`, turned into `$`."""
    if isinstance(value, str) and value.startswith(ESCAPE):
        return value[1:]
    return value


def parse_reference(text: str) -> Reference | None:
    """The parts of a reference, None when the text does not follow the grammar."""
    match = _INPUT.fullmatch(text)
    if match:
        return Reference(INPUT, match[1], None, text)
    match = _STEP.fullmatch(text)
    if match:
        if match[2] is None:
            return Reference(STEP, match[1], None, text)
        return Reference(STEP_OUTPUT, match[1], match[2], text)
    return None


def nearest(word: str, candidates: Iterable[str], limit: int = 1) -> list[str]:
    """The known names that look most like `word`, best first, at most `limit` of them: those with
    like letters, then those that hold the word or are part of it.
    """
    from difflib import SequenceMatcher, get_close_matches

    names = list(dict.fromkeys(candidates))
    found = get_close_matches(word, names, n=limit, cutoff=0.6)
    if len(found) < limit:
        folded = {name.casefold(): name for name in names}
        for match in get_close_matches(word.casefold(), list(folded), n=limit, cutoff=0.6):
            if folded[match] not in found:
                found.append(folded[match])
    if len(found) < limit:
        lower = word.casefold()
        parts = [
            name
            for name in names
            if name not in found
            and min(len(name), len(lower)) >= _SHORTEST_PART
            and (lower in name.casefold() or name.casefold() in lower)
        ]
        parts.sort(
            key=lambda name: SequenceMatcher(None, lower, name.casefold()).ratio(), reverse=True
        )
        found += parts
    return found[:limit]


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidate, None when nothing is near."""
    found = nearest(word, candidates)
    return f"did you mean '{found[0]}'?" if found else None
