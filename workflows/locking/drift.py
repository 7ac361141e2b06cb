"""Compares a lock with what is there, entry by entry. Looks nothing up and raises nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from execution_engine.definition.json_pointer import pointer_part
from workflows.locking.errors import NOTHING, Drift
from workflows.locking.lock_file import BlockPin, Lock, ModelPin


def definition_drift(lock: Lock, digest: str, steps: Mapping[str, str]) -> Iterator[Drift]:
    """What differs between the locked workflow and the one at hand.

    Args:
        lock: the lock.
        digest: digest of the definition at hand.
        steps: type ids of its steps by name.
    """
    if lock.definition != digest:
        yield Drift(
            "workflow",
            "The workflow is not the one that was locked",
            lock.definition,
            digest,
            "/definition",
            None
            if lock.steps != dict(steps)
            else "Its steps and blocks are the same; fields of steps, inputs or outputs differ: "
            "compare with version control.",
        )
    for name in sorted(lock.steps.keys() | steps.keys()):
        locked, found = lock.steps.get(name), steps.get(name)
        if locked != found:
            yield Drift(
                "step",
                f"The block of step '{name}'",
                locked or NOTHING,
                found or NOTHING,
                f"/steps/{pointer_part(name)}",
            )


def engine_drift(lock: Lock, version: str) -> Iterator[Drift]:
    """Another version of the engine."""
    if lock.engine != version:
        yield Drift(
            "engine_version",
            "The version of the engine",
            lock.engine,
            version,
            "/engine",
            f"Install a weftlens with engine {lock.engine} to get back (weftlens --version).",
        )


def distribution_drift(lock: Lock, versions: Mapping[str, str | None]) -> Iterator[Drift]:
    """Other versions of third-party distributions.

    Args:
        lock: the lock.
        versions: installed versions of the distributions that the workflow's blocks come from;
            None where one is not installed.
    """
    for name in sorted(lock.distributions.keys() | versions.keys()):
        locked, found = lock.distributions.get(name), versions.get(name)
        if locked != found:
            yield Drift(
                "distribution_version",
                f"The version of the distribution '{name}'",
                locked or NOTHING,
                found or NOTHING,
                f"/distributions/{pointer_part(name)}",
                f"pip install '{name}=={locked}' gets back to it." if locked else None,
            )


def block_drift(lock: Lock, found: Mapping[str, BlockPin]) -> Iterator[Drift]:
    """What differs in the blocks that the lock and the workflow both use."""
    for type_id, pin in sorted(found.items()):
        locked = lock.blocks.get(type_id)
        steps = sorted(name for name, used in lock.steps.items() if used == type_id)
        where = f"/blocks/{pointer_part(type_id)}"
        of = f"of {type_id} ({'step' if len(steps) == 1 else 'steps'} {', '.join(steps)})"
        if locked is None:
            if steps:
                yield Drift("block", f"The block {type_id}", NOTHING, "a pin", where)
            continue
        if locked == pin:
            continue
        behaves = locked.behaviour == pin.behaviour and pin.behaviour is not None
        for code, name, before, after, hint in (
            ("manifest", "The manifest", locked.manifest, pin.manifest,
             "Its released behaviour is the same." if behaves else None),
            ("behaviour", "The released behaviour", locked.behaviour, pin.behaviour, None),
            ("distribution", "The origin", locked.distribution, pin.distribution, None),
            ("code", "The code", locked.code, pin.code, None),
            ("version", "The version", locked.version, pin.version, None),
        ):  # fmt: skip
            if before != after:
                yield Drift(
                    f"block_{code}", f"{name} {of}", before or NOTHING, after or NOTHING,
                    f"{where}/{code}", hint,
                )  # fmt: skip


def model_drift(model_id: str, locked: ModelPin, found: ModelPin | str) -> Iterator[Drift]:
    """What differs in the files of a model; `found` is a text where there is no such model."""
    where = f"/models/{pointer_part(model_id)}"
    if isinstance(found, str):
        yield Drift(
            "model", f"Model '{model_id}'", locked.digest, NOTHING, where, f"{found.rstrip('.')}."
        )
        return
    if locked.files == found.files and locked.digest != found.digest:
        yield Drift("model", f"Model '{model_id}'", locked.digest, found.digest, where)
    told = False
    for name in sorted(locked.files.keys() | found.files.keys()):
        before, after = locked.files.get(name), found.files.get(name)
        if before != after:
            hint = None if told else f"`weftlens models verify {model_id}` says what changed here."
            told = True
            yield Drift(
                "model_file",
                f"File {name} of model '{model_id}'",
                before or NOTHING,
                after or NOTHING,
                f"{where}/files/{pointer_part(name)}",
                hint,
            )


def model_inputs_drift(before: Lock, after: Lock) -> Iterator[Drift]:
    """Other models that inputs may name."""
    for name in sorted(before.model_inputs.keys() | after.model_inputs.keys()):
        locked, found = before.model_inputs.get(name, []), after.model_inputs.get(name, [])
        if locked != found:
            yield Drift(
                "model_inputs",
                f"The model that input '{name}' may name",
                " or ".join(locked) or NOTHING,
                " or ".join(found) or NOTHING,
                f"/model_inputs/{pointer_part(name)}",
            )


def model_choice(name: str, model_id: str, lock: Lock) -> Drift:
    """An input names a model that the lock does not allow for it."""
    return Drift(
        "model_choice",
        f"The model that input '{name}' names",
        " or ".join(lock.model_inputs.get(name, [])) or NOTHING,
        model_id,
        f"/model_inputs/{pointer_part(name)}",
    )
