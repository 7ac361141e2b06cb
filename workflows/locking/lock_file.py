"""`Lock`: the content of a lock file, its text and its place. Makes none from a workflow and checks
none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from workflows.files import write_whole
from workflows.locking.canonical import json_digest
from workflows.locking.errors import WorkflowLockError

LOCK_SUFFIX = ".lock.json"
LOCK_VERSION = 1
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class BlockPin(_Part):
    """What is locked of one block version."""

    version: str = Field(description="Version within its family; empty when it has none.")
    manifest: Digest = Field(
        description="Digest of the manifest: fields, defaults, limits, kinds, outputs, hooks and "
        "texts."
    )
    behaviour: Digest | None = Field(
        None,
        description="Digest of the outputs the version was released with; blocks of other "
        "distributions have none.",
    )
    distribution: str = Field(description="Installed distribution, or module, it comes from.")
    code: Digest | None = Field(
        None,
        description="Digest of the file with the block's code, where no installed distribution "
        "with a version stands for it.",
    )


class ModelPin(_Part):
    """What is locked of one model package."""

    digest: Digest = Field(description="Digest over names and digests of all files.")
    files: dict[str, Digest] = Field(description="Digest of every file by its path.")


class Lock(_Part):
    """What a workflow ran with when it was locked."""

    model_config = ConfigDict(title="Lock of a workflow")

    lock_version: Literal[1] = Field(1, description="Version of this form of lock files.")
    definition: Digest = Field(
        description="Digest of the workflow as canonical JSON: inputs, steps, outputs, version."
    )
    engine: str = Field(description="Version of the engine.", examples=["1.17.0"])
    distributions: dict[str, str] = Field(
        description="Version of every installed distribution that blocks come from, except "
        "weftlens itself, whose blocks are held by their digests."
    )
    steps: dict[str, str] = Field(description="Type id with its version by name of step.")
    blocks: dict[str, BlockPin] = Field(description="Blocks of the steps by type id.")
    models: dict[str, ModelPin] = Field(description="Models by the id the workflow uses.")
    model_inputs: dict[str, list[str]] = Field(
        description="Inputs that name a model, and the models they may name in a locked run."
    )
    open_models: dict[str, str] = Field(
        description="Fields whose model is only known during a run, as step.field, and where it "
        "comes from. A lock cannot hold these models."
    )

    def to_text(self) -> str:
        """The text of the lock file: sorted, one value a line, the same for equal locks."""
        data = self.model_dump(exclude_none=True)
        return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @cached_property
    def digest(self) -> str:
        """Digest of the whole lock, for caches."""
        return json_digest(self.model_dump())


LockSource = Lock | Mapping[str, Any] | str | os.PathLike[str]


def lock_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of lock files."""
    return {"$schema": _DIALECT, **Lock.model_json_schema()}


def lock_path(workflow: Path) -> Path:
    """Where the lock of a workflow file is kept: `name.lock.json` beside `name.json`."""
    stem = workflow.stem if workflow.suffix.lower() == ".json" else workflow.name
    return workflow.parent / (stem + LOCK_SUFFIX)  # `with_name` refuses "." and "/"


def is_lock_path(path: Path) -> bool:
    """Whether a file is a lock by its name."""
    return path.name.lower().endswith(LOCK_SUFFIX)


def read_lock(path: Path) -> Lock:
    """The lock of a file.

    Raises:
        WorkflowLockError: there is none, or it cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise WorkflowLockError(
            f"There is no lock file '{path}'; `weftlens lock` makes it.", error
        ) from error
    except (OSError, ValueError) as error:  # ValueError: characters no path can hold
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkflowLockError(
            f"The lock file '{path}' cannot be read: {reason}.", error
        ) from error
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WorkflowLockError(f"The lock file '{path}' is no JSON: {error}.", error) from error
    return parse_lock(data, f"The lock file '{path}'")


def parse_lock(data: Any, what: str = "The lock") -> Lock:
    """The lock of JSON data.

    Args:
        data: the content of a lock file.
        what: what to call it in messages, as the beginning of a sentence.

    Raises:
        WorkflowLockError: it is no lock, or one of another version.
    """
    if not isinstance(data, Mapping):
        raise WorkflowLockError(
            f"{what} must hold a JSON object as `weftlens lock` writes it, got "
            f"{type(data).__name__}."
        )
    version = data.get("lock_version")
    if version != LOCK_VERSION or isinstance(version, bool):
        if "steps" in data and "inputs" in data:
            raise WorkflowLockError(f"{what} is a workflow, not the lock of one.")
        raise WorkflowLockError(
            f"{what} has lock_version {json.dumps(version, default=str)}; this weftlens reads "
            f"version {LOCK_VERSION}. Make it again with `weftlens lock`."
        )
    try:
        return Lock.model_validate(dict(data))
    except ValidationError as error:
        faults = "; ".join(
            f"{'/'.join(map(str, detail['loc']))}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
            for detail in error.errors(include_url=False, include_input=False)[:5]
        )
        raise WorkflowLockError(
            f"{what} is damaged: {faults}. Make it again with `weftlens lock`.", error
        ) from error


def write_lock(lock: Lock, path: Path) -> None:
    """Writes a lock file; readers see the old one or the new one.

    Raises:
        WorkflowLockError: it cannot be written.
    """
    try:
        write_whole(path, lock.to_text().encode("utf-8", "surrogatepass"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkflowLockError(
            f"The lock file '{path}' cannot be written: {reason}.", error
        ) from error
