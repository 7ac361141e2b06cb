"""Models in memory under many threads: loaded once, evicted in order, never while in use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, TensorSpec, ThreadBudget
from inference_models.errors import (
    CorruptedModelPackageError,
    ModelManagerClosedError,
    ModelPackageRestrictedError,
)
from inference_models.manager import InlineDispatcher, ModelManager
from inference_models.manager.model import Model
from inference_models.packages import ModelConfig, ModelPackage, package_from_config

IMAGE = np.zeros((8, 8, 3), np.uint8)


class FakeBackends:
    """Classifiers whose loading and running tests can watch and hold back.

    Attributes:
        opened: names of the weights opened so far, in order.
        closed: names of those closed.
        gate: `forward` waits for it.
        entered: set as soon as a forward pass has begun.
        fail: how many of the next loads fail.
        load_seconds: how long a load takes.
    """

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.fail = 0
        self.load_seconds = 0.0
        self.threads_seen: list[int] = []

    def openers(self) -> Mapping[str, Any]:
        """For the manager."""
        return {"fake": self._open}

    def _open(self, package: ModelPackage, options: BackendOptions) -> Any:
        self.opened.append(package.weights.name)
        time.sleep(self.load_seconds)
        if self.fail:
            self.fail -= 1
            raise CorruptedModelPackageError("this load fails")
        return _FakeBackend(self, package)


class _FakeBackend:
    input = TensorSpec("images", (None, 3, 8, 8), np.dtype("float32"))
    outputs = (TensorSpec("scores", (None, 2), np.dtype("float32")),)
    threads = 1

    def __init__(self, owner: FakeBackends, package: ModelPackage) -> None:
        self._owner = owner
        self._name = package.weights.name
        self.nbytes = package.nbytes
        self._closed = False

    def forward(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        assert not self._closed, "a closed model was run"
        self._owner.entered.set()
        assert self._owner.gate.wait(10)
        assert not self._closed, "a model was closed while it ran"
        return {"scores": np.zeros((len(batch), 2), np.float32)}

    def close(self) -> None:
        assert not self._closed, "a model was closed twice"
        self._closed = True
        self._owner.closed.append(self._name)


@pytest.fixture
def backends() -> FakeBackends:
    """Fresh fake backends."""
    return FakeBackends()


@pytest.fixture
def make_manager(backends: FakeBackends, tmp_path: Path) -> Any:
    """Builds managers with the models a, b, c of 100 bytes each."""
    managers = []

    def make(max_bytes: int | None = None, **options: Any) -> ModelManager:
        manager = ModelManager(backends=backends.openers(), max_bytes=max_bytes, **options)
        for name in "abc":
            weights = tmp_path / name
            weights.write_bytes(b"x" * 100)
            config = {
                "model_architecture": "classifier",
                "backend_type": "fake",
                "task_type": "classification",
                "class_names": ["one", "two"],
                "inference_config": {
                    "network_input": {"training_input_size": {"height": 8, "width": 8}}
                },
            }
            manager.add(name, package_from_config(ModelConfig.model_validate(config), weights))
        managers.append(manager)
        return manager

    yield make
    backends.gate.set()
    for manager in managers:
        manager.close()
    assert sorted(backends.closed) == sorted(backends.opened), "a model was not closed"


def _together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Runs work(0..count - 1) on threads that start at the same moment; results or exceptions."""
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = work(index)
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive(), "a call never ended"
    return results


def _wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never happened")


def _is_closed(manager: ModelManager) -> bool:
    try:
        manager.infer("b", IMAGE)
    except ModelManagerClosedError:
        return True
    return False


class TestLoading:
    """First calls."""

    def test_eight_first_calls_load_once(self, make_manager: Any, backends: FakeBackends) -> None:
        """One thread loads, the others wait for it and use the same model."""
        manager = make_manager()
        backends.load_seconds = 0.05
        results = _together(8, lambda _: manager.infer("a", IMAGE))
        assert all(len(one) == 1 for one in results)
        assert backends.opened == ["a"]

    def test_a_failing_load_fails_all_who_wait_and_is_tried_again(
        self, make_manager: Any, backends: FakeBackends
    ) -> None:
        """Waiting calls get the error of the load they waited for; the next call starts afresh."""
        manager = make_manager()
        backends.load_seconds, backends.fail = 0.1, 1
        results = _together(4, lambda _: manager.infer("a", IMAGE))
        assert all(isinstance(one, CorruptedModelPackageError) for one in results)
        assert backends.opened == ["a"]
        assert len(manager.infer("a", IMAGE)) == 1
        backends.closed.append("a")  # the failed load opened nothing that could be closed

    def test_weights_that_vanished_are_named(self, make_manager: Any, tmp_path: Path) -> None:
        """A file deleted between adding and loading is an error that names it."""
        manager = make_manager()
        (tmp_path / "a").unlink()
        with pytest.raises(Exception, match=str(tmp_path / "a")):
            manager.infer("a", IMAGE)

    def test_a_dispatcher_takes_the_calls(self, make_manager: Any) -> None:
        """What stands between a call and a model is the host's choice, one for each loaded
        model."""
        made: list[str] = []

        class Counting(InlineDispatcher):
            def __init__(self, model: Model) -> None:
                super().__init__(model)
                made.append(f"{model.package.weights.name} made")

            def run(self, *arguments: Any) -> Any:
                made.append("run")
                return super().run(*arguments)

            def close(self) -> None:
                made.append("closed")

        manager = make_manager(dispatcher=Counting)
        manager.infer("a", IMAGE)
        manager.infer("a", IMAGE)
        manager.unload("a")
        assert made == ["a made", "run", "run", "closed"]


