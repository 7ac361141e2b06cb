"""A classifier whose scores tell what it saw, and which tests can hold back and make fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from inference_models.backends import BackendOptions, TensorSpec, ThreadBudget
from inference_models.errors import ModelRuntimeError
from inference_models.manager import (
    BatchingDispatcher,
    DispatchStatistics,
    ModelManager,
    dynamic_batching,
)
from inference_models.packages import ModelConfig, ModelPackage, package_from_config

FAILS, KILLS = 254, 255


def image(value: int, size: tuple[int, int] = (8, 8)) -> np.ndarray:
    """An image of one colour, which is what the network answers with."""
    return np.full((*size, 3), value, np.uint8)


class EchoNetwork:
    """Answers with the first pixel of each image as score. An image of the colour `FAILS` makes the
    forward pass fail, one of the colour `KILLS` ends the thread.

    Attributes:
        seen: first pixels of every forward pass.
        threads_seen: the thread of every forward pass.
        shapes: shapes of the inputs.
        gate: forward passes wait for it.
        seconds: how long a forward pass takes at least.
        running: forward passes that wait for the gate or compute.
        most_running: the most of them at a time.
        closed: whether it was closed.
    """

    def __init__(self, batch: int | None = None, side: int | None = 8) -> None:
        self.seen: list[list[int]] = []
        self.threads_seen: list[int] = []
        self.shapes: list[tuple[int, ...]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.seconds = 0.0
        self.running = self.most_running = 0
        self.closed = False
        self._lock = threading.Lock()
        self.input = TensorSpec("images", (batch, 3, side, side), np.dtype("float32"))
        self.outputs = (TensorSpec("scores", (batch, 2), np.dtype("float32")),)
        self.threads = 1
        self.nbytes = 1

    def open(self, package: ModelPackage, options: BackendOptions) -> EchoNetwork:
        """Opener for the manager."""
        self.closed = False
        return self

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """Scores of a batch."""
        assert not self.closed, "a closed model was run"
        pixels = [int(value) for value in batch[:, 0, 0, 0]]
        with self._lock:
            self.seen.append(pixels)
            self.threads_seen.append(threading.get_ident())
            self.shapes.append(batch.shape)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            assert self.gate.wait(60)
            time.sleep(self.seconds)
            if KILLS in pixels:
                raise SystemExit("killed")
            if FAILS in pixels:
                raise ModelRuntimeError(f"cannot compute {pixels}")
            scores = np.array(pixels, np.float32) / 256
            return {"scores": np.stack([scores, 1 - scores], axis=1)}
        finally:
            with self._lock:
                self.running -= 1

    def close(self) -> None:
        """Ends it."""
        assert self.running == 0, "a model was closed while it ran"
        self.closed = True


class EchoManager:
    """A manager that holds one echo network behind a batching dispatcher.

    Args:
        folder: where the package goes.
        network: the network; None for one that takes 8 px images.
        threads: forward passes at a time.
        options: of `dynamic_batching`.
    """

    def __init__(
        self, folder: Path, network: EchoNetwork | None = None, threads: int = 1, **options: Any
    ) -> None:
        self.network = network or EchoNetwork()
        weights = folder / "weights"
        weights.write_bytes(b"x")
        size: dict[str, Any] = {"training_input_size": {"height": 8, "width": 8}}
        if self.network.input.shape[-1] is None:
            size = {
                "dynamic_spatial_size_supported": True,
                "dynamic_spatial_size_mode": {"type": "any-size"},
            }
        config = {
            "model_architecture": "classifier",
            "backend_type": "echo",
            "task_type": "classification",
            "class_names": ["bright", "dark"],
            "inference_config": {
                "network_input": size,
                "post_processing": {"type": "softmax", "fused": True},
            },
        }
        package = package_from_config(ModelConfig.model_validate(config), weights)
        self.manager = ModelManager(
            backends={"echo": self.network.open},
            threads=ThreadBudget(total=threads, per_call=1),
            dispatcher=dynamic_batching(**{"max_delay_ms": 0, **options}),
        )
        self.manager.add("echo", package)
        self.threads: list[threading.Thread] = []
        self.results: dict[Any, Any] = {}

    def infer(self, *values: int) -> list[int]:
        """The answers for images of these colours."""
        found = self.manager.infer("echo", [image(value) for value in values])
        return [round(float(one.confidence[0]) * 256) for one in found]

    @property
    def statistics(self) -> DispatchStatistics:
        """Of the one model."""
        found = self.manager.list_models()[0].statistics
        assert found is not None, "the model is not in memory"
        return found

    @property
    def dispatcher(self) -> BatchingDispatcher:
        """Of the one model."""
        resident = self.manager._slot("echo").resident
        assert resident is not None
        assert isinstance(resident.dispatcher, BatchingDispatcher)
        return resident.dispatcher

    @property
    def queued(self) -> int:
        """Calls whose images are written and wait."""
        return len(self.dispatcher._queue)

    def start(self, key: Any, call: Callable[[], Any]) -> threading.Thread:
        """Runs a call on a thread; its result or exception is filed under the key."""

        def work() -> None:
            try:
                self.results[key] = call()
            except BaseException as error:
                self.results[key] = error

        thread = threading.Thread(target=work)
        self.threads.append(thread)
        thread.start()
        return thread

    def start_waiting(self, key: Any, call: Callable[[], Any]) -> threading.Thread:
        """As `start`; returns when the call waits behind those that waited before."""
        before = self.queued
        thread = self.start(key, call)
        wait_until(lambda: self.queued == before + 1)
        return thread

    def hold(self) -> None:
        """Fills every lane with a call that waits for the gate; their keys are `held 0` ..."""
        self.network.gate.clear()
        lanes = self.manager._settings.threads.total
        for lane in range(lanes):
            self.start(f"held {lane}", lambda: self.infer(0))
            wait_until(lambda lane=lane: self.network.running == lane + 1)

    def finish(self) -> dict[Any, Any]:
        """Opens the gate and waits for every call; results by key."""
        self.network.gate.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a call never ended"
        return self.results

    def close(self) -> None:
        """Ends everything."""
        self.finish()
        self.manager.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits, long enough for a busy machine."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.002)


MakeEcho = Callable[..., EchoManager]
