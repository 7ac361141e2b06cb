"""Which models are in memory: loading once, leases, eviction of the least recently used. Knows no ids and no paths."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from inference_models.errors import ModelManagerClosedError, ModelPackageRestrictedError
from inference_models.manager.dispatch import Dispatcher
from inference_models.manager.model import Model
from inference_models.packages.package import ModelPackage


@dataclass(slots=True, eq=False)
class Resident:
    """A model in memory.

    Attributes:
        model: the model.
        dispatcher: takes its calls.
        nbytes: bytes it is charged with.
        in_use: calls under way.
        last_used: number of the latest call, rising over all models.
        retired: no new calls; the last one under way closes it.
    """

    model: Model
    dispatcher: Dispatcher
    nbytes: int
    in_use: int = 0
    last_used: int = 0
    retired: bool = False

    def close(self) -> None:
        """Ends the dispatcher, then the model."""
        self.dispatcher.close()
        self.model.close()


@dataclass(slots=True, eq=False)
class Slot:
    """A model that may or may not be in memory."""

    package: ModelPackage
    resident: Resident | None = None
    attempt: Future[None] | None = None
    reserved: int = 0
    loads: int = field(default=0)


class ModelMemory:
    """Loads models when they are first used and drops those used longest ago when they need too much memory.

    Args:
        load: makes a model and its dispatcher from a package.
        max_bytes: limit on the sum of all models' bytes; None for no limit. A model in use is never dropped, so
            the sum may be above the limit while calls that need more run at the same time; it is brought below
            it as soon as one of them ends.
    """

    def __init__(
        self, load: Callable[[ModelPackage], tuple[Model, Dispatcher]], max_bytes: int | None
    ) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1 or None, got {max_bytes}")
        self.max_bytes = max_bytes
        self._load = load
        self._slots: list[Slot] = []
        self._ticks = itertools.count(1)
        self._changed = threading.Condition()
        self._active = 0
        self._closed = False

    @property
    def total_bytes(self) -> int:
        """Bytes of all models in memory or on their way there."""
        with self._changed:
            return self._total()

    def add(self, package: ModelPackage) -> Slot:
        """A slot for a package; nothing is loaded."""
        slot = Slot(package)
        with self._changed:
            self._require_open()
            self._slots.append(slot)
        return slot

    @contextmanager
    def lease(self, slot: Slot) -> Iterator[Resident]:
        """Holds a model in memory while the block runs, loading it first when needed.

        Of several first calls one loads and the others wait for it; when it fails, all of them fail, and the next call
        tries again.

        Raises:
            ModelManagerClosedError: `close` was called.
            ModelPackageRestrictedError: the model alone is above the limit.
            ModelLoadingError: it does not load.
        """
        with self._changed:
            self._require_open()
            self._active += 1
        try:
            resident = self._acquire(slot)
            try:
                yield resident
            finally:
                self._release(resident)
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    def drop(self, slot: Slot) -> bool:
        """Frees a model; calls under way finish first. False when it was not in memory."""
        with self._changed:
            resident, slot.resident = slot.resident, None
            if resident is None:
                return False
            resident.retired = True
            idle = resident.in_use == 0
        if idle:
            resident.close()
        return True

    def forget(self, slot: Slot) -> bool:
        """Frees a model and its slot. False when it was not in memory."""
        dropped = self.drop(slot)
        with self._changed:
            if slot in self._slots:
                self._slots.remove(slot)
        return dropped

    def close(self) -> None:
        """Waits for the calls under way, then frees all models. Calling it again does nothing."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._active == 0)
            slots, self._slots = self._slots, []
        for slot in slots:
            self.drop(slot)

    def _require_open(self) -> None:
        if self._closed:
            raise ModelManagerClosedError("the model manager is closed")

    def _total(self) -> int:
        return sum(
            slot.reserved if slot.resident is None else slot.resident.nbytes for slot in self._slots
        )

    def _acquire(self, slot: Slot) -> Resident:
        while True:
            with self._changed:
                resident = slot.resident
                if resident is not None:
                    return self._take(resident)
                attempt = slot.attempt
                if attempt is None:
                    slot.attempt = mine = Future[None]()
                    break
            # Raises what the loading call raised; otherwise the model is there, unless it is gone again already.
            attempt.result()
        try:
            return self._load_into(slot)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._changed:
                slot.attempt = None
                slot.reserved = 0
            if not mine.done():
                mine.set_result(None)

    def _load_into(self, slot: Slot) -> Resident:
        package = slot.package
        expected = package.weights_bytes + sum(path.stat().st_size for path in package.extra_files)
        if self.max_bytes is not None and expected > self.max_bytes:
            raise ModelPackageRestrictedError(
                f"{package.location} needs {expected} bytes, models may take {self.max_bytes}"
            )
        with self._changed:
            slot.reserved = expected
            evicted = self._evict()
        for resident in evicted:
            resident.close()
        model, dispatcher = self._load(package)
        resident = Resident(model, dispatcher, model.nbytes)
        with self._changed:
            slot.resident = resident
            slot.loads += 1
            self._take(resident)
            evicted = self._evict()
        for other in evicted:
            other.close()
        return resident

    def _take(self, resident: Resident) -> Resident:
        resident.in_use += 1
        resident.last_used = next(self._ticks)
        return resident

    def _release(self, resident: Resident) -> None:
        with self._changed:
            resident.in_use -= 1
            evicted = self._evict()
            if resident.retired and resident.in_use == 0 and resident not in evicted:
                evicted.append(resident)
        for other in evicted:
            other.close()

    def _evict(self) -> list[Resident]:
        """Takes idle models out until the rest fits, those used longest ago first. The caller closes them."""
        if self.max_bytes is None:
            return []
        excess = self._total() - self.max_bytes
        if excess <= 0:
            return []
        idle = [
            (slot.resident.last_used, slot)
            for slot in self._slots
            if slot.resident is not None and slot.resident.in_use == 0
        ]
        evicted: list[Resident] = []
        for _, slot in sorted(idle, key=lambda pair: pair[0]):
            if excess <= 0:
                break
            resident = slot.resident
            assert resident is not None
            slot.resident = None
            resident.retired = True
            excess -= resident.nbytes
            evicted.append(resident)
        return evicted
