"""Searching text with regular expressions of strangers in bounded time.

Python's matcher tries alternatives one after the other, which takes exponential time on some
expressions and holds the interpreter's lock meanwhile. It is used where its work is bounded by the
shape of the expression and the length of the text; elsewhere all alternatives are followed side by
side (Thompson 1968), which takes time proportional to length times size. No operation is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

LONGEST_EXPRESSION = 10_000
"""Most characters of an expression."""

_MOST_TRIES = 20_000_000
_MOST_STEPS = 5_000_000
_MOST_NODES = 5_000
_REPEATS = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT})
_SINGLES = frozenset({_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN})
_UNBOUNDED = float("inf")


class SearchTooLongError(ValueError):
    """A search could take too long: the expression cannot be followed side by side."""


def compile_expression(text: str) -> Callable[[str], bool]:
    """A function that says whether an expression is found anywhere in a text.

    It raises `SearchTooLongError` for texts on which the search could take too long.

    Raises:
        re.error: the text is no regular expression, too long or nested too deep.
    """
    if len(text) > LONGEST_EXPRESSION:
        raise re.error(f"it is longer than {LONGEST_EXPRESSION} characters")
    try:
        pattern = re.compile(text)
        tree = _parser.parse(text)
    except OverflowError as error:
        raise re.error(str(error)) from error
    except RecursionError as error:
        raise re.error("it is nested too deep") from error
    choices = _choices(tree)
    automaton: _Automaton | None = None

    def search(value: str) -> bool:
        nonlocal automaton
        if _tries(choices, len(value)) <= _MOST_TRIES:
            return pattern.search(value) is not None
        if automaton is None:
            automaton = _Automaton(tree)
        return automaton.found_in(value)

    return search


def _choices(tree: Any) -> tuple[float, float]:
    """(ways, repeats): how many ways to match there are besides the lengths of repeats, and how
    many repeats have a length that depends on the text.
    """
    ways, repeats = 1.0, 0.0
    for operator, argument in tree:
        if operator in _REPEATS or operator is _constants.POSSESSIVE_REPEAT:
            least, most, body = argument
            inner_ways, inner_repeats = _choices(body)
            if most == least:
                # As often as it says: each time anew.
                ways *= min(inner_ways, 1e9) ** min(least, 64) if inner_ways > 1 else 1
                repeats += inner_repeats * least
            elif _is_single(body):
                repeats += 1
            else:
                ways = _UNBOUNDED
        elif operator is _constants.BRANCH:
            parts = [_choices(part) for part in argument[1]]
            ways *= sum(part[0] for part in parts)
            repeats += max(part[1] for part in parts)
        elif operator is _constants.SUBPATTERN:
            inner_ways, inner_repeats = _choices(argument[3])
            ways, repeats = ways * inner_ways, repeats + inner_repeats
        elif operator in _SINGLES or operator is _constants.AT:
            continue
        else:
            for part in _parts_of(argument):
                inner_ways, inner_repeats = _choices(part)
                ways, repeats = ways * inner_ways, repeats + inner_repeats
            if operator is _constants.GROUPREF:
                repeats += 1  # comparing takes as long as the group is
    return ways, repeats


def _tries(choices: tuple[float, float], length: int) -> float:
    """Most tries of Python's matcher on a text of a length: each start, each length of a repeat."""
    ways, repeats = choices
    if ways == _UNBOUNDED:
        # What is repeated can be cut into pieces in up to 2 ** length ways.
        return 2.0 ** min(length, 1000) * (length + 1)
    return ways * (length + 1.0) ** min(repeats + 1, 100.0)


def _is_single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in _SINGLES