class TestEviction:
    """`max_bytes`."""

    def test_the_least_recently_used_goes_first(
        self, make_manager: Any, backends: FakeBackends
    ) -> None:
        """With room for two of three, the one used longest ago makes room."""
        manager = make_manager(max_bytes=250)
        manager.infer("a", IMAGE)
        manager.infer("b", IMAGE)
        manager.infer("a", IMAGE)
        manager.infer("c", IMAGE)
        assert backends.closed == ["b"]
        assert manager.total_bytes == 200
        manager.infer("b", IMAGE)
        assert backends.closed == ["b", "a"]
        assert backends.opened == ["a", "b", "c", "b"]

    def test_a_model_in_use_stays(self, make_manager: Any, backends: FakeBackends) -> None:
        """A running model is not evicted: the limit is exceeded until it ends, then kept again."""
        manager = make_manager(max_bytes=150)
        backends.gate.clear()
        slow = threading.Thread(target=manager.infer, args=("a", IMAGE))
        slow.start()
        assert backends.entered.wait(5)
        other = threading.Thread(target=manager.infer, args=("b", IMAGE))
        other.start()
        _wait_until(lambda: "b" in backends.opened)
        _wait_until(lambda: manager.total_bytes == 200)
        assert backends.closed == []
        backends.gate.set()
        slow.join(10)
        other.join(10)
        assert manager.total_bytes == 100
        assert len(backends.closed) == 1

    def test_a_model_above_the_limit_is_refused(
        self, make_manager: Any, backends: FakeBackends
    ) -> None:
        """A model that can never fit is not loaded, and nothing is evicted for it."""
        manager = make_manager(max_bytes=99)
        with pytest.raises(
            ModelPackageRestrictedError, match="needs 100 bytes, models may take 99"
        ):
            manager.infer("a", IMAGE)
        assert backends.opened == []

    def test_a_limit_is_positive(self) -> None:
        """Zero bytes hold no model."""
        with pytest.raises(ValueError, match="max_bytes"):
            ModelManager(max_bytes=0)

    def test_many_threads_on_little_memory(self, make_manager: Any, backends: FakeBackends) -> None:
        """Eight threads over three models with room for one: all calls are served, no model runs
        closed, none is closed twice, and at rest the limit holds."""
        manager = make_manager(max_bytes=100)

        def work(index: int) -> int:
            return sum(len(manager.infer("abc"[(index + n) % 3], IMAGE)) for n in range(30))

        assert _together(8, work) == [30] * 8
        assert manager.total_bytes <= 100


