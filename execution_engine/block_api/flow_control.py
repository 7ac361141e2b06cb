"""What control-flow blocks return."""

from __future__ import annotations

from collections.abc import Sequence


class FlowControl:
    """The targets a control-flow block lets run.

    Args:
        context: one step selector, a list of them, or None for nothing.
        mode: accepted for blocks written for older engines; what counts is `context`.
    """

    __slots__ = ("context", "mode")

    def __init__(self, context: str | Sequence[str] | None = None, mode: str | None = None) -> None:
        self.context = context
        self.mode = mode

    def targets(self) -> Sequence[str]:
        """The selected targets as a sequence."""
        if self.context is None:
            return ()
        return (self.context,) if isinstance(self.context, str) else self.context

    def __repr__(self) -> str:
        return f"FlowControl({self.context!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlowControl) and list(self.targets()) == list(other.targets())

    __hash__ = None  # type: ignore[assignment]
