from __future__ import annotations

from execution_engine.registry.init_parameters import core_name, core_parameter


class TestCoreParameter:
    def test_qualified_name_wins(self) -> None:
        """The name with the source counts before the plain one, the default last."""
        assert core_name("n") == "workflows_core.n"
        assert core_parameter({"n": 1, "workflows_core.n": 2}, "n") == 2
        assert core_parameter({"n": 1}, "n", 3) == 1
        assert core_parameter({"other.n": 1}, "n", 3) == 3

    def test_none_counts_as_given(self) -> None:
        """A host may give None under the qualified name to hide the plain one."""
        assert core_parameter({"n": 1, "workflows_core.n": None}, "n", 3) is None
