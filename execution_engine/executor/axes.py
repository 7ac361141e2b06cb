"""`Axis`: the elements of one level of batching at run time. Columns of values are lists aligned
with an axis.
"""

from __future__ import annotations

from execution_engine.block_api.batch import Index


class Axis:
    """The elements of one level and the parent element each belongs to.

    Args:
        counts: number of elements under each element of the parent; one number for a top level.
        parent: axis of the level above, None at the top.
    """

    __slots__ = ("_indices", "owners", "parent", "size", "starts")

    def __init__(self, counts: list[int], parent: Axis | None = None) -> None:
        self.parent = parent
        starts = [0]
        owners: list[int] = []
        for owner, count in enumerate(counts):
            starts.append(starts[-1] + count)
            owners.extend([owner] * count)
        self.starts = starts
        self.owners = owners
        self.size = starts[-1]
        self._indices: list[Index] | None = None

    def children(self, position: int) -> range:
        """Positions of the elements under the parent's element at `position`."""
        return range(self.starts[position], self.starts[position + 1])

    @property
    def indices(self) -> list[Index]:
        """The full index of every element."""
        if self._indices is None:
            if self.parent is None:
                self._indices = [(i,) for i in range(self.size)]
            else:
                above = self.parent.indices
                starts = self.starts
                self._indices = [
                    (*above[owner], i - starts[owner]) for i, owner in enumerate(self.owners)
                ]
        return self._indices

    def spread(self, column: list[bool], ancestor: Axis) -> list[bool]:
        """A column along an ancestor (or this axis) repeated for every element of this axis."""
        if ancestor is self:
            return column
        assert self.parent is not None
        above = self.parent.spread(column, ancestor)
        return [above[owner] for owner in self.owners]

    def descends_from(self, candidate: Axis) -> bool:
        """Whether `candidate` is this axis or one above it."""
        current: Axis | None = self
        while current is not None:
            if current is candidate:
                return True
            current = current.parent
        return False
