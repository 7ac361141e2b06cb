"""`WorkflowMemory`: namespaces, limits, threads."""

from __future__ import annotations

from threading import Thread

import pytest

from execution_engine.block_api.workflow_memory import WorkflowMemory


class TestGetAndSet:
    def test_value_comes_back(self) -> None:
        """What was set under a namespace and key is got back, as the same object."""
        memory, value = WorkflowMemory(), [1]
        memory.set("cam", "k", value)
        assert memory.get("cam", "k") is value

    def test_other_namespace_is_apart(self) -> None:
        """The same key in another namespace is another entry."""
        memory = WorkflowMemory()
        memory.set("a", "k", 1)
        assert memory.get("b", "k", default="none") == "none"

    def test_none_is_a_value(self) -> None:
        """A stored None is found and is not taken for a miss."""
        memory = WorkflowMemory()
        memory.set("a", "k", None)
        assert memory.get("a", "k", default=1) is None

    def test_last_value_wins(self) -> None:
        """Setting again replaces and does not add."""
        memory = WorkflowMemory()
        memory.set("a", "k", 1)
        memory.set("a", "k", 2)
        assert (memory.get("a", "k"), len(memory)) == (2, 1)

    def test_miss_makes_no_namespace(self) -> None:
        """Asking for what is not there stores nothing."""
        memory = WorkflowMemory(max_namespaces=1)
        memory.set("a", "k", 1)
        memory.get("b", "k")
        assert memory.get("a", "k") == 1


class TestLimits:
    def test_longest_unused_entry_goes(self) -> None:
        """Beyond the limit the key that was not read or set for longest is dropped."""
        memory = WorkflowMemory(max_entries=2)
        memory.set("a", "x", 1)
        memory.set("a", "y", 2)
        memory.get("a", "x")
        memory.set("a", "z", 3)
        assert [memory.get("a", key) for key in "xyz"] == [1, None, 3]

    def test_longest_unused_namespace_goes(self) -> None:
        """Beyond the limit the namespace that was not used for longest is dropped as a whole."""
        memory = WorkflowMemory(max_namespaces=2)
        for name in ("a", "b"):
            memory.set(name, "k", name)
        memory.get("a", "k")
        memory.set("c", "k", "c")
        assert [memory.get(name, "k") for name in "abc"] == ["a", None, "c"]

    @pytest.mark.parametrize("limits", [{"max_namespaces": 0}, {"max_entries": 0}])
    def test_limits_are_positive(self, limits: dict[str, int]) -> None:
        """A memory without room is refused."""
        with pytest.raises(ValueError, match="room for at least one"):
            WorkflowMemory(**limits)

    def test_stays_bounded_under_threads(self) -> None:
        """Several threads that set different keys leave exactly the permitted number."""
        memory = WorkflowMemory(max_namespaces=4, max_entries=5)

        def fill(thread: int) -> None:
            for i in range(500):
                memory.set(f"n{(thread + i) % 9}", f"k{i % 13}", i)

        threads = [Thread(target=fill, args=(t,)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0 < len(memory) <= 20


class TestClear:
    def test_forgets_everything(self) -> None:
        """After clear nothing is found."""
        memory = WorkflowMemory()
        memory.set("a", "k", 1)
        memory.clear()
        assert (memory.get("a", "k"), len(memory)) == (None, 0)
