"""What a host hears of the calls of models."""

from __future__ import annotations

from typing import Any

import pytest

from inference_models.errors import ModelNotFoundError, ModelRuntimeError
from tests.inference_models.manager.echo_network import FAILS, image


class TestObserver:
    """`ModelManager.observer`."""

    def test_it_hears_of_every_call(self, make_echo: Any) -> None:
        """Model, seconds and number of images; None for a call that failed; nothing of a model that
        is not there.
        """
        echo = make_echo()
        heard: list[tuple[str, float, int | None]] = []
        echo.manager.observer = lambda *call: heard.append(call)
        echo.manager.infer("echo", [image(1), image(2)])
        with pytest.raises(ModelRuntimeError):
            echo.manager.infer("echo", image(FAILS))
        with pytest.raises(ModelNotFoundError):
            echo.manager.infer("nobody/1", image(1))
        assert [(model, images) for model, _, images in heard] == [
            ("echo", 2),
            ("echo", None),
        ]
        assert all(seconds > 0 for _, seconds, _ in heard)
