"""Statistics of values that come one after another. Knows no block and no time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Protocol

from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

MOST_DIFFERENT = 1_000_000
"""Different values of one statistic that are kept at a time."""
# Sums of whole numbers of so many bits are still floats.
_MOST_BITS = 1000


class Aggregate(Protocol):
    """A statistic of the values that were added to it."""

    def add(self, value: Any) -> None:
        """Takes in a value; raises `InvalidFieldValueError` when it is of the wrong type."""

    def result(self) -> Any:
        """The statistic of the values so far."""


class Count:
    """How many values there were."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, value: Any) -> None:
        self._count += 1

    def result(self) -> int:
        return self._count


class Sum:
    """Sum of numbers, 0 of none."""

    def __init__(self) -> None:
        self._sum: float = 0

    def add(self, value: Any) -> None:
        self._sum += _number(value)

    def result(self) -> float:
        return self._sum


class Average:
    """Mean of numbers, None of none."""

    def __init__(self) -> None:
        self._sum, self._count = Sum(), Count()

    def add(self, value: Any) -> None:
        self._sum.add(value)
        self._count.add(value)

    def result(self) -> float | None:
        return self._sum.result() / self._count.result() if self._count.result() else None


class Extreme:
    """The least or the greatest of values of one order, numbers or text; None of none.

    Args:
        choose: `min` or `max`.
    """

    def __init__(self, choose: Callable[[Any, Any], Any]) -> None:
        self._choose = choose
        self._value: Any = None

    def add(self, value: Any) -> None:
        value = _plain(value)
        try:
            self._value = self._choose(value, value if self._value is None else self._value)
        except (TypeError, ValueError) as error:
            raise InvalidFieldValueError(
                f"values must be numbers, or all of one type that has an order, got "
                f"{short_text(value)} after {short_text(self._value)}"
            ) from error

    def result(self) -> Any:
        return self._value


class Difference:
    """The greatest number less the least, None of none."""

    def __init__(self) -> None:
        self._least, self._greatest = Extreme(min), Extreme(max)

    def add(self, value: Any) -> None:
        number = _number(value)
        self._least.add(number)
        self._greatest.add(number)

    def result(self) -> float | None:
        least = self._least.result()
        return None if least is None else self._greatest.result() - least


class Counts:
    """How often there was each value."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._counts: dict[Hashable, int] = {}

    def add(self, value: Any) -> None:
        key = _key(value)
        if key not in self._values:
            if len(self._values) >= MOST_DIFFERENT:
                raise InvalidFieldValueError(
                    f"there are more than {MOST_DIFFERENT} different values in one interval; "
                    f"shorten the interval"
                )
            self._values[key] = _plain(value)
        self._counts[key] = self._counts.get(key, 0) + 1

    def values(self) -> list[Any]:
        """The different values in the order in which they came."""
        return list(self._values.values())

    def result(self) -> dict[Any, int]:
        """Counts by value; by its text where it is a list or a mapping."""
        counts: dict[Any, int] = {}
        for key, value in self._values.items():
            name = str(value) if isinstance(value, (list, tuple, dict, set)) else value
            counts[name] = counts.get(name, 0) + self._counts[key]
        return counts


class Distinct(Counts):
    """The different values."""

    def result(self) -> list[Any]:  # type: ignore[override]
        return self.values()


class DistinctCount(Counts):
    """How many different values there were."""

    def result(self) -> int:  # type: ignore[override]
        return len(self.values())


AGGREGATES: Mapping[str, Callable[[], Aggregate]] = {
    "sum": Sum,
    "avg": Average,
    "max": lambda: Extreme(max),
    "min": lambda: Extreme(min),
    "count": Count,
    "distinct": Distinct,
    "count_distinct": DistinctCount,
    "values_counts": Counts,
    "values_difference": Difference,
}


def elements_of(value: Any) -> Iterator[Any]:
    """The elements of a list, a set, an array or detections; any other value itself.

    Elements that are missing, None and NaN, are left out.
    """
    value = _plain(value)
    is_text = isinstance(value, (str, bytes, bytearray))
    is_list = hasattr(value, "__len__") and hasattr(value, "__iter__")
    if is_text or isinstance(value, Mapping) or not is_list:
        value = (value,)
    for element in value:
        if element is not None and not (isinstance(element, Real) and element != element):
            yield element


def _number(value: Any) -> float:
    plain = _plain(value)
    if isinstance(plain, Integral) and int(plain).bit_length() < _MOST_BITS:
        return int(plain)
    if isinstance(plain, Real) and not isinstance(plain, Integral):
        return float(plain)
    raise InvalidFieldValueError(
        f"values must be numbers, got {short_text(plain)}; operations of `data_operations` can "
        f"make numbers of other values"
    )


def _plain(value: Any) -> Any:
    """Numbers and arrays of other libraries as numbers and lists of Python."""
    return value.tolist() if hasattr(value, "tolist") else value


def _key(value: Any) -> Hashable:
    """What two values have in common only when they are the same; 1 and True are not."""
    value = _plain(value)
    if isinstance(value, (list, tuple)):
        return ("list", *(_key(item) for item in value))
    if isinstance(value, Mapping):
        return ("map", frozenset((_key(name), _key(item)) for name, item in value.items()))
    try:
        hash(value)
    except TypeError as error:
        raise InvalidFieldValueError(
            f"values must be text, numbers or lists of them, got one of type "
            f"{type(value).__name__}; operations of `data_operations` can take out what counts"
        ) from error
    return (isinstance(value, bool), value)
