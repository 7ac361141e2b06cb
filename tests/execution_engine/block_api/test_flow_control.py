"""`FlowControl`: what a step that decides returns."""

from __future__ import annotations

import pytest

from execution_engine.block_api import FlowControl


class TestFlowControl:
    @pytest.mark.parametrize(
        ("context", "targets"),
        [
            (None, []),
            ("$steps.a", ["$steps.a"]),
            (["$steps.a", "$steps.b"], ["$steps.a", "$steps.b"]),
            ([], []),
        ],
    )
    def test_targets(self, context: object, targets: list[str]) -> None:
        """Nothing, one target or a list of them."""
        control = FlowControl(context)  # type: ignore[arg-type]
        assert list(control.targets()) == targets
        assert repr(control) == f"FlowControl({context!r})"

    def test_equality(self) -> None:
        """Decisions are equal when they select the same, whatever the old `mode` says."""
        assert FlowControl("$steps.a", mode="select_step") == FlowControl(["$steps.a"])
        assert FlowControl("$steps.a") != FlowControl(None)
        assert FlowControl(None) != "nothing"
        assert FlowControl(context=None, mode="terminate_branch").mode == "terminate_branch"
