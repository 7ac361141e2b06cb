"""What goes wrong with lock files, and the differences a check finds. Finds none itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from execution_engine.errors import WorkflowError

_CONTEXT = "workflow_lock"
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that is not as it was locked.

    Attributes:
        code: stable name of what differs, such as `model_file` or `engine_version`.
        what: what differs, as the beginning of a sentence.
        locked: what the lock says; "nothing" where it does not hold the thing.
        found: what is there; "nothing" where the thing is gone.
        where: JSON pointer into the lock.
        hint: how to get back to what was locked; None when there is no more to say.
    """

    code: str
    what: str
    locked: str
    found: str
    where: str
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{self.what}: locked {short(self.locked)}, found {short(self.found)}."
        return f"{text} {self.hint}" if self.hint else text

    def to_dict(self) -> dict[str, str | None]:
        """The difference as JSON data."""
        return asdict(self)


class WorkflowLockError(WorkflowError):
    """A lock cannot be made, read or written; `status_code` is what a server answers with."""

    status_code: ClassVar[int] = 400

    def __init__(self, message: str, inner_error: BaseException | None = None) -> None:
        super().__init__(message, _CONTEXT, inner_error)


class LockDriftError(WorkflowLockError):
    """A workflow does not run with what its lock says.

    Args:
        name: what to call the lock.
        drifts: every difference.
        accept: the command that makes a lock of what is there now.
    """

    status_code: ClassVar[int] = 409

    def __init__(self, name: str, drifts: Sequence[Drift], accept: str) -> None:
        self.name = name
        self.drifts = tuple(drifts)
        self.accept = accept
        super().__init__(drift_text(name, self.drifts, accept))

    def to_dict(self) -> dict[str, Any]:
        """The arguments as JSON data."""
        return {
            "name": self.name,
            "drifts": [drift.to_dict() for drift in self.drifts],
            "accept": self.accept,
        }


def drift_text(name: str, drifts: Sequence[Drift], accept: str) -> str:
    """All differences as a numbered list, and how to accept them."""
    count = f"{len(drifts)} difference{'' if len(drifts) == 1 else 's'}"
    lines = [f"{name} does not hold: {count}"]
    for number, drift in enumerate(drifts, 1):
        label = f"{number:>3}. "
        lines.append(f"{label}{drift.what} [{drift.code}]")
        indent = " " * len(label)
        lines.append(f"{indent}locked: {short(drift.locked)}")
        lines.append(f"{indent}found:  {short(drift.found)}")
        if drift.hint:
            lines.append(f"{indent}{drift.hint}")
    lines.append(f"To accept what is there now: {accept}")
    return "\n".join(lines)


def short(value: str) -> str:
    """A value for people: of a digest its first 12 digits."""
    return value[:19] if value.startswith("sha256:") and len(value) == 71 else value
