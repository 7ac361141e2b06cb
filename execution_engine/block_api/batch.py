"""`Batch`: how a block that works on many elements gets them. Knows nothing of compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Index = tuple[int, ...]


class Batch(Generic[T]):
    """An ordered, read-only row of elements with their indices.

    Args:
        content: the elements.
        indices: position of each element in the (nested) batch, or a function that makes the list
            when first asked.
    """

    __slots__ = ("_content", "_indices", "_make_indices")

    def __init__(
        self,
        content: Sequence[T],
        indices: Sequence[Index] | Callable[[], Sequence[Index]] | None = None,
    ) -> None:
        self._content = content if isinstance(content, list) else list(content)
        self._make_indices = indices if callable(indices) else None
        self._indices: list[Index] | None
        if indices is None:
            self._indices = [(i,) for i in range(len(self._content))]
        else:
            self._indices = None if callable(indices) else list(indices)
        if self._indices is not None and len(self._indices) != len(self._content):
            raise ValueError(
                f"Batch needs one index an element: {len(self._content)} elements, "
                f"{len(self._indices)} indices"
            )

    @classmethod
    def init(cls, content: Sequence[T], indices: Sequence[Index]) -> Batch[T]:
        """Batch of `content` at `indices`."""
        return cls(content, indices)

    @property
    def content(self) -> list[T]:
        """The elements."""
        return self._content

    @property
    def indices(self) -> list[Index]:
        """The index of every element."""
        if self._indices is None:
            assert self._make_indices is not None
            self._indices = list(self._make_indices())
        return self._indices

    def __len__(self) -> int:
        return len(self._content)

    def __iter__(self) -> Iterator[T]:
        return iter(self._content)

    def __getitem__(self, position: int) -> T:
        return self._content[position]

    def __repr__(self) -> str:
        return f"Batch({self._content!r}, indices={self.indices!r})"

    def iter_with_indices(self) -> Iterator[tuple[Index, T]]:
        """Pairs of index and element."""
        return zip(self.indices, self._content, strict=True)

    def remove_by_indices(self, indices_to_remove: set[Index]) -> Batch[Any]:
        """A batch without the named indices; batches inside lose theirs too."""
        content: list[Any] = []
        kept: list[Index] = []
        for index, element in self.iter_with_indices():
            if index in indices_to_remove:
                continue
            content.append(
                element.remove_by_indices(indices_to_remove)
                if isinstance(element, Batch)
                else element
            )
            kept.append(index)
        return Batch(content, kept)

    def broadcast(self, n: int) -> Batch[T]:
        """A batch of `n` elements: itself when it has `n`, its one element repeated when it has
        one.

        Raises:
            ValueError: `n` is not positive, or the length is neither 1 nor `n`.
        """
        if n <= 0:
            raise ValueError(f"Batch.broadcast needs a positive size, got {n}")
        if len(self) == n:
            return self
        if len(self) != 1:
            raise ValueError(f"A batch of {len(self)} elements cannot be broadcast to {n}")
        return Batch(self._content * n, self.indices * n)