def _parts_of(argument: Any) -> Iterator[Any]:
    """The expressions inside an argument of an operator that is not looked into otherwise."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for part in argument:
            yield from _parts_of(part)


class _Automaton:
    """An expression as a graph that is walked with all its places at once.

    Nodes are numbers; `_reads` holds what a node takes and where it leads then, `_free` where it
    leads without taking anything, behind a condition or none.

    Args:
        tree: the parsed expression.

    Raises:
        SearchTooLongError: the expression holds what cannot be followed side by side.
    """

    def __init__(self, tree: Any) -> None:
        self._reads: dict[int, tuple[re.Pattern[str], dict[str, bool], int]] = {}
        self._free: dict[int, list[tuple[int, re.Pattern[str] | None]]] = {}
        self._count = 0
        self._state = tree.state
        self._start = self._new()
        self._end = self._sequence(tree, self._start, tree.state.flags)

    def found_in(self, text: str) -> bool:
        """Whether the expression is found anywhere in the text.

        Raises:
            SearchTooLongError: text and expression are too long together.
        """
        if len(text) * self._count > _MOST_STEPS:
            raise SearchTooLongError(
                f"a text of {len(text)} characters is too long for an expression of this shape"
            )
        places: set[int] = set()
        for position in range(len(text) + 1):
            places.add(self._start)
            places = self._closure(places, text, position)
            if self._end in places:
                return True
            if position == len(text):
                return False
            character, following = text[position], set()
            for place in places:
                read = self._reads.get(place)
                if read is not None and _takes(read[0], read[1], character):
                    following.add(read[2])
            places = following
        return False

    def _closure(self, places: set[int], text: str, position: int) -> set[int]:
        reached, left = set(places), list(places)
        while left:
            for goal, condition in self._free.get(left.pop(), ()):
                if goal in reached:
                    continue
                if condition is None or condition.match(text, position) is not None:
                    reached.add(goal)
                    left.append(goal)
        return reached

    def _new(self) -> int:
        self._count += 1
        if self._count > _MOST_NODES:
            raise SearchTooLongError("the expression is too large for a text of this length")
        return self._count

    def _link(self, start: int, goal: int, condition: re.Pattern[str] | None = None) -> None:
        self._free.setdefault(start, []).append((goal, condition))

    def _sequence(self, tree: Any, start: int, flags: int) -> int:
        for operator, argument in tree:
            start = self._node(operator, argument, start, flags)
        return start

    def _node(self, operator: Any, argument: Any, start: int, flags: int) -> int:
        end: int
        if operator in _SINGLES:
            end = self._new()
            self._reads[start] = (self._compiled(operator, argument, flags), {}, end)
            # A node reads one thing: what follows begins at a fresh one.
            return end
        if operator is _constants.AT or _is_bounded_look(operator, argument):
            end = self._new()
            self._link(start, end, self._compiled(operator, argument, flags))
            return end
        if operator is _constants.BRANCH:
            end = self._new()
            for part in argument[1]:
                begin = self._new()
                self._link(start, begin)
                self._link(self._sequence(part, begin, flags), end)
            return end
        if operator is _constants.SUBPATTERN:
            _, added, removed, body = argument
            return self._sequence(body, start, (flags | added) & ~removed)
        if operator in _REPEATS:
            least, most, body = argument
            return self._repeat(least, most, body, start, flags)
        raise SearchTooLongError(
            "the expression refers back or looks around, which is only followed in short texts"
        )

    def _repeat(self, least: int, most: Any, body: Any, start: int, flags: int) -> int:
        for _ in range(least):
            start = self._sequence(body, self._step(start), flags)
        end = self._new()
        if most is _constants.MAXREPEAT:
            begin = self._step(start)
            self._link(begin, end)
            self._link(self._sequence(body, self._step(begin), flags), begin)
            return end
        self._link(start, end)
        for _ in range(most - least):
            start = self._sequence(body, self._step(start), flags)
            self._link(start, end)
        return end

    def _step(self, start: int) -> int:
        """A fresh node behind another one."""
        fresh = self._new()
        self._link(start, fresh)
        return fresh

    def _compiled(self, operator: Any, argument: Any, flags: int) -> re.Pattern[str]:
        part = _parser.SubPattern(self._state, [(operator, argument)])
        compiled: re.Pattern[str] = _compiler.compile(part, flags)
        return compiled


def _is_bounded_look(operator: Any, argument: Any) -> bool:
    """Whether an operator looks ahead or behind by a fixed distance, as a condition on a place."""
    if operator not in (_constants.ASSERT, _constants.ASSERT_NOT):
        return False
    least, most = argument[1].getwidth()
    return bool(least == most) and _choices(argument[1])[0] <= _MOST_NODES


def _takes(pattern: re.Pattern[str], known: dict[str, bool], character: str) -> bool:
    verdict = known.get(character)
    if verdict is None:
        verdict = known[character] = pattern.fullmatch(character) is not None
    return verdict
