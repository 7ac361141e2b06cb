"""What is sent again and what is not: for workflows that act and for others, over a server that
goes and comes back on its port.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from execution_engine.block_api import WorkflowImageData
from tests.workflows.remote.conftest import FakeMaker, Reply, Request
from tests.workflows.remote.test_client import UNKNOWN_BLOCK, asked
from workflows import RemoteServer
from workflows.remote import ServerConnectionError, ServerRefusedError
from workflows.remote.client import DESCRIBE, RUN

Answer = Callable[[Request], Reply]


def sink_definition() -> dict[str, Any]:
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowParameter", "name": "text"}],
        "steps": [
            {
                "type": "roboflow_core/local_file_sink@v1",
                "name": "save",
                "content": "$inputs.text",
                "file_type": "txt",
                "output_mode": "separate_files",
                "target_directory": "out",
                "file_name_prefix": "note",
            }
        ],
        "outputs": [{"type": "JsonField", "name": "message", "selector": "$steps.save.message"}],
    }


class TestRetries:
    @pytest.mark.parametrize(("options", "attempts"), [({}, 1), ({"disable_sinks": True}, 3)])
    def test_a_workflow_that_acts_runs_once(
        self, fake_server: FakeMaker, options: dict[str, Any], attempts: int
    ) -> None:
        """Unless its sinks are switched off, which the server is told."""
        server = fake_server(lambda request: Reply({"message": "m"}, 503))
        with (
            RemoteServer(server.url, retries=2, check=False) as remote,
            pytest.raises(ServerRefusedError),
        ):
            remote.run(sink_definition(), {"text": "x"}, **options)
        assert len(server.requests) == attempts
        assert server.requests[0].body.get("disable_sinks") == options.get("disable_sinks")

    def test_a_workflow_nobody_here_knows_runs_once(self, fake_server: FakeMaker) -> None:
        """Its blocks may act."""

        def answer(request: Request) -> Reply:
            if request.path == DESCRIBE:
                return Reply({"inputs": {"image": ["image"]}, "outputs": {"found": ["*"]}})
            return Reply({"message": "m"}, 503)

        server = fake_server(answer)
        with (
            RemoteServer(server.url, retries=2, check=False) as remote,
            pytest.raises(ServerRefusedError),
        ):
            remote.run(UNKNOWN_BLOCK, {})
        assert asked(server) == [DESCRIBE, RUN]

    def test_other_workflows_are_repeated(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """After 503 and a broken connection."""
        failures = [Reply({}, 503), Reply(hang_up=True)]

        def answer(request: Request) -> Reply:
            return failures.pop() if failures else engine_answer(request)

        server = fake_server(answer)
        with RemoteServer(server.url, check=False) as remote:
            assert remote.run(blur_definition, {"image": picture})
        assert asked(server) == [RUN] * 3


class TestServerComesBack:
    def test_a_restart_between_two_runs_is_not_noticed(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """The old connection is dead, the port refuses for a while, then the run succeeds."""
        server = fake_server(engine_answer)
        with RemoteServer(server.url, retries=20, check=False) as remote:
            assert remote.run(blur_definition, {"image": picture})
            server.stop()
            again = threading.Timer(0.6, server.start)
            again.start()
            try:
                [row] = remote.run(blur_definition, {"image": picture})
            finally:
                again.join()
        assert isinstance(row["blurred"], WorkflowImageData)

    def test_a_restart_during_a_run_repeats_it(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """The server dies with the request in hand and comes back on its port."""
        restarts: list[threading.Thread] = []

        def restart() -> None:
            server.stop()
            server.start()

        def answer(request: Request) -> Reply:
            if not restarts:
                restarts.append(threading.Thread(target=restart))
                restarts[0].start()
                return Reply(hang_up=True)
            return engine_answer(request)

        server = fake_server(answer)
        with RemoteServer(server.url, retries=20, check=False) as remote:
            [row] = remote.run(blur_definition, {"image": picture})
        restarts[0].join()
        assert isinstance(row["blurred"], WorkflowImageData)
        assert len(server.requests) == 2

    def test_a_run_that_acts_is_not_repeated_after_a_restart(self, fake_server: FakeMaker) -> None:
        """It may have acted already."""
        server = fake_server(lambda request: Reply(hang_up=True))
        with (
            RemoteServer(server.url, retries=5, check=False) as remote,
            pytest.raises(ServerConnectionError, match="The run may have happened there"),
        ):
            remote.run(sink_definition(), {"text": "x"})
        assert len(server.requests) == 1
