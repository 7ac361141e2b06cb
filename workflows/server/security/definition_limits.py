"""How large the workflows in a request may be. Counts them; their meaning is for the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workflows.server.faults import InvalidRequestError


@dataclass(frozen=True, slots=True)
class DefinitionLimits:
    """Limits on the workflows that one request sends, those inside of steps counted along.

    Attributes:
        max_steps: most steps.
        max_outputs: most outputs; also most inputs.
    """

    max_steps: int
    max_outputs: int

    def check(self, body: Any) -> None:
        """Refuses workflows that are too large.

        Args:
            body: the JSON of a request: a definition, or an object that has one as a member.

        Raises:
            InvalidRequestError: there are too many steps, outputs or inputs.
        """
        counts = _count(body)
        for name, limit in (
            ("steps", self.max_steps),
            ("outputs", self.max_outputs),
            ("inputs", self.max_outputs),
        ):
            if counts[name] > limit:
                raise InvalidRequestError(
                    f"A workflow has at most {limit} {name} on this server, got {counts[name]}.",
                )


def _count(body: Any) -> dict[str, int]:
    """Entries of the lists `steps`, `outputs` and `inputs` of all definitions in the JSON."""
    counts = {"steps": 0, "outputs": 0, "inputs": 0}
    left = [body]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if isinstance(value.get("steps"), list):
                for name in counts:
                    entries = value.get(name)
                    counts[name] += len(entries) if isinstance(entries, list) else 0
            left += value.values()
        elif isinstance(value, list):
            left += value
    return counts
