"""Who calls a model, and until when."""

from __future__ import annotations

import contextvars
import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from inference_models.errors import ModelCallCancelledError, ModelDeadlineExceededError
from inference_models.manager import ModelManager, call_context
from inference_models.manager.call_context import current_call


class TestCallContext:
    """`call_context`."""

    def test_it_holds_inside_and_ends_with_the_block(self) -> None:
        """Threads that copy the context see it."""
        assert current_call().client is None
        with call_context(client="ann"):
            assert current_call().client == "ann"
            copied = contextvars.copy_context()
        assert current_call().client is None
        assert copied.run(current_call).client == "ann"

    def test_a_context_inside_another_adds_to_it(self) -> None:
        """The client is inherited, the earlier deadline holds, either reason to give up counts."""
        given_up = []
        with call_context(client="ann", deadline=60, cancelled=lambda: bool(given_up)) as outer:
            with call_context(deadline=3600) as later:
                assert (later.client, later.end) == ("ann", outer.end)
            with call_context(client="bob", deadline=1, cancelled=lambda: False) as inner:
                assert inner.client == "bob"
                assert inner.end is not None
                assert outer.end is not None
                assert inner.end < outer.end
                assert inner.cancelled is not None
                assert inner.cancelled() is False
                given_up.append(True)
                assert inner.cancelled() is True

    def test_stepping_aside(self) -> None:
        """The nearest host is told; where there is none, a wait is a wait."""
        with call_context() as nobody, nobody.waiting():
            pass
        told: list[str] = []
        with (
            call_context(aside=lambda: nullcontext(told.append("outer"))),
            call_context(client="ann") as inherited,
        ):
            inherited.waiting()
            with call_context(aside=lambda: nullcontext(told.append("inner"))) as own:
                own.waiting()
        assert told == ["outer", "inner"]

    @pytest.mark.parametrize("deadline", [0, -1, float("nan")])
    def test_a_deadline_lies_ahead(self, deadline: float) -> None:
        """A deadline that is no positive number is a mistake of the host."""
        with (
            pytest.raises(ValueError, match="a deadline is a positive number"),
            call_context(deadline=deadline),
        ):
            pass

    def test_a_model_without_a_queue_heeds_it(self, networks: Any, tmp_path: Any) -> None:
        """What nobody waits for is not computed."""
        path = str(networks.anchor_free(tmp_path / "net.onnx", metadata=networks.metadata()))
        image = np.zeros((64, 64, 3), np.uint8)
        with ModelManager() as manager:
            with (
                call_context(cancelled=lambda: True),
                pytest.raises(ModelCallCancelledError, match=r"net\.onnx was cancelled before"),
            ):
                manager.infer(path, image)
            with call_context(deadline=1e-6):
                time.sleep(0.001)
                with pytest.raises(ModelDeadlineExceededError, match="passed before it ran"):
                    manager.infer(path, image)
            with call_context(deadline=600, cancelled=lambda: False):
                assert len(manager.infer(path, image)) == 1
