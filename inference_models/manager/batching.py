"""`BatchingDispatcher`: joins calls that come at the same time into one forward pass.

A call that finds room runs at once on its own thread; what had to wait is shared out evenly over
the forward passes that the cores allow side by side. Passes keep all cores unless the
`ThreadBudget` says otherwise: two cores give an image of parts-seg/1 in 15 ms, in 13 under load in
batches of four; one core each, in 22 and in 11.

Pre- and post-processing stay on the callers' threads. Whose turn it is belongs to `fair_queue`,
what a forward pass does to `model`.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import Any

import numpy as np

from inference_models.errors import (
    ModelBusyError,
    ModelCallCancelledError,
    ModelManagerClosedError,
    ModelRuntimeError,
)
from inference_models.families.parameters import InferenceParameters
from inference_models.families.pipeline import Prediction
from inference_models.manager.call_context import current_call
from inference_models.manager.dispatch import DispatcherFactory
from inference_models.manager.fair_queue import FairQueue, Part, Window
from inference_models.manager.model import Model
from inference_models.manager.statistics import DispatchStatistics, StatisticsRecorder
from inference_models.preprocessing.images import ColorOrder

_log = logging.getLogger(__name__)

DEFAULT_MAX_BATCH = 8
DEFAULT_MAX_DELAY_MS = 2.0
DEFAULT_QUEUE_SIZE = 128
_LONGEST_RETRY_SECONDS = 60.0
_SHORTEST_RETRY_SECONDS = 0.1


def dynamic_batching(
    *,
    max_batch: int = DEFAULT_MAX_BATCH,
    max_delay_ms: float = DEFAULT_MAX_DELAY_MS,
    queue_size: int = DEFAULT_QUEUE_SIZE,
) -> DispatcherFactory:
    """Dispatchers for `ModelManager(dispatcher=...)` that join calls; see `BatchingDispatcher`.

    Raises:
        ValueError: a number is out of range.
    """
    if max_batch < 1 or queue_size < 1 or not max_delay_ms >= 0:
        raise ValueError(
            f"dynamic batching needs max_batch >= 1, max_delay_ms >= 0 and queue_size >= 1, got "
            f"max_batch={max_batch}, max_delay_ms={max_delay_ms}, queue_size={queue_size}"
        )
    return partial(
        BatchingDispatcher, max_batch=max_batch, max_delay_ms=max_delay_ms, queue_size=queue_size
    )


class BatchingDispatcher:
    """Takes the calls for one model and joins those of one network size.

    A forward pass that fails for several calls is repeated call by call, so that a call gets no
    error of another. When a thread dies at work, the calls in its hands get an error and a new
    thread serves those that wait.

    Args:
        model: the model.
        max_batch: most images of one forward pass; never more than the model takes.
        max_delay_ms: longest wait for calls that are being pre-processed when a batch could begin;
            there is no wait for calls that may or may not come.
        queue_size: calls that may wait; one more is refused.
    """

    def __init__(
        self, model: Model, *, max_batch: int, max_delay_ms: float, queue_size: int
    ) -> None:
        self._model = model
        self._name = str(model.package.location)
        self._max_batch = min(max_batch, model.max_batch)
        self._max_delay = max_delay_ms / 1000
        self._queue_size = queue_size
        self._lanes = model.concurrent_forwards
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._left = threading.Condition(self._lock)
        self._queue = FairQueue()
        self._busy = 0  # lanes in which a forward pass runs
        self._preparing = 0  # calls in pre-processing
        self._inside = 0  # calls in `run`
        self._workers: set[threading.Thread] = set()
        self._idle_workers = 0
        self._closed = False
        self._recorder = StatisticsRecorder()

    def run(
        self, images: Any, parameters: InferenceParameters, color_order: ColorOrder | None
    ) -> list[Prediction]:
        """Predictions for each image of a call; arguments and errors as `Model.infer`.

        Raises:
            ModelBusyError: too many calls wait.
            ModelDeadlineExceededError, ModelCallCancelledError: the caller gave up while waiting.
        """
        context = current_call()
        client = object() if context.client is None else context.client
        self._enter()
        preparing = True
        try:
            call = self._model.plan(images, parameters, color_order)
            with self._lock:
                self._recorder.events["calls"] += 1
                self._recorder.events["images"] += len(call.images)
            results: dict[int, Prediction] = {}
            for rows in call.batches(self._max_batch):
                if not preparing:
                    with self._lock:
                        self._preparing += 1
                    preparing = True
                inputs = self._model.write(call, rows)
                window = Window(
                    inputs, client, context, threading.Condition(self._lock), time.monotonic()
                )
                at_once = self._submit(window)
                preparing = False
                if at_once:
                    self._run_here(window)
                else:
                    with context.waiting():
                        self._wait(window)
                for start, stop, raw in window.answers:
                    for slot, row in enumerate(rows[start:stop]):
                        results[row] = self._model.finish(call, row, raw, slot)
            return [results[row] for row in range(len(call.images))]
        finally:
            self._leave(preparing)

    def statistics(self) -> DispatchStatistics:
        """What happened so far."""
        with self._lock:
            return self._recorder.snapshot(self._waiting())

    def close(self) -> None:
        """Refuses new calls, waits until those inside are answered, then ends the threads."""
        with self._lock:
            self._closed = True
            self._left.wait_for(lambda: self._inside == 0)
            workers = list(self._workers)
            self._work.notify_all()
        for worker in workers:
            worker.join()

    # A call, on its own thread.

    def _enter(self) -> None:
        with self._lock:
            if self._closed:
                raise ModelManagerClosedError(f"{self._name} serves no more calls")
            waiting = self._waiting()
            if waiting >= self._queue_size:
                self._recorder.events["refused"] += 1
                images = max(self._queue.images, waiting)
                estimate = images * self._recorder.seconds_per_image / self._lanes
                raise ModelBusyError(
                    f"{waiting} calls wait for {self._name}, which is as many as may",
                    min(max(estimate, _SHORTEST_RETRY_SECONDS), _LONGEST_RETRY_SECONDS),
                )
            self._inside += 1
            self._preparing += 1

    def _leave(self, preparing: bool) -> None:
        with self._lock:
            if preparing:
                self._preparing -= 1
                self._work.notify_all()
            self._inside -= 1
            if self._inside == 0:
                self._left.notify_all()

    def _waiting(self) -> int:
        """Calls that wait, without those that would start at once."""
        return max(0, self._preparing + len(self._queue) - (self._lanes - self._busy))

    def _submit(self, window: Window) -> bool:
        """Ends the preparation of a window; whether it runs at once on the caller's thread."""
        with self._lock:
            others = self._preparing - 1
            free = self._lanes - self._busy
            at_once = not self._queue.images and free > 0
            if at_once and not (others and self._max_delay and free == 1):
                self._busy += 1
            else:
                at_once = False
                self._queue.push(window)
                try:
                    self._call_worker()
                except BaseException:
                    self._queue.remove(window)
                    raise
            self._preparing -= 1
            if not others:
                self._work.notify_all()
            return at_once

    def _run_here(self, window: Window) -> None:
        try:
            try:
                window.context.check(self._name)
            except ModelRuntimeError:
                with self._lock:
                    self._recorder.events["given_up"] += 1
                raise
            self._compute([Part(window, 0, len(window.inputs))])
        finally:
            self._free_lane()
        if window.error is not None:
            raise window.error

    def _wait(self, window: Window) -> None:
        with self._lock:
            try:
                while not window.done:
                    window.changed.wait(window.context.patience())
                    if not window.done:
                        self._give_up_if_unwanted(window)
            finally:
                # An interrupt of this thread ends the wait too.
                self._queue.remove(window)
                if not window.done:
                    interrupted = f"a call of {self._name} was interrupted"
                    window.error = ModelCallCancelledError(interrupted)
        if window.error is not None:
            raise window.error

    def _give_up_if_unwanted(self, window: Window) -> None:
        try:
            window.context.check(self._name)
        except Exception as error:
            self._recorder.events["given_up"] += 1
            self._fail(window, error)

    def _fail(self, window: Window, error: BaseException) -> None:
        self._queue.remove(window)
        window.error = error
        window.changed.notify()

    # Threads that serve what waits.

    def _call_worker(self) -> None:
        if self._idle_workers == 0 and len(self._workers) < self._lanes:
            worker = threading.Thread(target=self._serve, name="model-batches", daemon=True)
            self._workers.add(worker)
            try:
                worker.start()
            except RuntimeError as error:
                self._workers.discard(worker)
                if not self._workers:  # otherwise another one serves
                    raise ModelRuntimeError(
                        f"no thread could be started for {self._name}: {error}"
                    ) from error
        self._work.notify()

    def _serve(self) -> None:
        """Runs batches until the dispatcher closes."""
        parts: list[Part] = []
        try:
            while True:
                parts = self._next_batch()
                if not parts:
                    break
                self._compute(parts)
                parts = []
                self._free_lane()
        except BaseException as error:
            self._bury(parts, error)
            return
        with self._lock:
            self._workers.discard(threading.current_thread())

    def _next_batch(self) -> list[Part]:
        """Waits for images and a lane for them; no parts when the dispatcher is closed."""
        with self._lock:
            while True:
                for window in list(self._queue):
                    self._give_up_if_unwanted(window)
                if self._queue.images and self._busy < self._lanes:
                    delay = self._delay()
                    if delay <= 0:
                        self._busy += 1
                        return self._queue.take(self._share())
                elif self._closed and self._inside == 0:
                    return []
                else:
                    delay = None
                self._idle_workers += 1
                try:
                    self._work.wait(delay)
                finally:
                    self._idle_workers -= 1

    def _delay(self) -> float:
        """Seconds to wait for calls in preparation before the next batch begins."""
        last_lane = self._busy + 1 == self._lanes
        if not (self._max_delay and self._preparing and last_lane):
            return 0.0
        if self._queue.images >= self._max_batch:
            return 0.0
        return min(window.since for window in self._queue) + self._max_delay - time.monotonic()

    def _share(self) -> int:
        """Most images of the next batch."""
        if self._model.fixed_batch is not None:
            return self._max_batch  # the graph computes all of its rows in any case
        return min(self._max_batch, -(-self._queue.images // self._lanes))

    def _free_lane(self) -> None:
        with self._lock:
            self._busy -= 1
            self._work.notify()

    def _bury(self, parts: list[Part], error: BaseException) -> None:
        """Cleans up behind a thread that dies."""
        _log.error("a thread that ran %s ended", self._name, exc_info=error)
        with self._lock:
            self._workers.discard(threading.current_thread())
            self._recorder.events["worker_deaths"] += 1
            if parts:
                self._busy -= 1
            for part in parts:
                if not part.window.done:
                    self._fail(part.window, self._death(error))
            if not self._queue.images:
                return
            try:
                self._call_worker()
            except ModelRuntimeError:
                for window in list(self._queue):
                    self._fail(window, self._death(error))

    def _death(self, error: BaseException) -> ModelRuntimeError:
        death = ModelRuntimeError(
            f"the thread that ran {self._name} ended: {type(error).__name__}: {error}"
        )
        death.__cause__ = error
        return death

    # The forward pass.

    def _compute(self, parts: list[Part]) -> None:
        """Runs a batch and hands out its outputs or errors."""
        begun = time.monotonic()
        try:
            if len(parts) == 1:
                raw = self._model.forward(parts[0].inputs)
            else:
                raw = self._model.forward(np.concatenate([part.inputs for part in parts]))
        except Exception as error:
            self._note(parts, begun)
            if len(parts) == 1:
                with self._lock:
                    self._fail(parts[0].window, error)
                return
            with self._lock:
                self._recorder.events["retried"] += 1
            for part in parts:
                with self._lock:
                    self._give_up_if_unwanted(part.window)
                if not part.window.done:
                    self._compute([part])
            return
        self._note(parts, begun)
        self._hand_out(parts, raw)

    def _note(self, parts: list[Part], begun: float) -> None:
        """Counts a forward pass."""
        end = time.monotonic()
        with self._lock:
            self._recorder.forward(
                images=sum(len(part) for part in parts),
                calls=len(parts),
                waited=sum(begun - part.window.since for part in parts),
                seconds=end - begun,
            )

    def _hand_out(self, parts: list[Part], raw: dict[str, np.ndarray]) -> None:
        """Gives every window of a batch its rows of the outputs."""
        with self._lock:
            first = 0
            for part in parts:
                window, stop = part.window, first + len(part)
                outputs = {name: value[first:stop] for name, value in raw.items()}
                window.answers.append((part.start, part.stop, outputs))
                window.answered += len(part)
                if window.done:
                    window.changed.notify()
                first = stop