class TestUnload:
    """`ModelManager.unload` and `close`."""

    def test_it_is_loaded_again_when_needed(
        self, make_manager: Any, backends: FakeBackends
    ) -> None:
        """Unloading frees the memory, not the name."""
        manager = make_manager()
        assert manager.unload("a") is False
        manager.infer("a", IMAGE)
        assert manager.unload("a") is True
        assert backends.closed == ["a"]
        manager.infer("a", IMAGE)
        assert backends.opened == ["a", "a"]

    def test_calls_under_way_finish_first(self, make_manager: Any, backends: FakeBackends) -> None:
        """A model unloaded while it runs is closed when it is done; new calls load a new one."""
        manager = make_manager()
        backends.gate.clear()
        running = threading.Thread(target=manager.infer, args=("a", IMAGE))
        running.start()
        assert backends.entered.wait(5)
        assert manager.unload("a") is True
        assert backends.closed == []
        backends.gate.set()
        running.join(10)
        assert backends.closed == ["a"]

    def test_closing_waits_for_calls_under_way(
        self, make_manager: Any, backends: FakeBackends
    ) -> None:
        """`close` lets running calls finish and refuses new ones meanwhile."""
        manager = make_manager()
        backends.gate.clear()
        results: list[Any] = []
        running = threading.Thread(target=lambda: results.append(manager.infer("a", IMAGE)))
        running.start()
        assert backends.entered.wait(5)
        closing = threading.Thread(target=manager.close)
        closing.start()
        _wait_until(lambda: _is_closed(manager))
        assert closing.is_alive()
        backends.gate.set()
        running.join(10)
        closing.join(10)
        assert len(results) == 1
        assert not closing.is_alive()

    def test_a_model_unloaded_between_look_up_and_use_is_looked_up_again(
        self, networks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A call that loses the race against `unload` finds the model again."""
        path = str(networks.anchor_free(tmp_path / "net.onnx", metadata=networks.metadata()))
        with ModelManager() as manager:
            acquire = manager._memory.acquire
            looked_up: list[Any] = []

            def acquire_late(slot: Any) -> Any:
                looked_up.append(slot)
                if len(looked_up) == 1:
                    manager.unload(path)
                return acquire(slot)

            monkeypatch.setattr(manager._memory, "acquire", acquire_late)
            image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
            assert len(manager.infer(path, image)[0]) == 1
            assert looked_up[0] is not looked_up[1]

    def test_a_model_unloaded_while_it_is_looked_up_is_looked_up_again(
        self, networks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No name keeps pointing at a model that was unloaded in the middle of the look-up."""
        path = str(networks.anchor_free(tmp_path / "net.onnx", metadata=networks.metadata()))
        with ModelManager() as manager:
            find = manager._find
            raced: list[bool] = []

            def find_and_lose(*arguments: Any) -> Any:
                slot = find(*arguments)
                if not raced:
                    raced.append(True)
                    manager.unload(path)
                return slot

            monkeypatch.setattr(manager, "_find", find_and_lose)
            image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
            assert len(manager.infer(path, image)[0]) == 1

    def test_a_package_changed_on_disk_is_read_again(self, networks: Any, tmp_path: Path) -> None:
        """After unloading, a path means what is there now."""
        path = tmp_path / "net.onnx"
        networks.anchor_free(path, metadata=networks.metadata())
        with ModelManager() as manager:
            assert manager.describe(str(path)).class_names == networks.colours
            manager.warm_up(str(path))
            names = "{0: 'rouge', 1: 'vert', 2: 'bleu'}"
            networks.anchor_free(path, metadata=networks.metadata(names=names))
            assert manager.unload(str(path)) is True
            image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
            assert manager.infer(str(path), image)[0].class_name.tolist() == ["rouge"]


class TestThreads:
    """Many threads on one model."""

    def test_no_thread_gets_the_boxes_of_another(self, networks: Any, tmp_path: Path) -> None:
        """Eight threads, twenty rounds, images with one and with three objects: every answer equals
        the sequential one (ultralytics/ultralytics#6174)."""
        path = str(
            networks.anchor_free(
                tmp_path / "net.onnx", masks=True, copies=3, metadata=networks.metadata("segment")
            )
        )
        images = []
        for n in range(8):
            boxes = {"red": (n, 2 * n, n + 20, 2 * n + 15)}
            if n % 2:
                boxes |= {"green": (30, n, 50, 20 + n), "blue": (2, 40, 30 + n, 60)}
            images.append(networks.rectangles((64 + n, 64 + 3 * n), **boxes))
        with ModelManager() as manager:
            expected = [manager.infer(path, image)[0] for image in images]
        assert [len(one) for one in expected] == [1, 3] * 4
        with ModelManager() as manager:

            def work(index: int) -> int:
                wrong = 0
                for round_number in range(20):
                    which = (index + round_number) % 8
                    (found,) = manager.infer(path, images[which])
                    same = (
                        np.array_equal(found.xyxy, expected[which].xyxy)
                        and np.array_equal(found.class_id, expected[which].class_id)
                        and np.array_equal(found.masks.runs, expected[which].masks.runs)
                        and np.array_equal(found.masks.boxes, expected[which].masks.boxes)
                    )
                    wrong += not same
                return wrong

            assert _together(8, work) == [0] * 8
            assert manager.list_models()[0].loads == 1

    def test_models_share_the_cores(self, networks: Any, tmp_path: Path) -> None:
        """Calls on several models at once never compute on more threads than the budget has."""
        budget = ThreadBudget(total=2, per_call=1)
        seen: list[int] = []
        paths = [
            str(networks.anchor_free(tmp_path / f"{n}.onnx", metadata=networks.metadata()))
            for n in range(3)
        ]
        image = networks.rectangles((64, 64), red=(5, 10, 20, 30))
        with ModelManager(threads=budget) as manager:

            def work(index: int) -> int:
                for _ in range(10):
                    manager.infer(paths[index % 3], image)
                    seen.append(budget.in_use)
                return index

            assert _together(6, work) == list(range(6))
        assert max(seen) <= 2
        assert budget.in_use == 0
