"""JSON inside the text that a language model wrote. What the JSON means belongs to the blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from execution_engine.definition.nesting import find_too_deep

FENCE = "```"
JSON_MARK = "json"
OPENING = re.compile(r"[{\[]")
MOST_BROKEN = 1000
"""Brackets that may turn out to hold no JSON before the search is given up."""


def parse_json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, None when there is none.

    Tried in this order: the text as a whole, its first fenced block marked `json`, its first fenced
    block without a mark.
    """
    document = _first_document(text)
    return document if isinstance(document, dict) else None


def find_json(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object or list in a text, None when there is none.

    Tried in this order: the text as a whole, its first fenced block marked `json`, its first fenced
    block without a mark, then what stands between other words. Several objects that follow one
    another are a list of them; of several lists the first counts.
    """
    document = _first_document(text)
    if not isinstance(document, (dict, list)):
        document = _between_words(text)
    return None if document is None or find_too_deep(document) is not None else document


def _first_document(text: str) -> Any:
    """What the first candidate holds that is JSON; None when that is nested too deep."""
    for candidate in _candidates(text):
        try:
            document = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        # A document too deep can be read, but not written again.
        return None if find_too_deep(document) is not None else document
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text
    marked, bare = None, None
    begin = text.find(FENCE)
    # One pass from fence to fence: a text full of fences takes no longer than another one.
    while begin >= 0 and (marked is None or bare is None):
        end = text.find(FENCE, begin + len(FENCE))
        if end < 0:
            break
        inside = text[begin + len(FENCE) : end]
        if marked is None and inside[: len(JSON_MARK)].lower() == JSON_MARK:
            marked = inside[len(JSON_MARK) :]
        first_line, line_end, rest = inside.partition("\n")
        if bare is None and line_end and not first_line.strip(" \t\r"):
            bare = rest
        begin = end
    for block in (marked, bare):
        if block is not None:
            yield block


def _between_words(text: str) -> dict[str, Any] | list[Any] | None:
    objects: list[dict[str, Any]] = []
    for found in _documents(text):
        if isinstance(found, dict):
            objects.append(found)
        elif all(isinstance(item, dict) for item in found):
            return found  # other lists are words in brackets
    return objects[0] if len(objects) == 1 else objects or None


def _documents(text: str) -> Iterator[dict[str, Any] | list[Any]]:
    """Objects and lists from left to right, none from inside another one or a broken one."""
    decoder = json.JSONDecoder()
    opening, broken = OPENING.search(text), 0
    while opening is not None and broken < MOST_BROKEN:
        begin = opening.start()
        try:
            found, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            broken, end = broken + 1, max(error.pos, begin + 1)  # what was read is not read again
        except (ValueError, RecursionError):
            return
        else:
            yield found
        opening = OPENING.search(text, end)
