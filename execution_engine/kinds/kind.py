"""What a kind is and when two lists of kinds fit. No kind of data is defined here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A named kind of data that travels between steps; two kinds are the same when their names are.

    Attributes:
        name: the name on the wire.
        description: one line for people.
        docs: Markdown with details.
        serialised_data_type: what the JSON value is.
        internal_data_type: what blocks get in Python.
    """

    name: str
    description: str = ""
    docs: str = ""
    serialised_data_type: str = ""
    internal_data_type: str = ""

    def to_dict(self) -> dict[str, str]:
        """The kind as the object that JSON schemas of blocks carry."""
        return {
            "name": self.name,
            "description": self.description,
            "docs": self.docs,
            "serialised_data_type": self.serialised_data_type,
            "internal_data_type": self.internal_data_type,
        }


def kinds_compatible(given: Iterable[str], accepted: Iterable[str]) -> bool:
    """Whether data of any kind in `given` may feed a field that takes `accepted` (`*` fits
    everything).
    """
    given_names, accepted_names = set(given), set(accepted)
    if "*" in given_names or "*" in accepted_names:
        return True
    return not given_names.isdisjoint(accepted_names)
