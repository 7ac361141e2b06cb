"""`RemoteServer` and `run_remotely` against servers of our own making: what is asked, how often,
and what comes back.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import RuntimeInputError, WorkflowSyntaxError
from tests.workflows.remote.conftest import FakeMaker, FakeServer, Reply, Request
from workflows import ChromeTraceProfiler, RemoteServer, Workflow, run_locally, run_remotely
from workflows.remote import (
    MissingOnServerError,
    ServerAnswerError,
    ServerConnectionError,
    ServerRefusedError,
)
from workflows.remote.client import DESCRIBE, RUN, workflow_id
from workflows.remote.knowledge import CHECK

Answer = Callable[[Request], Reply]
UNKNOWN_BLOCK = {
    "version": "1.0",
    "inputs": [
        {"type": "WorkflowImage", "name": "image"},
        {"type": "WorkflowParameter", "name": "path"},
    ],
    "steps": [{"type": "acme/rust@v1", "name": "rust", "image": "$inputs.image"}],
    "outputs": [{"type": "JsonField", "name": "found", "selector": "$steps.rust.found"}],
}


def asked(server: FakeServer) -> list[str]:
    return [path for path in server.paths if path != CHECK]


class TestRunRemotely:
    def test_gives_what_a_local_run_gives(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """Against a server that knows only the public routes, for all forms of a workflow."""
        server = fake_server(engine_answer)
        [here] = run_locally(blur_definition, {"image": picture, "kernel": 5})
        text = json.dumps(blur_definition)
        for workflow in (blur_definition, text, Workflow(blur_definition)):
            [there] = run_remotely(workflow, {"image": picture, "kernel": 5}, server=server.url)
            assert isinstance(there["blurred"], WorkflowImageData)
            assert there["blurred"].base64_image == here["blurred"].base64_image

    def test_reads_files_of_workflows_and_images(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        workflow_file: Path,
        picture_file: Path,
    ) -> None:
        """As a local run does; `serialize` gives the JSON of the server."""
        server = fake_server(engine_answer)
        [there] = run_remotely(
            workflow_file, {"image": picture_file}, server=server.url, serialize=True
        )
        [here] = run_locally(workflow_file, {"image": picture_file}, serialize=True)
        assert there["blurred"]["value"] == here["blurred"]["value"]

    @pytest.mark.parametrize("serialize", [False, True])
    def test_refuses_an_answer_without_a_declared_output(
        self,
        fake_server: FakeMaker,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
        serialize: bool,
    ) -> None:
        """What a local run always gives is not left out silently."""
        answers = {CHECK: Reply({"missing": []})}
        ran = Reply({"outputs": [{"other": 1}]})
        server = fake_server(lambda request: answers.get(request.path, ran))
        with pytest.raises(ServerAnswerError, match=r"Row 0 .* lacks blurred.*; it has other\."):
            run_remotely(
                blur_definition, {"image": picture}, server=server.url, serialize=serialize
            )

    def test_sends_the_wire_format_of_the_ecosystem(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """The members other clients send, and the key in both places servers look at."""
        server = fake_server(engine_answer)
        run_remotely(
            blur_definition, {"image": [picture, picture]}, server=server.url, api_key="key-1"
        )
        request = server.requests[-1]
        assert request.path == RUN
        public = {"api_key", "specification", "inputs", "enable_profiling"}
        assert request.body.keys() == public | {"lossless"}  # which other servers leave alone
        assert request.body["api_key"] == "key-1"
        assert request.headers["authorization"] == "Bearer key-1"
        assert request.body["specification"] == blur_definition
        assert [image["type"] for image in request.body["inputs"]["image"]] == ["base64"] * 2

    def test_options_belong_to_the_server_where_one_is_given(
        self, fake_server: FakeMaker, engine_answer: Answer, blur_definition: dict[str, Any]
    ) -> None:
        """No argument is silently without effect."""
        server = fake_server(engine_answer)
        with RemoteServer(server.url) as remote, pytest.raises(ValueError, match="brings its own"):
            run_remotely(blur_definition, {}, server=remote, api_key="k")
        with pytest.raises(ValueError, match="workspace/id"):
            run_remotely(blur_definition, {}, server=server.url, workflow_version_id="v")
        assert server.requests == []

    def test_the_key_is_in_no_message(self, fake_server: FakeMaker) -> None:
        """Whatever the server answers, and when there is none."""
        key = "rf_verysecret"
        server = fake_server(lambda request: Reply({"message": "no"}, 401))
        with pytest.raises(ServerRefusedError) as refused:
            run_remotely(UNKNOWN_BLOCK, {}, server=server.url, api_key=key)
        server.stop()
        with pytest.raises(ServerConnectionError) as gone:
            run_remotely(UNKNOWN_BLOCK, {}, server=server.url, api_key=key, retries=0)
        for caught in (refused, gone):
            assert key not in str(caught.value)
            assert key not in repr(caught.value.inner_error)

    def test_bad_inputs_are_refused_before_images_are_sent(
        self, fake_server: FakeMaker, engine_answer: Answer, blur_definition: dict[str, Any]
    ) -> None:
        """With the error of a local run."""
        server = fake_server(engine_answer)
        with pytest.raises(RuntimeInputError, match="no-such-file"):
            run_remotely(blur_definition, {"image": "no-such-file.png"}, server=server.url)
        assert asked(server) == []

    def test_a_definition_that_is_no_json_is_refused(self, fake_server: FakeMaker) -> None:
        """Here, and with the class the compiler has for it."""
        server = fake_server(lambda request: Reply({}))
        with pytest.raises(WorkflowSyntaxError, match="no JSON"):
            run_remotely({"version": object()}, {}, server=server.url)
        assert server.requests == []


class TestRemoteServer:
    def test_asks_once_what_the_server_has(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
    ) -> None:
        """For all runs of a definition; a server that does not know the question just runs."""
        server = fake_server(engine_answer)
        with RemoteServer(server.url) as remote:
            for kernel in (3, 5, 7):
                remote.run(blur_definition, {"image": picture, "kernel": kernel})
            assert server.paths == [CHECK, RUN, RUN, RUN]
            with pytest.raises(ServerAnswerError, match="does not tell what it has"):
                remote.check(blur_definition)

    def test_what_is_missing_is_told_before_anything_is_sent(
        self, fake_server: FakeMaker, picture: np.ndarray
    ) -> None:
        """One question, no images."""
        item = {"step": "rust", "block_type": "acme/rust@v1", "kind": "block"}
        item |= {"wanted": "acme/rust@v1", "available": ["acme/dust@v1"], "where": "/steps/0/type"}
        server = fake_server(lambda request: Reply({"missing": [item]}))
        with pytest.raises(MissingOnServerError, match=r"it has acme/dust@v1") as caught:
            run_remotely(UNKNOWN_BLOCK, {"image": picture}, server=server.url)
        assert caught.value.missing[0].step == "rust"
        assert server.paths == [CHECK]

    def test_blocks_only_the_server_has(self, fake_server: FakeMaker, picture: np.ndarray) -> None:
        """It says what kinds come back; inputs are read as declared."""
        image = {"type": "base64", "value": "", "video_metadata": None}

        def answer(request: Request) -> Reply:
            if request.path == DESCRIBE:
                return Reply({"inputs": {}, "outputs": {"found": ["point"]}})
            if request.path == CHECK:
                return Reply({"missing": []})
            image["sent"] = request.body["inputs"]["image"]["type"]
            return Reply({"outputs": [{"found": [[1, 2], None]}]})

        server = fake_server(answer)
        inputs = {"image": picture, "path": __file__}
        [row] = run_remotely(UNKNOWN_BLOCK, inputs, server=server.url)
        assert row == {"found": [(1, 2), None]}
        assert image["sent"] == "base64"
        assert server.requests[-1].body["inputs"]["path"] == __file__

    def test_a_stored_workflow_by_its_id(self, fake_server: FakeMaker, picture: np.ndarray) -> None:
        """The server's own copy runs; what it takes and gives is asked once, and again when it
        answers with something new."""
        outputs = {"found": ["point"]}

        def answer(request: Request) -> Reply:
            if request.path == "/shop/workflows/count/describe_interface":
                return Reply({"inputs": {"image": ["image"]}, "outputs": dict(outputs)})
            if request.path == "/shop/workflows/count":
                return Reply({"outputs": [{name: [1, 2] for name in outputs}]})
            return Reply({}, 404)

        server = fake_server(answer)
        with RemoteServer(server.url) as remote:
            for _ in range(2):
                assert remote.run("shop/count", {"image": picture}) == [{"found": (1, 2)}]
            outputs["more"] = ["point"]
            [row] = remote.run("shop/count", {"image": picture}, workflow_version_id=None)
            assert row == {"found": (1, 2), "more": (1, 2)}
        describe, run = "/shop/workflows/count/describe_interface", "/shop/workflows/count"
        assert server.paths == [describe, run, run, run, describe]
        assert server.requests[1].body["inputs"]["image"]["type"] == "base64"
        assert "specification" not in server.requests[1].body

    def test_a_version_of_a_stored_workflow(self, fake_server: FakeMaker) -> None:
        """It is named in both questions."""
        server = fake_server(
            lambda request: (
                Reply({"inputs": {}, "outputs": []})
                if request.path.endswith("interface")
                else Reply({})
            )
        )
        with (
            RemoteServer(server.url) as remote,
            pytest.raises(ServerAnswerError, match="describes"),
        ):
            remote.run("shop/count", {}, workflow_version_id="7")
        assert server.requests[0].body["workflow_version_id"] == "7"

    def test_the_trace_of_the_server_joins_the_profile(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Its times begin at the moment of the request."""
        events = [
            {"name": "workflow_run", "ph": "B", "ts": 1e9, "pid": 1, "tid": 1},
            {"name": "workflow_run", "ph": "E", "ts": 1e9 + 500, "pid": 1, "tid": 1},
        ]
        image = {"type": "base64", "value": "x"}

        def answer(request: Request) -> Reply:
            assert request.body["enable_profiling"] is True
            return Reply({"outputs": [{"blurred": image}], "profiler_trace": events})

        server = fake_server(answer)
        profiler = ChromeTraceProfiler()
        before = time.perf_counter_ns() / 1000
        with RemoteServer(server.url, check=False) as remote:
            remote.run(blur_definition, {"image": picture}, serialize=True, profiler=profiler)
        after = time.perf_counter_ns() / 1000
        first, second = profiler.export_trace()
        assert second["ts"] - first["ts"] == pytest.approx(500)
        assert before <= first["ts"] <= after

    def test_many_threads_share_one(
        self,
        fake_server: FakeMaker,
        engine_answer: Answer,
        blur_definition: dict[str, Any],
    ) -> None:
        """Each gets its own answer."""
        server = fake_server(engine_answer)
        found: dict[int, Any] = {}
        with RemoteServer(server.url) as remote:

            def run(number: int) -> None:
                image = np.full((8, 8 + number, 3), number, np.uint8)
                [row] = remote.run(blur_definition, {"image": image})
                found[number] = row["blurred"].size

            threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert found == {number: (8, 8 + number) for number in range(8)}

    def test_shows_its_address_and_not_its_key(self) -> None:
        """In logs and debuggers."""
        with RemoteServer("http://127.0.0.1:1/", api_key="k-secret") as remote:
            assert repr(remote) == "RemoteServer('http://127.0.0.1:1')"


class TestWorkflowId:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("shop/count-coins", ("shop", "count-coins")),
            ("a.b/c_1", ("a.b", "c_1")),
            ("shop/count.json", None),
            ("count", None),
            ("a/b/c", None),
            ("../count", None),
            ('{"version": "1.0"}', None),
            ({"version": "1.0"}, None),
            (Path("shop/count"), None),
        ],
    )
    def test_table(self, given: Any, expected: Any) -> None:
        """Two names and a slash; anything else is a definition or a file."""
        assert workflow_id(given) == expected

    def test_a_file_of_that_name_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What lies here is not taken for the server's."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "count").write_text("{}")
        assert workflow_id("shop/count") is None
