"""Keeps secrets out of the texts that leave a run: collects the values of the kind `secret` and
puts stars in their place. Decides nothing about what is a secret; the declared kinds do.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote, quote_plus

from execution_engine.block_api.batch import Batch
from execution_engine.errors import BlockTraceback, WorkflowError
from execution_engine.executor.state import RunState
from execution_engine.kinds.builtin_codecs import mask_secret
from execution_engine.plan import Plan

# A shorter secret is starred only where it is a whole text: inside others it would hit by chance.
_SHORTEST_INSIDE_TEXT = 6
# Messages cut long values, so the beginning of a secret counts as the secret.
_BEGINNING = 16


class Secrets:
    """The secrets of one run.

    Args:
        values: the secrets as texts.
    """

    __slots__ = ("_by_beginning", "_masks")

    def __init__(self, values: Iterable[str]) -> None:
        self._masks = {value: mask_secret(value) for value in values if value}
        self._by_beginning: dict[str, tuple[re.Pattern[str], dict[str, str]]] = {}
        for value, mask in self._masks.items():
            if len(value) < _SHORTEST_INSIDE_TEXT:
                continue
            for form in _forms(value):
                beginning = form[:_BEGINNING]
                # Letters may have changed their case on the way.
                pattern = re.compile(re.escape(beginning), re.IGNORECASE)
                self._by_beginning.setdefault(beginning, (pattern, {}))[1][form] = mask

    def in_text(self, text: str) -> str:
        """The text with stars in place of every secret."""
        if text in self._masks:
            return self._masks[text]
        for pattern, forms in self._by_beginning.values():
            text = _starred(text, pattern, forms)
        return text

    def in_data(self, value: Any) -> Any:
        """JSON data with stars in place of every secret in a text, also in names of members that
        hold one and in numbers that are one.
        """
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, dict):
            return {self.in_data(key): self.in_data(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.in_data(item) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            text = str(value)
            return self._masks.get(text, value) if len(text) >= _SHORTEST_INSIDE_TEXT else value
        return value

    def hide_in_error(self, error: WorkflowError) -> None:
        """Puts stars into every text of an error and of the errors that caused it.

        A cause that makes its text from something else is cut off where it shows a secret.
        """
        current: BaseException = error
        seen: set[int] = set()
        while id(current) not in seen:
            seen.add(id(current))
            self._hide_in_one(current)
            cause = current.__cause__ or current.__context__
            if cause is None:
                return
            self._hide_in_one(cause)
            if self.in_text(str(cause)) != str(cause):
                current.__cause__ = current.__context__ = None
                return
            current = cause

    def _hide_in_one(self, error: BaseException) -> None:
        error.args = tuple(self.in_data(item) for item in error.args)
        for name, value in vars(error).items():
            if isinstance(value, BlockTraceback):
                texts: dict[str, Any] = {
                    item.name: self.in_text(text)
                    for item in fields(value)
                    if isinstance(text := getattr(value, item.name), str)
                }
                setattr(error, name, replace(value, **texts))
            elif isinstance(value, (str, list)):
                setattr(error, name, self.in_data(value))
            elif isinstance(value, BaseException):
                self._hide_in_one(value)
                text = str(value)
                if self.in_text(text) != text:  # it makes its text from something else
                    setattr(error, name, ValueError(self.in_text(text)))


def secrets_of(plan: Plan, state: RunState, given: Mapping[str, Any]) -> Secrets:
    """The secrets a run holds so far: those it was given and those its steps made."""
    found: set[str] = set()
    for item in plan.inputs:
        if item.slot in plan.secret_slots:
            declared = item.declaration
            found.update(_texts(given.get(declared.name, declared.default)))
    for slot in plan.secret_slots:
        found.update(_texts(state.slots[slot]))
    return Secrets(found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple, Batch)):
        for item in value:
            yield from _texts(item)


def _forms(value: str) -> set[str]:
    """The texts a secret shows as: itself, as messages and JSON write quotes and line feeds in it,
    as addresses and forms write it, and as base64 text, which headers are made of.
    """
    raw = value.encode("utf-8", "surrogatepass")
    return {
        value,
        value.strip() or value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        quote(raw, safe=""),
        quote_plus(raw),
        base64.b64encode(raw).decode("ascii").rstrip("="),
        base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="),
    }


def _starred(text: str, pattern: re.Pattern[str], forms: Mapping[str, str]) -> str:
    parts: list[str] = []
    position = 0
    while (found := pattern.search(text, position)) is not None:
        at = found.start()
        length, mask = max((_shared(text, at, form), mask) for form, mask in forms.items())
        parts += [text[position:at], mask]
        position = at + max(length, found.end() - at)
    return "".join([*parts, text[position:]]) if parts else text


def _shared(text: str, at: int, form: str) -> int:
    """How many characters of `form` stand at a place of the text."""
    if text.startswith(form, at):
        return len(form)
    length = 0
    while (
        length < len(form)
        and at + length < len(text)
        and text[at + length].casefold() == form[length].casefold()
    ):
        length += 1
    return length
