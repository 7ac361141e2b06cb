"""A manager of one echo network as a fixture."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inference_models.manager.echo_network import EchoManager, MakeEcho


@pytest.fixture
def make_echo(tmp_path: Path) -> Iterator[MakeEcho]:
    """Builds managers of one echo network; checks at the end that no thread of theirs is left."""
    made: list[EchoManager] = []

    def make(**options: Any) -> EchoManager:
        made.append(EchoManager(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
        assert one.network.closed or not one.network.seen
    assert not [thread for thread in threading.enumerate() if thread.name == "model-batches"]
