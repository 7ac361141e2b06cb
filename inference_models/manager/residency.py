"""Which models are in memory: loading once, leases, eviction of the least recently used. Knows no
ids and no paths."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

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
    """A model that may or may not be in memory.

    Attributes:
        package: what to load.
        resident: the model while it is in memory.
        attempt: the load under way, if any.
        reserved: bytes set aside for that load.
        loads: how often it was loaded.
        forgotten: the slot is used no more; who holds it asks for a new one.
    """

    package: ModelPackage
    resident: Resident | None = None
    attempt: Future[None] | None = None
    reserved: int = 0
    loads: int = 0
    forgotten: bool = False


class SlotForgotten(Exception):
    """The slot was forgotten between looking it up and using it."""


class ModelMemory:
    """Loads models when they are first used and drops those used longest ago when they need too
    much memory.

    Args:
        load: makes a model and its dispatcher from a package.
        max_bytes: limit on the sum of all models' bytes; None for no limit. A model in use is never
            dropped, so the sum may be above the limit while calls that need more run at the same
            time; it is brought below it as soon as one of them ends.

    Raises:
        ValueError: the limit is not positive.
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

    def acquire(self, slot: Slot) -> Resident:
        """Holds a model in memory until `release`, loading it first when needed.

        Of several first calls one loads and the others wait for it; when it fails, all of them
        fail, and the next call tries again.

        Raises:
            SlotForgotten: the slot is used no more.
            ModelManagerClosedError: `close` was called.
            ModelPackageRestrictedError: the model alone is above the limit.
            ModelLoadingError: it does not load.
        """
        with self._changed:
            self._require_open()
            self._active += 1
        try:
            return self._acquire(slot)
        except BaseException:
            self._end_call()
            raise

    def release(self, resident: Resident) -> None:
        """Ends a call that `acquire` began."""
        with self._changed:
            resident.in_use -= 1
            dropped = self._evict()
            if resident.retired and resident.in_use == 0 and resident not in dropped:
                dropped.append(resident)
        try:
            _close_all(dropped)
        finally:
            self._end_call()

    def drop(self, slot: Slot, forget: bool = False) -> bool:
        """Frees a model; calls under way finish first.

        Args:
            slot: where the model is.
            forget: whether the slot goes as well.

        Returns:
            Whether the model was in memory.
        """
        with self._changed:
            if forget:
                slot.forgotten = True
                self._slots = [one for one in self._slots if one is not slot]
            resident, slot.resident = slot.resident, None
            if resident is None:
                return False
            resident.retired = True
            idle = resident.in_use == 0
        if idle:
            resident.close()
        return True

    def close(self) -> None:
        """Waits for the calls under way, then frees all models. Calling it again does nothing."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._active == 0)
            slots = list(self._slots)
        for slot in slots:
            self.drop(slot, forget=True)

    def _require_open(self) -> None:
        if self._closed:
            raise ModelManagerClosedError("the model manager is closed")

    def _end_call(self) -> None:
        with self._changed:
            self._active -= 1
            self._changed.notify_all()

    def _total(self) -> int:
        return sum(
            slot.reserved if slot.resident is None else slot.resident.nbytes for slot in self._slots
        )

    def _acquire(self, slot: Slot) -> Resident:
        while True:
            with self._changed:
                if slot.forgotten:
                    raise SlotForgotten
                if slot.resident is not None:
                    return self._take(slot.resident)
                attempt = slot.attempt
                if attempt is None:
                    slot.attempt = mine = Future[None]()
                    break
            # Raises what the loading call raised; otherwise the model is there, unless it is gone
            # again already.
            attempt.result()
        try:
            resident = self._load_into(slot)
        except BaseException as error:
            self._end_attempt(slot)
            mine.set_exception(error)
            raise
        self._end_attempt(slot)
        mine.set_result(None)
        return resident

    def _end_attempt(self, slot: Slot) -> None:
        with self._changed:
            slot.attempt = None
            slot.reserved = 0

    def _load_into(self, slot: Slot) -> Resident:
        package = slot.package
        expected = package.nbytes
        if self.max_bytes is not None and expected > self.max_bytes:
            raise ModelPackageRestrictedError(
                f"{package.location} needs {expected} bytes, models may take {self.max_bytes}"
            )
        with self._changed:
            slot.reserved = expected
            evicted = self._evict()
        _close_all(evicted)
        model, dispatcher = self._load(package)
        resident = Resident(model, dispatcher, model.nbytes)
        with self._changed:
            slot.loads += 1
            self._take(resident)
            if slot.forgotten:
                resident.retired = True
            else:
                slot.resident = resident
            evicted = self._evict()
        _close_all(evicted)
        return resident

    def _take(self, resident: Resident) -> Resident:
        resident.in_use += 1
        resident.last_used = next(self._ticks)
        return resident

    def _evict(self) -> list[Resident]:
        """Takes idle models out until the rest fits, those used longest ago first. The caller
        closes them."""
        if self.max_bytes is None:
            return []
        excess = self._total() - self.max_bytes
        idle = [
            (slot.resident.last_used, slot, slot.resident)
            for slot in self._slots
            if slot.resident is not None and slot.resident.in_use == 0
        ]
        evicted: list[Resident] = []
        for _, slot, resident in sorted(idle, key=lambda one: one[0]):
            if excess <= 0:
                break
            slot.resident = None
            resident.retired = True
            excess -= resident.nbytes
            evicted.append(resident)
        return evicted


def _close_all(residents: list[Resident]) -> None:
    for resident in residents:
        resident.close()
